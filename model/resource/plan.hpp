#pragma once
// These functions say what a launch needs of one compute node: a tile of attention_sm90 takes 193 KiB of shared memory
// and 168 registers a thread at launch, so that one block fills an SM. plan() of resources.hpp puts all of it together;
// the parts below allocate nothing, for callers that try thousands of tiles. (model/README.md, "Configuration table")

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

/// Dynamic shared memory of a block in bytes, slack for the base's alignment and barriers included: exactly
/// plan(placed).shared_total. Throws Overflow; Error for more than 64 variables.
[[nodiscard]] Bytes shared_bytes(const PlacedDiagram& placed);

/// Barriers of 8 bytes: a full and an empty one for each copy of each variable that TMA fills, and the mapping's own
/// (Mapping::barriers).
[[nodiscard]] Count barrier_count(const PlacedDiagram& placed);

/// Registers a thread of one agent: what its variables and its overhead take, and what it may have.
struct RegisterNeed {
  int agent = -1;  ///< index into PlacedDiagram::agents; -1: no agents
  Count need;   ///< sum of the variables at level "registers" (aliases share) / (4 B x threads), rounded up, + overhead
  Count limit;  ///< what the kernel asks for (setmaxnreg), else the threads' share of the registers; at most 255
};
[[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed, int agent);

/// Of the agent that needs the largest part of its limit. Agent -1 and zeros where there is none.
[[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed);

/// Registers a thread at launch, in whole granules. Where agents ask for their own: the least that holds them all
/// (24 x 128 + 240 x 256 = 168 x 384); else the need, at most the limit.
[[nodiscard]] Count launch_registers(const PlacedDiagram& placed);

/// Bytes of local memory a thread, into which its compiler spills what does not find room among registers, by the
/// agent's rule (Overhead). Of a compiled tile its table counts them.
[[nodiscard]] Bytes spilled_bytes(const PlacedDiagram& placed);

/// How many blocks of a kernel one node holds at a time, and what stops the next one.
struct Occupancy {
  Count blocks;
  std::string_view limited_by;  ///< "shared memory", "registers", "threads", "blocks"; "" where the limits are unknown
};

/// `node_shared`: bytes of shared memory of one node. Registers and shared memory as given are rounded up to the
/// granules here. Blocks 0: does not fit at all. (the rules of cuda_occupancy.h, from its documentation)
[[nodiscard]] Occupancy occupancy(const Limits& limits, Bytes node_shared, Count threads, Count registers,
                                  Bytes shared);
[[nodiscard]] Occupancy occupancy(const PlacedDiagram& placed, Count registers, Bytes shared);
[[nodiscard]] Occupancy occupancy(const PlacedDiagram& placed);

/// Bytes of shared memory that a block may have; the largest number where nothing limits it.
[[nodiscard]] Bytes shared_limit(const PlacedDiagram& placed);

/// Where the bytes of a placement go, with the sizes left open: made of one placement, it serves every other of the
/// same alternatives (PlacedDiagram::variant) whose iterations overlap or do not as its own, since their variables
/// differ in elements and copies alone. For searches (Footprints): it finds storages, alignments and owners once.
class Footprint {
 public:
  explicit Footprint(const PlacedDiagram& placed);
  /// shared_bytes(placed) and register_need(placed), each in some tens of nanoseconds.
  [[nodiscard]] Bytes shared_bytes(const PlacedDiagram& placed) const;
  [[nodiscard]] RegisterNeed register_need(const PlacedDiagram& placed) const;
  /// plan(placed) without its slots.
  [[nodiscard]] Plan plan(const PlacedDiagram& placed) const;

 private:
  [[nodiscard]] Count register_bytes_of(const PlacedDiagram& placed, std::size_t agent) const;

  struct InShared {
    std::size_t variable;
    int storage;                       ///< -1: elsewhere
    Count storage_align, align, bits;  ///< bits: an element
    int agent;                         ///< whose instances have one each; -1: one a block
    bool barriers;
  };
  struct InRegisters {
    std::size_t variable, owner;  ///< owner: whose storage it uses
    int agent;                    ///< whose registers they are
    bool of_block;                ///< one a block, spread over the instances
  };
  std::vector<InShared> in_shared_;        ///< by storage, strictest alignment first: no gaps
  std::vector<InRegisters> in_registers_;  ///< by owner
  Count slack_;                            ///< to align the base
};

/// The footprints of a search's placements, each made once.
class Footprints {
 public:
  [[nodiscard]] const Footprint& of(const PlacedDiagram& placed);

 private:
  std::map<std::pair<std::shared_ptr<const void>, bool>, Footprint> known_;  // by variant; whether iterations overlap
};

}  // namespace napkin
