#pragma once
// Rules say what makes a tile legal, and a rejection is data: the rule, what it needs, what there is ("shared memory",
// 262,144 bytes, 232,448).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/knobs.hpp"

namespace napkin {

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
  KnobSet knobs = 0;  ///< it reads no other knob
  std::function<std::optional<Excess>(const Tile&)> check;
  bool lengths = false;  ///< it reads the size of an axis that blocks or chunks divide
};

/// A requirement on what the plan says a placed tile needs.
struct PlanRule {
  std::string name;
  KnobSet knobs = 0;  ///< the plan's numbers that it reads depend on no other knob
  std::optional<Excess> (*check)(const PlacedDiagram&, const Plan&) = nullptr;
};

/// Every constraint of a mapping for one problem, in the order in which a tile's first violation is named: the ones
/// that the question alone decides, then the knobs' values, then the plan. Holds no reference to its arguments.
struct Rules {
  std::vector<TileRule> tile;
  std::vector<PlanRule> plan;  ///< "registers", "register file", "shared memory"

  Rules(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem);
};

/// Every violated constraint of a placed tile, in a fixed order; empty: legal. Named, never a bool.
[[nodiscard]] std::vector<Violation> violations(const PlacedDiagram& placed, const Plan& plan);
/// With the rules at hand, for callers that try many tiles of one problem.
[[nodiscard]] std::vector<Violation> violations(const Rules& rules, const PlacedDiagram& placed, const Plan& plan);

// The single constraints, in order. Each appends what it requires of that mapping.

/// "architecture": the machine is one that the mapping runs on.
void add_architecture(std::vector<TileRule>& rules, const Mapping& mapping, const Machine& machine);
/// "dtype": the mapping takes the question's element type.
void add_dtype(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem);
/// "mask": the mapping takes the question's mask.
void add_masks(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem);
/// "device memory": inputs and outputs are no larger than it.
void add_device_memory(std::vector<TileRule>& rules, const Streamed& streamed, const Machine& machine,
                       const Problem& problem);
/// "size of d": the axis has a size that the kernel supports (available: the nearest).
void add_supported_sizes(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                         const Problem& problem);
/// "packing of g": no more of an axis is packed into a tile's rows than there is. Of the axes that an agent's instances
/// divide among themselves, the first may be padded (something must fill the instruction's rows), the others may not.
void add_packing(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                 const Problem& problem);
/// The mapping's relations, by their names.
void add_relations(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                   const Problem& problem);
/// "granularity of x": a multiple of what instructions and transfers need (granularity.hpp).
void add_granularity(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                     const Machine& machine, const Problem& problem);
/// "rows of consumer": what one instance of an agent gets is a multiple of its row step, and at most its most.
void add_agent_rows(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                    const Problem& problem);
/// "threads": of a block, at most the machine's limit.
void add_threads(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);
/// "cluster size": at most the machine's; "cluster": divides the number of blocks along its axis, unless the kernel
/// rounds its grid up; "cluster mask": one block where a mask lets the blocks visit different chunks of what they share
/// by multicast.
void add_cluster(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);

/// Of results in parts: "parts": all of a result meet in one cluster where they meet in clusters. "resident blocks":
/// blocks that wait for each other at a barrier of the whole grid run together, one a node.
void add_combine(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem);

/// "registers": a thread of the hungriest agent stays within what it may have (setmaxnreg, else its share).
[[nodiscard]] std::optional<Excess> check_registers(const PlacedDiagram& placed, const Plan& plan);
/// "register file": the block's registers at launch, in whole granules, fit; so does what setmaxnreg splits.
[[nodiscard]] std::optional<Excess> check_register_file(const PlacedDiagram& placed, const Plan& plan);
/// "shared memory": of a block, barriers included.
[[nodiscard]] std::optional<Excess> check_shared_memory(const PlacedDiagram& placed, const Plan& plan);
/// "core memory", where agents are cores: what lies in each of their memories (L0A, L0C, UB, ...) fits.
[[nodiscard]] std::optional<Excess> check_core_memory(const PlacedDiagram& placed, const Plan& plan);
/// "side memory": what threads' matrix unit keeps in a memory of the node beside the registers (tensor memory) fits.
[[nodiscard]] std::optional<Excess> check_side_memory(const PlacedDiagram& placed, const Plan& plan);

}  // namespace napkin
