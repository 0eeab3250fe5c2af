#pragma once
// launch_clocks computes a launch's clocks from one block's, by distributing blocks over compute nodes: 1,024 equal
// blocks on 132 nodes take what 8 blocks take one after the other; under a mask the busiest node decides.
// (model/README.md, "Time: the launch")

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/launch/resident_blocks.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/clock/run/period.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/block_ids.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {

struct LaunchClocks {
  double busiest = 0;  ///< clocks of the node that runs longest
  double mean = 0;     ///< mean over the nodes, as a counter of active cycles reads if blocks persist
  double longest = 0;  ///< clocks of the longest block alone on a node, a lower bound of the launch
  double start = 0;    ///< excess of a node's first block over a later one
  double beyond = 0;   ///< clocks of a block beyond its iterations, if blocks are unequal
  /// A packed batch's planes under a mask, if blocks start in the grid's order: an iteration is a clock. Else null.
  std::shared_ptr<const BlockPlanes> planes = nullptr;
};

/// Returns the clocks that a node spends on a block without rows of its packed sequence: an idle block's if the launch
/// starts it (eq. 15.3), the draw of a tile from the L2 and its message to the threads if tiles are drawn (eq. 15.4; a
/// tile with rows hides it), none if they are dealt out.
[[nodiscard]] double empty_block_clocks(const PlacedDiagram& placed);

/// The assignment of a masked launch's blocks to nodes. A node with I iterations in b blocks takes I c + b e, for c
/// clocks an iteration and e a block; the assignment depends only on e / c, in steps, so the busiest node's clocks are
/// the largest of a few I c + b e. (model/README.md, "Time: the launch")
class BlockLengths {
 public:
  BlockLengths(std::vector<EqualBlocks> in_order, double planes, double nodes);
  [[nodiscard]] double busiest(BlockOrder order, double iteration, double beyond);
  /// Returns busiest() if an assignment in that order at an equivalent e / c is known, else 0.
  [[nodiscard]] double busiest_at_least(BlockOrder order, double iteration, double beyond) const;

  /// The work of a node.
  struct Dealt {
    double iterations = 0, blocks = 0;
  };
  /// The work of nodes for `least` <= e / c <= `most`. If several nodes have equal numbers of blocks, only the one with
  /// most iterations.
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

  std::vector<EqualBlocks> in_order_;  ///< runs of equal blocks of a plane
  std::int64_t planes_ = 1;
  int nodes_ = 1;
  std::vector<Outcome> outcomes_;
};

/// The facts of a launch, beside its graph, that its clocks depend on. They follow from the question's lengths and the
/// tile's sizes and cluster, so that tiles with equal ones share them.
struct LaunchShape {
  Schedule who;
  double mean = 0;       ///< iterations of a block
  bool unequal = false;  ///< true if a mask makes blocks unequally long
  CutChunks cut;
  UnsharedFraction alone = {};                 ///< result of unshared_fraction_in_any_order()
  MeanBlock block, uncut;                      ///< block of mean length with its cut chunks, and without any
  std::shared_ptr<BlockLengths> lengths = {};  ///< lengths of unequal blocks, once they are asked for
  EdgeCopies edge = {};  ///< result of edge_copies(); its blocks are those of the node with most edge blocks
  /// The sequences of one length of a packed batch.
  struct Part {
    double mean = 0;  ///< iterations of a block
    CutChunks cut;
    MeanBlock block, uncut;  ///< blocks as in the launch
    double blocks = 0;
  };
  bool packed = false;
  std::vector<Part> parts = {};  ///< packed batch: non-empty sequences, by length
  double empty_blocks = 0;       ///< packed batch: blocks without rows of their sequences
  std::shared_ptr<const PackedBlocks> blocks =
      nullptr;  ///< sequence of each block, for orders that walk the axes as listed
};
[[nodiscard]] LaunchShape launch_shape(const PlacedDiagram& placed);
/// Makes the shape from `like`, the shape of the same tile with another cluster, whose cluster-independent fields it
/// reuses.
[[nodiscard]] LaunchShape launch_shape(const PlacedDiagram& placed, const LaunchShape& like);
/// Returns the iterations of the blocks of one plane of the mask, in order; empty if all blocks have equal lengths.
[[nodiscard]] std::vector<double> block_lengths(const PlacedDiagram& placed);
[[nodiscard]] BlockLengths block_lengths(const PlacedDiagram& placed, const LaunchShape& shape);

/// Returns the most iterations of any node, in the kernel's order (a lower bound for packed sequences): columns of 32,
/// 31, ... 1 blocks dealt in turn to 24 nodes give the first 32 + 8. (eq. 12.2)
[[nodiscard]] double busiest_iterations(const PlacedDiagram& placed);

/// Computes the clocks of a launch. Unequal blocks are assigned to nodes in the kernel's order (model/README.md, "Time:
/// the launch"); with `grid` every block starts cold after its predecessor, else blocks persist and overlap. A packed
/// launch runs its blocks in its order.
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period);
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period,
                                         const LaunchShape& shape);

/// The clocks between two blocks of a node, which no graph changes.
struct BlockEnds {
  double start = 0;     ///< clocks before a node's first block starts to work
  double handover = 0;  ///< clocks until the next block is launched, unless blocks persist
  bool persist = false;
  double empty = 0;  ///< result of empty_block_clocks()
  bool operator==(const BlockEnds&) const = default;
};
[[nodiscard]] BlockEnds block_ends(const PlacedDiagram& placed);

/// Returns the clocks of one meeting of a cluster's blocks: they meet before the first copy into another's memory, and
/// before a block exits that others may write to. A node's last meeting comes after its last block.
[[nodiscard]] double meeting_of_cluster(const PlacedDiagram& placed);

/// Computes launch_clocks() from a block's clocks and those of another iteration; not for packed sequences.
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const LaunchShape& shape, const BlockEnds& ends,
                                         BlockClocks block, double iteration);
/// Computes launch_clocks() for a given order; unequal blocks have the shape's lengths.
[[nodiscard]] LaunchClocks launch_clocks(BlockOrder order, LaunchShape& shape, const BlockEnds& ends, BlockClocks block,
                                         double iteration);

/// Returns a lower bound of launch_clocks().busiest that assigns no blocks to nodes: exact for blocks of equal length,
/// else from the mean over the nodes and a block of mean length.
[[nodiscard]] double launch_clocks_bound(const LaunchShape& shape, const BlockEnds& ends, BlockClocks block,
                                         double iteration);

/// Returns a lower bound of a launch's cycles whose block of mean length takes `block` clocks, `blocks` of them
/// resident on a node. For packed sequences the mean over the nodes; requires block.first - block.next <= first - next
/// of every part.
[[nodiscard]] double cycles_at_least(BlockOrder order, const LaunchShape& shape, const BlockEnds& ends,
                                     BlockClocks block, const Period& period, Count blocks);

}  // namespace napkin::internal
