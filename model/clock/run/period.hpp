#pragma once
// A Period is the steady cost of one iteration: of a first-come-first-served run of the graph, never below its bounds
// (period_bounds.hpp); the rest is contention. Example: two warpgroups that meet on the tensor pipe with no order
// between them take longer than the pipe's own work. (model/README.md, "Time: the run")

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/clock/run/period_bounds.hpp"

namespace napkin::internal {

class Simulation;

/// The clocks of a block with a number of iterations: `first` alone, from its first copy's start to its last result;
/// `next` as the increase by another block after others.
struct BlockClocks {
  double first = 0, next = 0;
  bool operator==(const BlockClocks&) const = default;
};

/// A run of blocks of `iterations` iterations. As a block repeats itself every `turn` iterations, it also gives the
/// clocks of blocks that differ by whole turns, down to `least` iterations.
struct BlockRun {
  BlockClocks clocks;
  int iterations = 1;
  int least = 1, turn = 1;  ///< lengths to which the run applies: from `least` on, in steps of `turn`
  BlockClocks more = {};    ///< clocks of another iteration

  [[nodiscard]] bool serves(int n) const { return n >= least && (n - iterations) % turn == 0; }
  [[nodiscard]] BlockClocks of(int n) const {
    return {clocks.first + (n - iterations) * more.first, clocks.next + (n - iterations) * more.next};
  }
};

/// The runs of a graph's blocks by their numbers of iterations and of cut iterations: a few dozen, in one piece of
/// memory.
class BlockRuns {
 public:
  /// A run with its cut iterations.
  struct Kept {
    CutIterations cut;
    BlockRun run;
  };
  /// Keeps runs. New ones are made on `simulation`, where graphs share the parts that are equal.
  explicit BlockRuns(std::shared_ptr<Simulation> simulation = nullptr, std::vector<Kept> runs = {})
      : simulation_(std::move(simulation)), runs_(std::move(runs)) {}
  [[nodiscard]] Simulation& turned_to(const EventGraph& graph);
  [[nodiscard]] const BlockRun* find(int iterations, CutIterations cut) const {
    const auto at = std::lower_bound(runs_.begin(), runs_.end(), key(iterations, cut), before);
    return at != runs_.end() && of(*at) == key(iterations, cut) ? &at->run : nullptr;
  }
  /// Inserts a run. The reference is valid until the next call of add().
  const BlockRun& add(const BlockRun& run, CutIterations cut) {
    const auto at = std::lower_bound(runs_.begin(), runs_.end(), key(run.iterations, cut), before);
    return runs_.insert(at, {cut, run})->run;
  }
  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  [[nodiscard]] const std::vector<Kept>& all() const { return runs_; }  ///< returns the runs, sorted
  static constexpr double most_cut = 1 << 15;                           ///< largest number of cut iterations at either
                                                                        ///< end

 private:
  using Key = std::uint64_t;  // numbers of cut iterations, at most most_cut each, then of all
  [[nodiscard]] static Key key(int iterations, CutIterations cut) {
    return static_cast<Key>(cut.first) << 48U | static_cast<Key>(cut.last) << 32U | static_cast<Key>(iterations);
  }
  [[nodiscard]] static Key of(const Kept& one) { return key(one.run.iterations, one.cut); }
  [[nodiscard]] static bool before(const Kept& one, const Key& other) { return of(one) < other; }

  std::shared_ptr<Simulation> simulation_;
  std::vector<Kept> runs_;  // kept runs by key
};

/// A block of mean length with a mean number of cut iterations, between the whole numbers around both means.
struct MeanBlock {
  double iterations = 1, rest = 0;  ///< iterations of the shorter block, and the distance above it
  CutIterations fewer, more;
  double share = 0;  ///< distance from `fewer` to `more`
};
[[nodiscard]] MeanBlock mean_block(double iterations, CutChunks cut);

struct Period {
  double clocks = 0;
  CycleRatio cycle;
  BusiestPipe pipe;
  int settled = 1;  ///< length from which another iteration takes the period
  /// The runs of blocks that questions needed.
  std::shared_ptr<BlockRuns> run;
  double contention = 0;  ///< clocks above the larger bound: instances meet on pipes with no order between them
};

/// The steady iteration of a run of one block, from which a period is made.
struct SteadyIteration {
  double clocks = 0;   ///< clocks; 0 if the run does not settle
  int iterations = 0;  ///< length from which an iteration takes `clocks`
  int turn = 0;        ///< iterations after which it repeats itself; 0: it does not settle
  double end = 0;      ///< clocks of the whole run, if it does not settle
  double mean = 0;     ///< clocks of an iteration, if it does not settle
  int settled = 1;     ///< Period::settled
};

/// Finds the period. Without `explained` it lacks the critical cycle, and its contention counts from the busiest pipe
/// alone, which is enough for a search.
[[nodiscard]] Period period(const EventGraph& graph, bool explained = true);

/// Adds the parts of period(graph, true) that period(graph, false) lacks.
void explain(const EventGraph& graph, Period& period);

/// Returns a block's clocks. Short blocks are simulated; up to the settling length a few simulated lengths are
/// interpolated (Runs in period.cpp); longer blocks add the period. Not thread-safe for a shared period.
[[nodiscard]] BlockClocks block_clocks(const EventGraph& graph, const Period& period, double iterations,
                                       CutChunks cut = {});
/// Returns the clocks of a block without cut iterations beyond its iterations at the period. `first`: to fill and drain
/// the pipeline from a cold start; `next`: the part that the previous block's end does not hide.
[[nodiscard]] BlockClocks ends_of_blocks(const EventGraph& graph, const Period& period);
/// Returns block_clocks() for whole numbers of iterations and cut iterations if all runs that it needs are known; `cut`
/// is empty for a graph without cut work. From most_to_settle + cut.all()
/// iterations on, each adds Period::clocks.
[[nodiscard]] std::optional<BlockClocks> known_block_clocks(const Period& period, double iterations, CutIterations cut);
/// Returns a lower bound of a block's clocks, first or later, from the busiest pipe while it settles and the period
/// after. For blocks whose runs are not known.
[[nodiscard]] double block_clocks_at_least(const Period& period, double iterations, double cut);
inline constexpr int most_to_settle = 36;  ///< iterations, beside the cut ones, after which every period has settled
inline constexpr int few_iterations = 9;   ///< iterations, beside the cut ones: each length up to this has a run of its
                                           ///< own
/// Interpolates block_clocks() between the whole blocks around one of mean length.
[[nodiscard]] BlockClocks between_blocks(const MeanBlock& block, BlockClocks fewer, BlockClocks longer,
                                         BlockClocks more);

/// The periods of known graphs, found by the graphs' content: tiles and questions with equal graphs share a period. Not
/// thread-safe.
class Periods {
 public:
  /// A digest of a graph's content, 128 bits, in place of the content, which takes several kilobytes.
  struct Digest {
    std::uint64_t high = 0, low = 0;
    bool operator==(const Digest&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Digest& digest) const { return digest.low; }
  };
  Periods();
  ~Periods();
  Periods(const Periods&) = delete;
  Periods& operator=(const Periods&) = delete;

  [[nodiscard]] Digest digest_of(const EventGraph& graph) { return digest_of(graph, digest_but_tokens(graph)); }
  /// Returns the digest of a graph, given the digest that it has in common with those that differ in set_tokens()
  /// alone.
  [[nodiscard]] Digest digest_of(const EventGraph& graph, const Digest& but_tokens);
  [[nodiscard]] Digest digest_but_tokens(const EventGraph& graph) { return digest_of_content(graph, false); }
  /// Returns the graph's period, not explained unless explained() was called.
  [[nodiscard]] const Period& of(const EventGraph& graph);
  [[nodiscard]] const Period& explained(const EventGraph& graph);
  [[nodiscard]] std::size_t size() const { return known_.size(); }
  [[nodiscard]] std::size_t bytes() const;  ///< returns the memory that all of it takes, within a tenth
  /// Returns the steady iteration alone, at a third of a period's cost; graphs that differ only in edges between blocks
  /// share it.
  [[nodiscard]] const SteadyIteration& steady(const EventGraph& graph);

 private:
  struct Known {
    Period period;
    bool explained = false;
  };
  [[nodiscard]] Digest digest_of_content(const EventGraph& graph, bool one_block);
  [[nodiscard]] Known& find_or_make(const EventGraph& graph);

  std::vector<double> numbers_;
  std::unordered_map<Digest, Known, Hash> known_;
  std::unordered_map<Digest, SteadyIteration, Hash> steady_;
  std::shared_ptr<Simulation> simulation_;
};

}  // namespace napkin::internal
