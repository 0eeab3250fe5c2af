#pragma once
// reread_bytes says how many bytes device memory sends again because the L2 no longer holds them: keys of 32 heads that
// 132 blocks read at a time do not fit. It follows the order of the blocks, and what the blocks that run together
// touch. (model/README.md, "The two rules", eq. 2.6)

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

/// The cache below device memory as what it can keep.
struct L2Model {
  double bytes = 0;    ///< of one partition; 0: not known, everything is kept
  int partitions = 1;  ///< each keeps what its own SMs read
  int ways = 0;        ///< lines of a set; 0: any line goes anywhere, and exactly `bytes` are kept
};
/// Of machines with one such cache whose size is known: others keep everything.
[[nodiscard]] L2Model l2_model(const Machine& machine);

/// Probability that a line is gone after so many other bytes: of Poisson's ways-or-more others in its set, which lines
/// are spread over by their addresses. Without ways: 0 up to the capacity, then 1.
[[nodiscard]] double chance_gone(const L2Model& l2, double own_bytes, double other_bytes);

/// How far apart the blocks are that run together.
enum class Pace {
  together,  ///< they began together and keep step
  apart      ///< each as far into its work as any: begun evenly spread over a block's time, never in step again
};

/// Bytes that device memory sends beside the first time.
struct Reread {
  double bytes = 0;  ///< again, all arrays
  double first = 0;  ///< the first time: of inputs
  bool extrapolated =
      false;  ///< a launch too long to be acted out whole: the rest goes on like the second half of what was
};

/// Acts out the launch in steps of a chunk (of several, where there are many): all running blocks take the next one of
/// theirs at the same time, the next block starts where one has ended. A piece that was touched before is read again
/// with chance_gone() of what was touched since. `running`: blocks at a time on all nodes. The first bytes are exact;
/// with `ways` 0 so are the others for that order of touches. Cost: some 10 ns a touch, 2^16 steps of blocks at most.
[[nodiscard]] Reread reread(const PlacedDiagram& placed, const L2Model& l2, Count running,
                            std::optional<Count> section = std::nullopt, Pace pace = Pace::together);

/// Blocks that run at a time on all nodes, of which each holds so many.
[[nodiscard]] Count blocks_at_a_time(const PlacedDiagram& placed, Count blocks_a_node);

/// On the placed machine, as many blocks as its nodes hold (`blocks_a_node`); with what is sent the first time
/// never more than the blocks ask for.
[[nodiscard]] Bytes reread_bytes(const PlacedDiagram& placed, Count blocks_a_node, Pace pace = Pace::together);

/// Whether so many bytes that are read again, at most, change nothing that is asked: then no launch is acted out.
using Negligible = std::function<bool(double bytes)>;

/// reread_bytes() of the launches of one question, each acted out once: tiles that differ in stages, warps or registers
/// alone touch the same. Every placement must be of the same placer.
class KnownRereads {
 public:
  KnownRereads() = default;
  /// At most so many launches are acted out.
  explicit KnownRereads(int most) : left_(most) {}
  /// Or more than that, where more is negligible too. Infinite where no further launch may be acted out.
  [[nodiscard]] double of(const PlacedDiagram& placed, Count blocks_a_node, const Negligible& negligible);

 private:
  struct Known {
    double bytes = std::numeric_limits<double>::infinity();
    bool exact = false;
  };
  std::map<std::vector<std::int64_t>, Known> known_;
  int left_ = std::numeric_limits<int>::max();
};

/// No less than reread_bytes() with all blocks in step: every wave of blocks reads all that it touches again. Infinite
/// where blocks differ in what they walk, so that no waves form. Cost: a microsecond.
[[nodiscard]] double reread_at_most(const PlacedDiagram& placed, Count blocks_a_node);

/// Blocks in a row along a Hilbert curve fill no square: the rows and planes that they touch over its sides, mean over
/// the curve, whatever its size and their number (1.22 to 1.23).
constexpr double hilbert_unaligned = 1.225;

/// An estimate of it at one block a node, without acting the launch out (some 100 ns): for the energy of tiles that are
/// compared. 0 with a mask or packed lengths; acted out where the order permutes the grid's axes.
[[nodiscard]] double reread_by_waves(const PlacedDiagram& placed);

/// Of what so many blocks stream that are handed out in a row, wherever they begin, by no multicast: bytes that differ
/// from block to block over all that come; 1: none reads what another does. In closed form, within 12 % of the blocks
/// counted one by one (tests/unit/clock/test_power.cpp).
[[nodiscard]] double unshared_in_order(const PlacedDiagram& placed, double blocks);
/// Whether a block shares some of its streams, multicast ones too, with others than the rest.
[[nodiscard]] bool streams_crossed(const PlacedDiagram& placed);

}  // namespace napkin
