#pragma once
// copy_time returns the time of a block's copies, from the L2 or device memory while all nodes copy; boxes_clocks
// returns the clocks of a thread that asks for one box after the other. Example: a chunk of K waits chunk_latency() for
// its first bytes. (model/README.md, "Time: the event graph")

#include "model/mapping/placed.hpp"

namespace napkin::internal {

struct CopyTime {
  double clocks = 0;   ///< clocks on the pipe into the block; other copies may pass a copy that waits for device memory
  double latency = 0;  ///< clocks beyond that until the copy is complete
};

/// Returns the time of one of `parts` equal parts of a copy that the copy engine makes by itself, or of a store. Data
/// moved `once` pass through device memory unless the L2 keeps them; streamed data come from the L2, as other blocks
/// stream them too.
[[nodiscard]] CopyTime copy_time(const PlacedDiagram& placed, const Crossing& crossing, bool once, double parts);

struct AskedCopy {
  double clocks = 0;  ///< clocks on the pipe into the node while all nodes copy tiles that other blocks read too
  double alone = 0;   ///< clocks from first to last byte if no other node copies
};

/// Returns true if a chunk comes as fast as boxes do: by boxes, or by cp.async where no thread loads operands of a
/// product meanwhile and the machine has the numbers of boxes.
[[nodiscard]] bool comes_like_boxes(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the time of a buffer's copy by boxes. A row takes a whole L2 granule, however narrow it is.
[[nodiscard]] AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing);

/// The blocks whose boxes have rows beyond the array: their copies fill such rows with zeros, at `tma_row_outside`
/// each. (eq. 13.3)
struct EdgeCopies {
  double clocks = 0;  ///< clocks on the pipe into the node, for a chunk of the last block
  double blocks = 0;  ///< number of such blocks; 0: none reaches beyond
};
[[nodiscard]] EdgeCopies edge_copies(const PlacedDiagram& placed);

/// Returns the clocks from the request to a chunk's first bytes: from the L2; from device memory if no other block
/// reads the chunk and the L2 does not keep it; in between if all blocks wait for it in step (waits_for_device).
[[nodiscard]] double chunk_latency(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the digits by which a chunk's readers count: their number to one binary digit is 2 to that power, so that
/// the graphs of a table are few.
[[nodiscard]] int digits_of_readers(double readers);
/// Returns true if some chunk's wait follows from the number of its readers: all chunks but the copy engine's.
[[nodiscard]] bool counts_readers(const PlacedDiagram& placed);

/// Returns the clocks of that for which device memory is waited.
[[nodiscard]] double chunk_wait(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the extra clocks of a chunk on a masked block's diagonal: its keys come from device memory, while earlier
/// blocks have read the following ones. 0 if the L2 keeps all, or if blocks run in step. (eq. 13.2; half of a chunk of
/// twice the block's rows belongs to the next block)
[[nodiscard]] double first_touch_latency(const PlacedDiagram& placed);

/// Returns true if a repeated launch finds its arrays in device memory, since the L2 cannot keep them.
[[nodiscard]] bool comes_from_device(const Machine& machine, const Streamed& streamed, const Problem& problem);

/// Returns true if blocks have equal lengths, and so run in step: blocks that read the same chunk request it at about
/// the same time.
[[nodiscard]] bool in_step(const Problem& problem);

/// Returns the fraction of the bytes that a block streams from the L2 that the L2 sends for this block alone. Adjacent
/// SMs (`l2_neighbours`) that request a line at about the same time share it, as blocks in step do. (model/README.md,
/// eq. 16.2)
[[nodiscard]] double unshared_fraction(const PlacedDiagram& placed);
/// The unshared_fraction() over all orders in which blocks may be launched or dealt out.
struct UnsharedFraction {
  double least = 1;
  bool by_order = false;  ///< true if orders differ; else every order has the least
};
[[nodiscard]] UnsharedFraction unshared_fraction_in_any_order(const PlacedDiagram& placed);
/// Returns the least fraction over all lengths.
[[nodiscard]] double least_unshared_fraction(const PlacedDiagram& placed);

/// Returns true if blocks wait for device memory at each chunk: in step, all wait for the first to request it. Blocks
/// of different lengths find chunks that others have read.
[[nodiscard]] bool waits_for_device(const Machine& machine, const Streamed& streamed, const Problem& problem);

/// Returns the clocks that a thread takes to request a chunk's boxes; 0 if the machine does not say.
[[nodiscard]] double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the clocks of that thread between the boxes of consecutive buffers.
[[nodiscard]] double asking_clocks(const PlacedDiagram& placed);

/// Returns the clocks that the thread waits after its boxes until all blocks of a cluster have read the next buffer.
[[nodiscard]] double meeting_clocks(const PlacedDiagram& placed);

/// Returns the L2 granules that a box's row takes, in rows: 1 from 64 bytes on.
[[nodiscard]] double granules_of(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the bytes that the box's rows count for on the pipe into a node, in rows of 128 bytes; a row of 64 bytes
/// counts for more than half of that (`tma_row_64`).
[[nodiscard]] double passing_bytes(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns true if blocks of other groups read the crossing's bytes too.
[[nodiscard]] bool read_by_others(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the latency between two blocks of a cluster; 0 if the machine has no clusters.
[[nodiscard]] double cluster_latency(const Machine& machine);

}  // namespace napkin::internal
