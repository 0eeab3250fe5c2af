#pragma once
// copy_time says what a block's copies take, from the L2 or device memory while all nodes copy; boxes_clocks adds up a
// thread that asks for one box after the other. Example: a chunk of K waits chunk_latency() for its first bytes.
// (model/README.md, "Time: the event graph")

#include "model/mapping/placed.hpp"

namespace napkin {

struct CopyTime {
  double clocks = 0;   ///< of the pipe into the block: other copies pass one that waits for device memory
  double latency = 0;  ///< beyond that, until all of it is there
};

/// Of one of so many equal parts of a copy that no thread asks for, or of a store. What a block moves once comes from
/// device memory, where the L2 does not keep it, and goes there; what it streams, other blocks stream too: L2.
[[nodiscard]] CopyTime copy_time(const PlacedDiagram& placed, const Crossing& crossing, bool once, double parts);

struct AskedCopy {
  double clocks =
      0;  ///< of the pipe into the node: what it lets through while all nodes copy, of tiles that other blocks read too
  double alone =
      0;  ///< until all of it is there, behind the pipe's latency: one node can take it faster than all at once
};

/// One buffer's copy. A row of a box takes what the L2 hands out at once, however narrow it is.
[[nodiscard]] AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing);

/// Blocks that reach beyond the array along what their boxes' rows lie along: their copies fill rows outside with
/// zeros, `tma_row_outside` each. (eq. 13.3)
struct EdgeCopies {
  double clocks = 0;  ///< of the pipe into the node, for a chunk of the last block
  double blocks = 0;  ///< how many there are; 0: none reaches beyond
};
[[nodiscard]] EdgeCopies edge_copies(const PlacedDiagram& placed);

/// Clocks from the ask until a chunk's first bytes are there: from the L2; from device memory where no other block
/// reads the chunk and the L2 does not keep it; in between where all blocks wait for it in step (waits_for_device).
[[nodiscard]] double chunk_latency(const PlacedDiagram& placed, const Crossing& crossing);

/// What a chunk on a masked block's diagonal takes longer: its keys come from device memory, those behind it have been
/// read by blocks that began there; half of a chunk of twice the block's rows is the next block's. 0 where the L2 keeps
/// all, and where blocks walk in step (chunk_latency). (eq. 13.2)
[[nodiscard]] double first_touch_latency(const PlacedDiagram& placed);

/// Whether a launch that is repeated finds its arrays in device memory: they are more than the L2 keeps.
[[nodiscard]] bool comes_from_device(const Machine& machine, const Streamed& streamed, const Problem& problem);

/// Whether blocks are of one length, and so walk in step: blocks that read one chunk ask for it at about one time.
[[nodiscard]] bool in_step(const Problem& problem);

/// Of the bytes that a block streams from the L2, the fraction that the L2 sends for this block alone. SMs side by side
/// (`l2_neighbours`) that ask for one line at about one time get it together. Blocks that walk in step ask so: blocks
/// that share all that they stream (a head's K and V), and, where the L2 holds the arrays, blocks of a product, which
/// share a row of A with some blocks and a column of B with others; where a product waits for device memory its blocks
/// drift apart. (model/README.md, eq. 16.2)
[[nodiscard]] double unshared_fraction(const PlacedDiagram& placed);
/// unshared_fraction() over all orders in which blocks may be handed out.
struct UnsharedFraction {
  double least = 1;
  bool by_order = false;  ///< orders differ; else every order has the least
};
[[nodiscard]] UnsharedFraction unshared_fraction_in_any_order(const PlacedDiagram& placed);
/// The least that any lengths can have.
[[nodiscard]] double least_unshared_fraction(const PlacedDiagram& placed);

/// Whether blocks wait for device memory with each chunk: blocks in step all wait for the one that asked first. Blocks
/// of different lengths find what others have read.
[[nodiscard]] bool waits_for_device(const Machine& machine, const Streamed& streamed, const Problem& problem);

/// Clocks of the thread that asks for its boxes; 0 where the machine does not say.
[[nodiscard]] double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing);

/// Clocks of that thread from one buffer's boxes to the next one's.
[[nodiscard]] double asking_clocks(const PlacedDiagram& placed);

/// Clocks that the thread waits behind its boxes where all blocks of a cluster must have read the next buffer.
[[nodiscard]] double meeting_clocks(const PlacedDiagram& placed);

/// Rows of L2 granules that a box's row stands for: 1 from 64 bytes on.
[[nodiscard]] double granules_of(const PlacedDiagram& placed, const Crossing& crossing);

/// What the box's rows take of the pipe into a node, as bytes of rows of 128: a row of 64 bytes more than half of one
/// (`tma_row_64`).
[[nodiscard]] double passing_bytes(const PlacedDiagram& placed, const Crossing& crossing);

/// Whether blocks of other groups read the crossing's bytes too.
[[nodiscard]] bool read_by_others(const PlacedDiagram& placed, const Crossing& crossing);

/// From one block of a cluster to another; 0 where the machine has none.
[[nodiscard]] double cluster_latency(const Machine& machine);

}  // namespace napkin
