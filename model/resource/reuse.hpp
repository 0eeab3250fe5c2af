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

namespace napkin::internal {

/// The cache below device memory, as the data that it can keep.
struct L2Model {
  double bytes = 0;    ///< bytes of a partition; 0: not known, everything is kept
  int partitions = 1;  ///< number of partitions, each of which keeps what its own SMs read
  int ways = 0;        ///< lines of a set; 0: fully associative, keeping exactly `bytes`
};
/// Returns the model of a machine with one such cache of known size; for others a cache that keeps everything.
[[nodiscard]] L2Model l2_model(const Machine& machine);

/// Returns the probability that a line is evicted after that many other bytes: by a Poisson distribution, that its set
/// received `ways` other lines or more, as addresses spread lines over sets. Without ways: 0 up to the capacity, then
/// 1.
[[nodiscard]] double chance_gone(const L2Model& l2, double own_bytes, double other_bytes);

/// The distance between blocks that run together.
enum class Pace {
  together,  ///< blocks begin together and stay in step
  apart      ///< blocks began evenly spread over a block's time, and never run in step
};

/// The bytes that device memory sends: those of a first read, and re-reads.
struct Reread {
  double bytes = 0;  ///< bytes sent again, all arrays
  double first = 0;  ///< bytes of inputs sent for the first time
  /// True for a launch too long to be simulated: its rest is extrapolated from the second half of the simulated part.
  bool extrapolated = false;
};

/// Simulates the launch in steps of a chunk or several: all `running` blocks take their next chunk at once. A piece
/// touched before is read again with chance_gone() of the bytes since. First reads are exact; with `ways` 0 re-reads
/// too. Cost: some 10 ns a touch, at most 2^16 block steps.
[[nodiscard]] Reread reread(const PlacedDiagram& placed, const L2Model& l2, Count running,
                            std::optional<Count> section = std::nullopt, Pace pace = Pace::together);

/// Returns the blocks that run at a time on all nodes, each of which holds so many.
[[nodiscard]] Count blocks_at_a_time(const PlacedDiagram& placed, Count blocks_a_node);

/// Returns the re-read bytes on the placed machine, whose nodes hold `blocks_a_node` blocks. With the first reads they
/// never exceed the bytes that blocks load.
[[nodiscard]] Bytes reread_bytes(const PlacedDiagram& placed, Count blocks_a_node, Pace pace = Pace::together);

/// A predicate that is true if that many re-read bytes change no answer, so that no launch need be simulated.
using Negligible = std::function<bool(double bytes)>;

/// The reread_bytes() of a question's launches, each simulated once: tiles that differ only in stages, warps or
/// registers touch the same pieces. Every placement must come from the same placer.
class KnownRereads {
 public:
  KnownRereads() = default;
  /// Limits the number of launches that are simulated.
  explicit KnownRereads(int most) : left_(most) {}
  /// Returns the re-read bytes, or an upper bound if that is negligible too. Infinite if no further launch may be
  /// simulated.
  [[nodiscard]] double of(const PlacedDiagram& placed, Count blocks_a_node, const Negligible& negligible);

 private:
  struct Known {
    double bytes = std::numeric_limits<double>::infinity();
    bool exact = false;
  };
  std::map<std::vector<std::int64_t>, Known> known_;
  std::map<std::vector<std::int64_t>, std::optional<Count>> acted_;  ///< bytes of simulated launches
  int left_ = std::numeric_limits<int>::max();
};

/// Returns an upper bound of reread_bytes() with all blocks in step, in a microsecond: every wave of blocks reads again
/// all that it touches. Infinite if blocks walk differently, so that no waves form.
[[nodiscard]] double reread_at_most(const PlacedDiagram& placed, Count blocks_a_node);

/// Rows and planes that consecutive blocks along a Hilbert curve touch, over the sides of a square of as many blocks:
/// the mean over the curve, whatever its size and their number (1.22 to 1.23).
constexpr double hilbert_unaligned = 1.225;

/// Estimates re-reads at one block a node without a simulation (some 100 ns), for the energy of compared tiles. 0 with
/// a mask or packed lengths; simulated if the order permutes the grid's axes.
[[nodiscard]] double reread_by_waves(const PlacedDiagram& placed);

/// Returns the fraction of streamed bytes, without multicast, that differ between that many consecutive blocks; 1: they
/// share nothing. In closed form, within 12 % of a count block by block (tests/unit/clock/test_power.cpp).
[[nodiscard]] double unshared_in_order(const PlacedDiagram& placed, double blocks);
/// Returns true if two of a block's streams are shared with different sets of blocks, as A's rows and B's columns of a
/// product.
[[nodiscard]] bool streams_crossed(const PlacedDiagram& placed);

}  // namespace napkin::internal
