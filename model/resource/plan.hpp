#pragma once
// These functions compute the resources of a compute node that a block takes: a tile of attention_sm90 takes 193 KiB of
// shared memory and 168 registers a thread at launch, so that one block fills an SM. plan() of resources.hpp returns
// all of them; the functions below allocate nothing, for callers that try thousands of tiles. (model/README.md,
// "Configuration table")

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

/// Returns a block's dynamic shared memory in bytes, slack for the base's alignment and barriers included: exactly
/// plan(placed).shared_total. Throws Overflow; Error for more than 64 variables.
[[nodiscard]] Bytes shared_bytes(const PlacedDiagram& placed);

/// Returns the number of 8-byte barriers: a full and an empty one for each copy of each variable that TMA fills, and
/// the mapping's own (Mapping::barriers).
[[nodiscard]] Count barrier_count(const PlacedDiagram& placed);

/// The registers of an agent's thread: the need of its variables and overhead, and the limit.
struct RegisterNeed {
  int agent = -1;  ///< index into PlacedDiagram::agents; -1: no agents
  Count need;   ///< sum of the variables at level "registers" (aliases share) / (4 B x threads), rounded up, + overhead
  Count limit;  ///< registers that the kernel asks for (setmaxnreg), else the threads' share; at most 255
};
[[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed, int agent);

/// Returns the need of the agent that needs the largest part of its limit; agent -1 and zeros without agents.
[[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed);

/// Returns the registers a thread at launch, in whole granules: the least that holds all agents' requests (24 x 128 +
/// 240 x 256 = 168 x 384); without requests the need, at most the limit.
[[nodiscard]] Count launch_registers(const PlacedDiagram& placed);

/// Returns the bytes of local memory a thread into which the compiler spills, by the agent's rule (Overhead), or as
/// counted in the table of a compiled tile.
[[nodiscard]] Bytes spilled_bytes(const PlacedDiagram& placed);

/// The number of blocks that a node holds at a time, and the resource that stops another.
struct Occupancy {
  Count blocks;
  std::string_view limited_by;  ///< "shared memory", "registers", "threads", "blocks"; "" where the limits are unknown
};

/// Computes the occupancy by the rules of cuda_occupancy.h (from its documentation). `node_shared` is a node's shared
/// memory; registers and shared memory are rounded up to granules here. 0 blocks: does not fit.
[[nodiscard]] Occupancy occupancy(const Limits& limits, Bytes node_shared, Count threads, Count registers,
                                  Bytes shared);
[[nodiscard]] Occupancy occupancy(const PlacedDiagram& placed, Count registers, Bytes shared);
[[nodiscard]] Occupancy occupancy(const PlacedDiagram& placed);

/// Returns the bytes of shared memory that a block may have; the largest number if nothing limits it.
[[nodiscard]] Bytes shared_limit(const PlacedDiagram& placed);

/// The storages, alignments and owners of a placement's variables, found once for a search. They are valid for every
/// placement of the same alternatives (PlacedDiagram::variant) whose iterations overlap in the same way, since only
/// elements and copies of variables differ between them.
class Footprint {
 public:
  explicit Footprint(const PlacedDiagram& placed);
  /// Computes shared_bytes(placed) or register_need(placed) in tens of nanoseconds.
  [[nodiscard]] Bytes shared_bytes(const PlacedDiagram& placed) const;
  [[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed) const;
  /// Makes plan(placed) without its slots.
  [[nodiscard]] Plan plan(const PlacedDiagram& placed) const;

 private:
  [[nodiscard]] Count register_bytes_of(const PlacedDiagram& placed, std::size_t agent) const;

  struct InShared {
    std::size_t variable;
    int storage;                       ///< index of the storage; -1: elsewhere
    Count storage_align, align, bits;  ///< alignments; bits of an element
    int agent;                         ///< agent whose instances have one each; -1: one a block
    bool barriers;
  };
  struct InRegisters {
    std::size_t variable, owner;  ///< index of the variable, and of the variable whose storage it uses
    int agent;                    ///< agent whose registers they are
    bool of_block;                ///< true for one a block, spread over the instances
  };
  std::vector<InShared> in_shared_;        ///< entries by storage, strictest alignment first, so that there are no gaps
  std::vector<InRegisters> in_registers_;  ///< entries by owner
  Count slack_;                            ///< bytes to align the base
};

/// The footprints of a search's placements, each made once.
class Footprints {
 public:
  [[nodiscard]] const Footprint& of(const PlacedDiagram& placed);

 private:
  std::map<std::pair<std::shared_ptr<const void>, bool>, Footprint> known_;  // keys: variant, overlapping iterations
};

}  // namespace napkin::internal
