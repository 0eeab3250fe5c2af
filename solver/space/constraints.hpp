#pragma once
// Rules are the requirements on a legal tile. A Violation names the rule, the amount that it needs and the amount that
// is there ("shared memory", 262,144 bytes, 232,448).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/knobs.hpp"

namespace napkin::internal {

struct Violation {
  std::string constraint;  ///< "shared memory", "registers", "threads", "granularity of x", "rows", "cluster", ...
  double needed = 0;
  double available = 0;
};

/// The two numbers of a violation.
struct Excess {
  double needed = 0;
  double available = 0;
};

/// A requirement that the knobs' values alone decide; no placement is needed.
struct TileRule {
  std::string name;
  KnobSet knobs = 0;  ///< knobs that it reads
  std::function<std::optional<Excess>(const Tile&)> check;
  bool lengths = false;  ///< true if it reads the size of an axis that blocks or chunks divide
};

/// A requirement on the plan of a placed tile.
struct PlanRule {
  std::string name;
  KnobSet knobs = 0;  ///< knobs on which the plan's numbers that it reads depend
  std::optional<Excess> (*check)(const PlacedDiagram&, const Plan&) = nullptr;
};

/// Every constraint of a mapping for one problem, in the order in which a tile's first violation is named: constraints
/// of the question alone, of the knobs' values, then of the plan. Holds no reference to its arguments.
struct Rules {
  std::vector<TileRule> tile;
  std::vector<PlanRule> plan;  ///< "registers", "register file", "shared memory"

  Rules(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem);
};

/// Lists every violated constraint of a placed tile by name, in a fixed order; empty: the tile is legal.
[[nodiscard]] std::vector<Violation> violations(const PlacedDiagram& placed, const Plan& plan);
/// Lists violations of rules that the caller keeps while it tries many tiles of one problem.
[[nodiscard]] std::vector<Violation> violations(const Rules& rules, const PlacedDiagram& placed, const Plan& plan);

// The single constraints, in order. Each appends what it requires of that mapping.

/// Adds "architecture": the mapping runs on the machine's.
void add_architecture(std::vector<TileRule>& rules, const Mapping& mapping, const Machine& machine);
/// Adds "dtype": the mapping takes the question's element type.
void add_dtype(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem);
/// Adds "mask": the mapping takes the question's mask.
void add_masks(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem);
/// Adds "device memory": inputs and outputs fit in it.
void add_device_memory(std::vector<TileRule>& rules, const Streamed& streamed, const Machine& machine,
                       const Problem& problem);
/// Adds "size of d": the axis has a size that the kernel supports (available: the nearest).
void add_supported_sizes(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                         const Problem& problem);
/// Adds "packing of g": a tile's rows pack no more of an axis than there is. If an
/// agent's instances divide several axes, only the first may be padded, to fill the instruction's rows.
void add_packing(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                 const Problem& problem);
/// Adds the mapping's relations under their own names.
void add_relations(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                   const Problem& problem);
/// Adds "granularity of x": a multiple of the sizes of instructions and transfers (granularity.hpp).
void add_granularity(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                     const Machine& machine, const Problem& problem);
/// Adds "rows of consumer": the rows of an agent's instance are a multiple of its row step, and at most its most.
void add_agent_rows(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                    const Problem& problem);
/// Adds "threads": a block's threads are within the machine's limit.
void add_threads(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);
/// Adds "cluster size": at most the machine's; "cluster": a divisor of the blocks along its axis, unless the kernel
/// rounds its grid up; "cluster mask": 1 if a mask lets blocks that share chunks by multicast visit different ones.
void add_cluster(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);

/// Adds, for results in parts, "parts": all parts that meet in a cluster belong to one; "resident blocks": blocks that
/// wait at a barrier of the whole grid run together, one a node.
void add_combine(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);

/// Checks "registers": each agent's threads stay within their registers (setmaxnreg's, else an equal share).
[[nodiscard]] std::optional<Excess> check_registers(const PlacedDiagram& placed, const Plan& plan);
/// Checks "register file": the block's registers at launch fit, in whole granules, and so does the split by setmaxnreg.
[[nodiscard]] std::optional<Excess> check_register_file(const PlacedDiagram& placed, const Plan& plan);
/// Checks "shared memory": the block's, barriers included, fits.
[[nodiscard]] std::optional<Excess> check_shared_memory(const PlacedDiagram& placed, const Plan& plan);
/// Checks "core memory", if agents are cores: the contents of each of their memories (L0A, L0C, UB, ...) fit.
[[nodiscard]] std::optional<Excess> check_core_memory(const PlacedDiagram& placed, const Plan& plan);
/// Checks "side memory": the data of the threads' matrix unit in a memory beside the registers (tensor memory) fit.
[[nodiscard]] std::optional<Excess> check_side_memory(const PlacedDiagram& placed, const Plan& plan);

}  // namespace napkin::internal
