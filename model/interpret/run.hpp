#pragma once
// run_streamed is the oracle of the tests: it runs a diagram on the CPU and counts the values that it moves and holds.
// It computes from the diagram and from the head, loop and tail that fusion derived; it knows no formula for transfers
// or memory.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "model/fusion/partition.hpp"
#include "model/fusion/program.hpp"
#include "model/interpret/counts.hpp"
#include "model/interpret/tensor.hpp"

namespace napkin::internal {

/// The element types of a run: all float64 for `storage` f64 (or `value`); else float32 arithmetic and accumulators,
/// with arrays rounded to `storage` where a kernel would store them (inputs, outputs, operands of contractions). An
/// unfused run rounds every array.
struct Precision {
  DType storage = DType::f64;
  std::map<std::string, DType> arrays;  ///< exceptions by array name; accumulated arrays are rounded when finished
};

/// A value observed during the run.
struct Observation {
  std::string_view name;  ///< name of the array, of a part, or of the auxiliary: "mu", "delta", "z"
  Phase phase = Phase::loop;
  const std::vector<std::int64_t>& group;  ///< index of the group on each grouped axis, in the order of the axes
  std::int64_t iteration =
      0;  ///< number of the chunk from the start of the group's stream, whatever the order; 0 outside it
  const std::vector<std::int64_t>& first;  ///< first index of the tensor on each of its axes
  const Tensor& tensor;                    ///< valid during the call
};
using Observer = std::function<void(const Observation&)>;

/// A callback with the groups done and their total. It cannot stop the run.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

/// A level below the first, whose nodes share their parent's tile: its groups divide the parent's, its chunks walk the
/// parent's chunk. Only the first level divides split axes.
struct NestedLevel {
  std::string name;
  Partition partition;
};

/// The term that an iteration adds to a summed result, with a name of its own: "pv" of O.
struct NamedPart {
  std::string name, array;
};

struct RunOptions {
  Precision precision;
  std::string level = "low";          ///< name of the first level
  std::vector<NestedLevel> nested;    ///< further levels, top to bottom; the last one computes, the others stage
  bool backward = false;              ///< true if each group walks its chunks from last to first
  std::optional<Program> program;     ///< program of the computing level; none: without smaller loops
  std::vector<std::string> observed;  ///< names that the observer wants; empty: all
  std::vector<NamedPart> parts;       ///< parts that the observer also wants
  Observer observer;
  Progress progress;
};

struct Run {
  Tensors outputs;  ///< outputs by array name
  Counts counts;
};

/// Runs operation by operation at full size, each loading all operands and storing all results. A single level, "low",
/// has the operations as its groups. Throws Error for missing inputs or wrong shapes ("input Q: ...").
[[nodiscard]] Run run_unfused(const Diagram& diagram, const Problem& problem, const Tensors& inputs,
                              const Precision& precision = {});

/// Runs the derived head, loop and tail, group by group. Throws Error if inputs or the partition do not fit.
/// (model/README.md, "Groups", "Streams" and "Combining partial results")
[[nodiscard]] Run run_streamed(const Streamed& streamed, const Problem& problem, const Partition& partition,
                               const Tensors& inputs, const RunOptions& options = {});

}  // namespace napkin::internal
