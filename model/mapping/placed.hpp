#pragma once
// A PlacedDiagram is a diagram laid on a machine with every number filled in: attention in 1,024 blocks of 128 queries,
// two copies of K in shared memory, O in registers. It is the sole input of resource/, clock/ and what follows.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/diagram/visits.hpp"
#include "model/fusion/combine.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {

/// The walk of a level's groups along the streamed axis. If the mask lets chunks be skipped (Streamed::skips), sums run
/// over the groups of the mask's other axis ("across"); else there is a single such group, which visits everything. If
/// the streamed axis is split, each of its groups walks its own part, and sums run over these too.
struct Walk {
  Visits total;
  Count last_chunks, last_columns;  ///< chunks and columns of the last group across, which may be ragged
  Count all_chunks = 1;             ///< chunks of one group across without a mask
  Count across = 1;                 ///< extent of a group across
  Count together = 1;               ///< adjacent groups across that visit the chunks that any of them sees
};

/// A level below device memory, as used. Above the block's level: the L2 (a single group) and the cluster (adjacent
/// blocks; listed if the mapping gives it `nodes` and the machine has it, also for clusters of one block). Below:
/// groups are blocks x instances of the agent.
struct PlacedLevel {
  LevelId level = 0;
  std::vector<Count> extent;     ///< size of a group's part at this level (full size if not grouped), by AxisId
  std::vector<Count> groups_of;  ///< ceil(size / extent) for grouped axes, else 1, by AxisId
  Count chunk = 1;               ///< chunk of the streamed axis at this level (its full size if nothing streams)
  Count groups = 1;              ///< groups that run at this level, all launches of one call: the product of groups_of
  bool staged = false;           ///< true if a knob or the mapping sizes it (the lowest staged level is what --tile
                                 ///< addresses)
};

/// A variable of the kernel.
struct Variable {
  int mapping = 0;                  ///< index into Mapping::variables
  std::span<const ArrayId> arrays;  ///< empty for auxiliaries; kept alive by PlacedDiagram::variant
  int auxiliaries = 0;              ///< number of auxiliaries' values a row that it holds
  LevelId level = 0;
  Scope scope = Scope::block;
  DType type = DType::f32;
  Count elements;  ///< elements of one copy and instance
  Count copies = 1;
  Count column_parts = 1;  ///< number of parts of a row, each filled by boxes of its own
  int alias = -1;          ///< index into PlacedDiagram::variables, or -1
  CopyEngine engine = CopyEngine::none;
  bool multicast = false;
  bool divided = false;     ///< true if each block of the cluster holds an equal part: `elements` counts one part
  bool unpermuted = false;  ///< true if rows lie one after another, so that reads of several rows may conflict in
                            ///< banks
  bool output_staging = false;
  bool part = false;  ///< true if it holds what an iteration adds
  int agent = -1;     ///< agent whose core's memory holds it, a node for each instance; -1: as the array's operations
                      ///< say
  const std::vector<AxisId>* axes = nullptr;  ///< axes, if its array is in another order: B as [c, b]; kept by variant

  /// Returns the bytes of one instance, all copies.
  [[nodiscard]] Bytes bytes() const { return bytes_of(elements, type) * copies; }
};

/// A transfer of an array: each group moves it from the level above into `into` (load), or up from it (store).
struct Crossing {
  ArrayId array = 0;   ///< array; -1: an auxiliary
  int auxiliary = -1;  ///< index into Streamed::auxiliaries
  LevelId into = 0;    ///< the lower level of the pipe
  bool store = false;
  Phase phase = Phase::loop;  ///< phase; head and tail: once a group; loop: the streamed axis in full
  /// True if read again in every iteration although it lacks the streamed axis (Q from shared memory).
  bool reread = false;
  DType type = DType::bf16;
  CopyEngine engine = CopyEngine::none;
  bool fills = false;                ///< true for an input on its way down to `variable`, multicast if that is
  bool combined_in_cluster = false;  ///< true for a result whose parts became one in the cluster, so that a single copy
                                     ///< leaves it
  bool skips = false;                ///< true if chunks that the mask rules out do not cross
  bool parts = false;  ///< true for a part of a result, or its statistics, which crosses once for every block
  int variable = -1;   ///< index into PlacedDiagram::variables: the variable that it fills or is read from
  int pipe = -1;       ///< index into Machine::pipes, if agents are cores; -1: the pipe from or to the parent
};

struct PlacedAgent {
  int mapping = 0;                 ///< index into Mapping::agents
  Count instances, threads;        ///< threads an instance
  std::optional<Count> registers;  ///< registers of a thread, if the kernel sets or the compiler reports them
  bool compiled = false;           ///< true if the compiler reported them; they are then also its need
  Count overhead;                  ///< registers a thread
  Count rows;                      ///< product of the extents of the split axes, one instance
  std::vector<Count> extent;       ///< extent by AxisId: an instance's part of the block's group (chunk on the streamed
                                   ///< axis)
};

/// The vector work of an operation in one visited iteration of a block (loop), or once a block (head, tail).
struct PlacedWork {
  const WorkMapping* mapping = nullptr;
  int unit = -1;      ///< index into Machine::units
  double amount = 0;  ///< results of that unit
};

struct PlacedOperation {
  OpId operation = 0;
  Phase phase = Phase::loop;
  int agent = -1;  ///< index into PlacedDiagram::agents
  bool tensor = false;
  const TensorInstruction* instruction = nullptr;
  Count m, n, k;  ///< extents of a product in one iteration of a block (rows, columns, contracted; batch axes in m)
  Count row_parts = 1, column_parts = 1;  ///< parts into which its agent's instances divide m and n
  Count repeats = 1;                      ///< instances that do each part
  Count waits = 1;                        ///< waits of its agent's threads for asynchronous instructions in an
                                          ///< iteration
  bool a_from_registers = false;
  std::span<const std::pair<ArrayId, LevelId>> operands;  ///< source of each input; kept alive by variant
  std::vector<PlacedWork> work;
};

/// The combining of the parts of results of split axes, without what knobs change.
struct PlacedCombine {
  CombineMapping::By by = CombineMapping::By::launch;
  int at = -1;                          ///< index into PlacedDiagram::levels; -1: device memory
  Count steps = 0;                      ///< barriers, or launches; 1 for adds and for a chain of turns
  std::optional<CombineLaunch> launch;  ///< launch that reads the parts that stay apart, if it is a launch of its own
};

struct PackedPart;

struct PlacedDiagram {
  const Streamed* streamed = nullptr;
  const Machine* machine = nullptr;
  const Mapping* mapping = nullptr;
  const Problem* problem = nullptr;
  Tile tile;
  std::vector<PlacedLevel> levels;  ///< top to bottom, device memory left out
  int block_level = 0;              ///< index into levels of the block's level (shared memory; "low")
  std::vector<Variable> variables;
  std::span<const Crossing> crossings;  ///< kept alive by variant
  std::vector<PlacedAgent> agents;
  std::vector<PlacedOperation> operations;
  Walk walk;                     ///< walk of the blocks; all agents of a block walk together
  Count blocks;                  ///< groups at the block level
  Count cluster = 1;             ///< blocks a cluster
  bool together = false;         ///< true if a cluster's blocks lie along `across` and visit what any of them sees
  Count threads;                 ///< threads of a block
  std::optional<AxisId> across;  ///< axis of the mask that is not the streamed one, if chunks are skipped
  std::shared_ptr<const PlacedCombine> combine;  ///< combining, if results have parts
  bool cuts = false;  ///< true if the block's level cuts the streamed axis into `parts`; a single part leaves it whole
  Count own_parts = 0;  ///< number of parts by the kernel's own rule (LevelMapping::own_parts); 0: a knob gave it
  std::shared_ptr<const void> variant;  ///< alternatives of the mapping that it was made of (Placer's); owns the spans
  std::uint64_t binding = 0;            ///< number of the Placer's problem
  /// The sequences of a packed batch by length. All other fields then describe the launch, sized for the longest
  /// sequence.
  std::vector<PackedPart> packed;

  /// Returns true if it crosses from or to the level above, as a block's bytes do; false for a memory beside the
  /// registers.
  [[nodiscard]] bool from_above(const Crossing& crossing) const {
    if (crossing.pipe < 0) return true;
    const Pipe& pipe = machine->pipes[static_cast<std::size_t>(crossing.pipe)];
    const LevelId other = pipe.from == crossing.into ? pipe.to : pipe.from;
    return other == machine->levels[static_cast<std::size_t>(crossing.into)].parent;
  }
  [[nodiscard]] const PlacedLevel& block() const { return levels[static_cast<std::size_t>(block_level)]; }
  [[nodiscard]] const PlacedLevel* find_level(LevelId id) const;
  /// Returns the axes of the crossing's data in storage order; the last has unit stride.
  [[nodiscard]] const std::vector<AxisId>& axes_of(const Crossing& crossing) const {
    if (crossing.variable >= 0) {
      const std::vector<AxisId>* own = variables[static_cast<std::size_t>(crossing.variable)].axes;
      if (own != nullptr) return *own;
    }
    if (crossing.auxiliary >= 0) return streamed->auxiliaries[static_cast<std::size_t>(crossing.auxiliary)].axes;
    return streamed->diagram.arrays[static_cast<std::size_t>(crossing.array)].axes;
  }
  /// Returns the number of parts of a result that become one when they meet; 1 without split axes.
  [[nodiscard]] Count parts() const;
  /// Returns true if `parts` leave the streamed axis whole: then it is not grouped, and no result has parts.
  [[nodiscard]] bool whole() const {
    return cuts && streamed->stream && block().groups_of[static_cast<std::size_t>(*streamed->stream)] == Count(1);
  }
  [[nodiscard]] bool in_parts(const Crossing& crossing) const { return crossing.parts && !whole(); }
  /// Returns true if each block of a cluster gets, or stores, an equal part of it.
  [[nodiscard]] bool divided(const Crossing& c) const {
    return (c.fills || c.store) && c.variable >= 0 && variables[static_cast<std::size_t>(c.variable)].divided;
  }
  /// Returns true if one copy, whole or divided, serves all blocks of a cluster.
  [[nodiscard]] bool shared_by_cluster(const Crossing& c) const { return multicast(c) || divided(c); }
  /// Returns the number of parts of a row, each filled by boxes of its own.
  [[nodiscard]] Count column_parts(const Crossing& c) const {
    return c.fills && c.variable >= 0 ? variables[static_cast<std::size_t>(c.variable)].column_parts : Count(1);
  }
  /// Returns true if one copy serves, or comes from, all blocks of a cluster.
  [[nodiscard]] bool multicast(const Crossing& c) const {
    return c.combined_in_cluster || (c.fills && variables[static_cast<std::size_t>(c.variable)].multicast);
  }
};

/// The sequences of one length, placed separately under the batch's tile.
struct PackedPart {
  PlacedDiagram placed;                    ///< placed sequences; axis b is their number
  std::shared_ptr<const Problem> problem;  ///< problem of `placed`
  bool blank = false;  ///< true without keys (`placed` has one): nothing is read, and rows of zeros are stored
};

/// Returns true if blocks take the stream's chunks from last to first.
[[nodiscard]] bool walks_backward(const PlacedDiagram& placed);

/// Returns the walk along the streamed axis of the groups of the block's level, or of a level above it.
[[nodiscard]] Walk walk_of(const PlacedDiagram& placed, const PlacedLevel& level);

/// A placer of tiles of (streamed diagram, mapping, machine, problem). It resolves once what no knob changes: names to
/// ids, guards, the knobs that a quantity depends on. Its arguments must outlive it.
class Placer {
 public:
  /// Prepares placing. Throws Error if the mapping does not fit the diagram, or the machine lacks what it needs.
  Placer(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem);
  ~Placer();
  Placer(Placer&&) noexcept;
  Placer& operator=(Placer&&) noexcept;

  /// Places any tile, legal or not (values at least 1); solver/space judges legality.
  [[nodiscard]] PlacedDiagram place(const Tile& tile) const;
  /// Places into an existing object. If that holds an untouched tile of this placer with the same alternatives (values
  /// of knobs in guards), allocates nothing and places only what the changed knobs change. Exact; throws Overflow for
  /// sizes beyond 64 bits.
  void place(const Tile& tile, PlacedDiagram& into) const;

  /// Places the alternatives of a tile without its sizes: variables and where they are shared, crossings, the
  /// operations' work and operands, and the cluster. For comparing alternatives; place() then fills in the rest.
  void place_alternatives(const Tile& tile, PlacedDiagram& into) const;

  /// Rebinds the placer to another problem of the same element type and kind of mask, resolving only what depends on
  /// sizes. Throws Error if type or kind differ. The problem must outlive the placer.
  void rebind(const Problem& problem);

  class Compiled;  ///< The compiled mapping (model/mapping/compile/compiled.hpp).

 private:
  struct Part;  ///< the sequences of one length of a packed batch
  void find_parts(const Problem& problem);

  std::unique_ptr<Compiled> compiled_;
  std::vector<Part> parts_;
};

}  // namespace napkin::internal
