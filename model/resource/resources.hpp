#pragma once
// transfers(), memories() and work() count the bytes that a placed diagram moves and holds, and its operations: 8.66 GB
// move into shared memory, of which a block holds 160 KiB at a time. All counts are exact integers, by the two rules.
// (model/README.md, "The two rules")

#include <optional>
#include <string>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Bytes over the pipe from the parent into one level. (values on the abstract machine: one byte is one value)
struct LevelTransfer {
  LevelId level = 0;
  Count groups;
  Bytes load, store;  ///< bytes of all groups, clipped to the arrays, visited chunks only
  Bytes delivered;    ///< loads as the receiver's counter sees them: rows of boxes (eq. 2.5), sectors; into the cache
                      ///< below device memory, with Rereads::counted, re-reads too
  std::optional<Bytes> delivered_apart = {};  ///< bytes from that cache if blocks run out of step (Rereads::spread)
  Bytes transfer_per_group;                   ///< bytes of a full, unmasked group
  [[nodiscard]] Bytes transfer() const { return load + store; }
};

/// The treatment of re-reads from device memory: `counted` simulates the launch (some milliseconds a tile), `spread`
/// also with blocks out of step.
enum class Rereads { none, counted, spread };

/// Returns the cache's hit rate: the part of the level below's loads and stores that device memory does not serve.
/// Stores stay in the cache, and later readers find what the first loaded. `delivered` are the bytes into the cache.
/// (eq. 2.8)
[[nodiscard]] double hit_rate(const LevelTransfer& below, Bytes delivered);

/// Returns true if Rereads::counted changes the bytes delivered into the level: a cache below device memory.
[[nodiscard]] bool counts_rereads(const Machine& machine, LevelId level);

/// Returns the transfers of every level, top to bottom. Throws Overflow. (model/README.md, "The two rules")
[[nodiscard]] std::vector<LevelTransfer> transfers(const PlacedDiagram& placed, Rereads rereads = Rereads::none);

/// Returns transfers() at the blocks' level, at a part of their cost.
[[nodiscard]] LevelTransfer transfer_into_blocks(const PlacedDiagram& placed);

/// The bytes that move because results have parts, over the pipe below the level in which these meet.
struct CombineMoved {
  LevelId into = 0;  ///< the level at the lower end of that pipe
  Count parts = 1;   ///< parts of one result
  Bytes stored;      ///< bytes of parts, and of the statistics that groups exchange (in transfers() too)
  Bytes loaded;      ///< bytes of parts that groups read back (in transfers() too); by `launch` all parts, by the
                     ///< second launch
  Bytes whole;       ///< bytes of the results that the second launch stores (by `launch`)
};

/// Returns the combining transfers by the transfer rule, both of the launch that leaves parts and of the launch that
/// combines them. Nothing if no result has parts. Throws Overflow. (eq. 19.1)
[[nodiscard]] std::optional<CombineMoved> combine_moved(const PlacedDiagram& placed);

/// Returns the bytes that move because node shares end within tiles (cut_tiles()): parts of results up to where blocks
/// meet, and down again. transfers() includes them.
[[nodiscard]] Bytes cut_bytes(const PlacedDiagram& placed);

/// The three memories of a level's node in model/README.md, "The two rules".
struct LevelMemory {
  LevelId level = 0;
  Bytes lower_bound;  ///< bytes by the paper's rule: columns as drawn, outputs at the stream input, no auxiliaries, no
                      ///< copies
  Bytes live;         ///< largest set of values still needed, auxiliaries included
  Bytes allocated;    ///< bytes that the kernel allocates: copies, alignment, aliases
  std::optional<Bytes> limit;
};
[[nodiscard]] std::vector<LevelMemory> memories(const PlacedDiagram& placed);

/// The FLOP of contractions, 2 a multiply-add, unmasked pairs, unpadded; `executed` counts visited tiles in full.
struct Work {
  Flops flops, executed_flops;
  Count exponentials, conversions;  ///< operations of the executed tiles
};
[[nodiscard]] Work work(const PlacedDiagram& placed);

/// The place of a variable in a block's shared memory.
struct Slot {
  int variable = 0;
  Bytes offset, size;
};

/// The resources of an SM that a launch needs. Offsets reach the kernel in its template struct.
struct Plan {
  std::vector<Slot> shared;  ///< slots in order of offset; aliases share an offset
  Bytes shared_total;        ///< dynamic shared memory of a block, barriers included
  Bytes shared_limit;
  Count barriers;              ///< mbarriers of 8 bytes
  Count registers_per_thread;  ///< estimated need of the agent that needs most, overhead included
  Count registers_limit;       ///< registers that the agent may have (setmaxnreg split, 255, or threads' share)
  Count registers_launch;      ///< registers a thread at launch, a multiple of the granule (before setmaxnreg)
  Count threads;
  Count blocks_per_sm;
  std::string limited_by;  ///< "shared memory", "registers", "threads", "blocks"
};
[[nodiscard]] Plan plan(const PlacedDiagram& placed);

}  // namespace napkin::internal
