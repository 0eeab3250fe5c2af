#pragma once
// launch_clocks puts blocks onto compute nodes and so gets from one block's clocks to a launch's: 1,024 equal blocks on
// 132 nodes take what 8 blocks take one after the other; under a mask the busiest node decides. (model/README.md,
// "Time: the launch")

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/clock/run/period.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/block_ids.hpp"
#include "model/resource/order.hpp"

namespace napkin {

struct LaunchClocks {
  double busiest = 0;  ///< of the node that runs longest, its blocks one after the other
  double mean = 0;     ///< over the nodes: what a counter of active cycles reads where blocks persist
  double longest = 0;  ///< of the longest block alone on a node: no launch ends before it
};

/// Clocks of a node for a launched block that has no rows of its sequence of a packed batch: one that a launch starts
/// takes what a block that does nothing takes; tiles that blocks draw cost a draw from the L2 and its message to the
/// block's other threads (eq. 15.4; a tile with rows hides it); tiles that are dealt out, nothing. (eq. 15.3)
[[nodiscard]] double empty_block_clocks(const PlacedDiagram& placed);

/// The blocks of a masked launch, put onto nodes: row i of a causal plane visits i + 1 chunks, in all planes.
///
/// Where one more iteration takes c clocks and a block e beyond its iterations, a node with I iterations in b blocks
/// takes I c + b e. Which node gets which blocks depends on e / c alone, and only at some e / c does it change: in
/// between, the busiest node's clocks are the largest of a few I c + b e. (model/README.md, "Time: the launch")
class BlockLengths {
 public:
  BlockLengths(std::vector<EqualBlocks> in_order, double planes, double nodes);
  [[nodiscard]] double busiest(BlockOrder order, double iteration, double beyond);
  /// busiest() where blocks have been put onto nodes in that order at an e / c with the same outcome, else 0.
  [[nodiscard]] double busiest_at_least(BlockOrder order, double iteration, double beyond) const;

  /// What a node runs.
  struct Dealt {
    double iterations = 0, blocks = 0;
  };
  /// What nodes run wherever `least` <= e / c <= `most`: of nodes with equally many blocks the one with the most
  /// iterations.
  struct Outcome {
    BlockOrder order;
    double least, most;
    std::vector<Dealt> nodes = {};
    void add(const Dealt& node);
    [[nodiscard]] double busiest(double iteration, double beyond) const;
  };
  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  [[nodiscard]] const Outcome* find(BlockOrder order, double iteration, double beyond) const;
  [[nodiscard]] Outcome dealt_out(BlockOrder order) const;
  [[nodiscard]] Outcome to_first_free(BlockOrder order, double iteration, double beyond) const;
  [[nodiscard]] std::vector<EqualBlocks> longest_first() const;

  std::vector<EqualBlocks> in_order_;  ///< of one plane
  std::int64_t planes_ = 1;
  int nodes_ = 1;
  std::vector<Outcome> outcomes_;
};

/// What a launch takes its clocks from beside its graph: it follows from a question's lengths and a tile's sizes and
/// cluster, and tiles with equal sizes and clusters share it.
struct LaunchShape {
  Schedule who;
  double mean = 0;       ///< iterations of a block
  bool unequal = false;  ///< a mask makes blocks unequally long
  CutChunks cut;
  UnsharedFraction alone = {};                 ///< unshared_fraction_in_any_order()
  MeanBlock block, uncut;                      ///< of mean length: with the cut chunks, and without any
  std::shared_ptr<BlockLengths> lengths = {};  ///< where they have been asked for
  EdgeCopies edge = {};  ///< edge_copies(); its blocks are those of the node that has the most edge blocks
  /// The sequences of one length of a packed batch.
  struct Part {
    double mean = 0;  ///< iterations of a block
    CutChunks cut;
    MeanBlock block, uncut;  ///< as of the launch
    double blocks = 0;
  };
  bool packed = false;
  std::vector<Part> parts = {};  ///< of a packed batch: its sequences that are not empty, by length
  double empty_blocks = 0;       ///< of a packed batch: without rows of their sequences
  std::shared_ptr<const PackedBlocks> blocks =
      nullptr;  ///< which sequence each works for, of orders that walk the axes as they are listed
};
[[nodiscard]] LaunchShape launch_shape(const PlacedDiagram& placed);
/// Takes what does not depend on the cluster's size from the shape of a tile with another cluster.
[[nodiscard]] LaunchShape launch_shape(const PlacedDiagram& placed, const LaunchShape& like);
/// Iterations of the blocks of one plane of the mask, in order; empty where blocks are equally long.
[[nodiscard]] std::vector<double> block_lengths(const PlacedDiagram& placed);
[[nodiscard]] BlockLengths block_lengths(const PlacedDiagram& placed, const LaunchShape& shape);

/// Iterations of the node that has the most of them, in the kernel's order: columns of 32, 31, ... 1 blocks dealt in
/// turn to 24 nodes give the first one 32 + 8. Of packed sequences at least so many. (eq. 12.2)
[[nodiscard]] double busiest_iterations(const PlacedDiagram& placed);

/// Blocks one after the other on a node; of unequal length (masks) onto nodes in the kernel's order, as a knob `order`
/// says: `persistent` deals them out round robin, else the next goes to the first node that is free, the longest first
/// (`longest_first`) or in order (`grid`, or no such knob). With `grid` every block starts cold when its predecessor
/// has ended; else blocks persist and overlap. Packed sequences: the blocks of the launch in its order, each with the
/// length of its rows of its sequence; the middle of a long row of equal planes is spread evenly over the nodes.
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period);
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period,
                                         const LaunchShape& shape);

/// What lies between two blocks of a node, whatever the graph.
struct BlockEnds {
  double start = 0;     ///< clocks until a node's first block does anything
  double handover = 0;  ///< until the next block is launched, where blocks do not persist
  bool persist = false;
  double empty = 0;  ///< empty_block_clocks()
  bool operator==(const BlockEnds&) const = default;
};
[[nodiscard]] BlockEnds block_ends(const PlacedDiagram& placed);

/// The blocks of a cluster meet before the first copy into another's memory, and before one leaves that others may
/// write to: clocks of one meeting. The last one of a node lies behind its last block's end.
[[nodiscard]] double meeting_of_cluster(const PlacedDiagram& placed);

/// launch_clocks() of blocks that take those clocks, and one more iteration `iteration`: not of packed sequences.
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const LaunchShape& shape, const BlockEnds& ends,
                                         BlockClocks block, double iteration);
/// launch_clocks() of blocks in a given order; unequal blocks have the shape's lengths.
[[nodiscard]] LaunchClocks launch_clocks(BlockOrder order, LaunchShape& shape, const BlockEnds& ends, BlockClocks block,
                                         double iteration);

/// At most launch_clocks().busiest, without putting blocks of unequal length onto nodes: exact where all are equally
/// long, else the mean over the nodes, and a block of mean length.
[[nodiscard]] double launch_clocks_bound(const LaunchShape& shape, const BlockEnds& ends, BlockClocks block,
                                         double iteration);

/// A bound from below on the cycles of a launch whose block of mean length takes `block` clocks, with `blocks` resident
/// on a node. Of packed sequences: the mean over the nodes; `block.first` is no later behind `block.next` than any
/// part's first block behind its next ones.
[[nodiscard]] double cycles_at_least(BlockOrder order, const LaunchShape& shape, const BlockEnds& ends,
                                     BlockClocks block, const Period& period, Count blocks);

}  // namespace napkin
