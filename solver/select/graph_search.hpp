#pragma once
// The search by the event graph's time: best first in steps, so that what costs much is found only for tiles that what
// costs little does not rule out.
//
// One queue holds groups of tiles under bounds of their times, the least on top. What comes off is taken a step further:
// sizes into ways to work, these into counts of buffers, these through the steps of model/clock/steps.hpp, until a tile
// comes off with its time: it is the next best one. A quick search takes what is expected of a tile for a bound, fewer
// buffers to be no faster than more, and of each size the first tile that comes off.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "model/clock/steps.hpp"
#include "solver/select/alternatives.hpp"
#include "solver/select/legality.hpp"
#include "solver/select/select.hpp"
#include "solver/select/steps.hpp"

namespace napkin {

class GraphSearch {
 public:
  /// The objective must have periods.
  GraphSearch(const Question& question, const Objective& objective);
  GraphSearch(const GraphSearch&) = delete;  // its parts refer to one another
  GraphSearch& operator=(const GraphSearch&) = delete;
  GraphSearch(GraphSearch&&) = delete;
  GraphSearch& operator=(GraphSearch&&) = delete;
  ~GraphSearch() = default;

  [[nodiscard]] Selection run(int top, Each each, bool quick = false);

 private:
  /// What a bound is of, and by what: in the order in which equal ones are taken further.
  enum class Step : std::uint8_t { sizes, work, most_tokens, tokens, cycle, iteration, block, tile };
  /// Tiles that agree in the knobs that the step has set; the others are at their first values.
  struct Entry {
    double bound = 0;
    std::int64_t rank = 0;
    Step step = Step::sizes;
    int graph = -1;  ///< index into graphs_
    friend bool operator<(const Entry& a, const Entry& b) {  // for a heap with the least on top
      if (a.bound != b.bound) return a.bound > b.bound;
      return a.step != b.step ? a.step > b.step : a.rank > b.rank;
    }
  };
  /// One way to work of given sizes: its graph, and the legal counts of buffers by their parts of the rank.
  struct Graph {
    EventGraph graph;
    std::vector<std::int64_t> tokens;
    std::int64_t most = 0;  ///< the most of each buffer, by its part of the rank
  };
  /// What the tiles of one variant share.
  struct Timed {
    std::shared_ptr<const void> variant;
    Timer time;
    std::optional<GraphSteps> steps;  ///< none: no event graph, and time() is the first clock's
  };

  /// What has come off, best first.
  struct Ranking {
    struct Found {
      double time;
      std::int64_t rank, sizes, ties;
    };
    Each each;
    std::size_t most;
    std::vector<Found> best;             ///< at most that many
    std::optional<std::int64_t> second;  ///< rank of the best tile whose time differs from the first's
    [[nodiscard]] bool full() const { return best.size() == most && second; }
    [[nodiscard]] bool has(std::int64_t sizes) const;
    void take(const Entry& tile, std::int64_t sizes);
  };

  void find_knobs();
  [[nodiscard]] Ranking search(Ranking ranking);
  void push(Entry entry);
  void push_sizes(std::size_t depth, std::int64_t rank);
  void expand(const Entry& entry);
  void expand_sizes(const Entry& entry);
  void expand_work(const Entry& entry);
  void expect_of_most_tokens(const Entry& entry);
  void expand_tokens(const Entry& entry);
  void raise(const Entry& entry);
  void expand_block(const Entry& entry);
  void time_all(const Entry& entry);
  template <class Take>
  void each_legal(const std::vector<napkin::Step>& steps, std::size_t depth, std::int64_t rank, const Take& take);

  [[nodiscard]] const PlacedDiagram& place(std::int64_t rank);
  [[nodiscard]] const Timed& timed(const PlacedDiagram& placed);
  [[nodiscard]] double pipe_bound();
  [[nodiscard]] bool may_be_legal(const napkin::Step& step);
  void set_rank(std::int64_t rank, KnobSet knobs);
  [[nodiscard]] std::int64_t part_of(std::int64_t rank, KnobSet knobs) const;
  [[nodiscard]] Ranked full(std::int64_t rank);

  Question question_;
  Objective objective_;
  Space space_;
  Rules rules_;
  Placer placer_;
  Roles roles_;
  KnobSet tokens_ = 0;  ///< that are nothing but tokens of edges and copies
  std::optional<Scratch> scratch_;
  std::optional<Legality> legality_;
  std::optional<Alternatives> alternatives_;
  std::vector<napkin::Step> size_steps_, work_steps_, token_steps_, last_steps_;
  std::list<Timed> timed_;
  std::vector<Entry> heap_;
  std::vector<Graph> graphs_;
  Point point_;
  bool quick_ = false;
};

}  // namespace napkin
