#pragma once
// The search by the event graph's time: best first in steps, so that what costs much is found only for tiles that what
// costs little does not rule out.
//
// One queue holds groups of tiles under bounds of their times, the least on top. What comes off is taken a step
// further: sizes into ways to work, these into counts of buffers, these through the steps of model/clock/steps.hpp,
// until a tile comes off with its time: it is the next best one. A quick search takes what is expected of a tile for a
// bound: what the same way to work lost at other sizes, then the steady iteration; fewer buffers to be no faster than
// more. It looks a little beyond the best tile of each size and of all.
//
// What is found of graphs stays: the next question of the kind (other lengths of the axes that blocks and chunks
// divide) bounds by periods that are known: tiles of one size, then of one way to work, by the least of all their
// blocks (model/clock/block_floor), and within these the next tile by its clocks, so that most tiles are never looked
// at.

#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "model/clock/block_floor.hpp"
#include "model/clock/steps.hpp"
#include "model/clock/waves.hpp"
#include "model/resource/order.hpp"
#include "solver/select/alternatives.hpp"
#include "solver/select/legality.hpp"
#include "solver/select/select.hpp"
#include "solver/select/steps.hpp"

namespace napkin {

/// Whether the event graph predicts every tile of the question.
[[nodiscard]] bool all_by_graph(const Question& question);

class GraphSearch {
 public:
  /// The objective must have periods, and all_by_graph(question).
  GraphSearch(const Question& question, const Objective& objective);
  GraphSearch(const GraphSearch&) = delete;  // its parts refer to one another
  GraphSearch& operator=(const GraphSearch&) = delete;
  GraphSearch(GraphSearch&&) = delete;
  GraphSearch& operator=(GraphSearch&&) = delete;
  ~GraphSearch() = default;

  /// Whether that question is of the kind at hand: the same but for lengths that divided axes exceed their tiles by,
  /// and for further sizes that it fixes.
  [[nodiscard]] bool serves(const Question& question) const;
  void turn_to(const Question& question);
  /// A quick one may leave the runner-up out.
  [[nodiscard]] Selection run(int top, Each each, bool quick = false, bool runner_up = true);

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// Tiles that differ in nothing that the graph says.
  struct Tokens {
    std::int64_t rank = 0;
    Count blocks;      ///< that a node holds
    GraphState state;  ///< at first that of the most of each buffer
    bool own = false;  ///< no longer
    std::unique_ptr<Period> explained;
  };
  /// Of tiles of which a node holds so many blocks.
  struct Floor {
    Count blocks;
    BlockFloor block = {};
  };
  /// One way to work of given sizes, and the legal counts of buffers.
  struct Work {
    std::int64_t rank = 0;
    IterationWork work;
    std::optional<EventGraph> graph;  ///< turned to any tokens
    std::vector<Tokens> tokens;
    std::size_t alike = 0;  ///< index into alikes_
    Count cluster = 1;
    BlockEnds ends = {};  ///< these and what follows: with the graph
    BlockOrder blocks_in = BlockOrder::grid;
    BlockEnergy energy = {};
    bool cuts = false;
    std::list<Floor> floors;         ///< of the tokens
    Tokens most;                     ///< the most of each buffer, and the blocks with the least: in bounds of all
    std::vector<std::size_t> order;  ///< of the tokens, by clocks, for the question at hand
    std::vector<double> clocks;      ///< of the tokens, likewise
  };
  /// Ways to work that differ in sizes alone lose about the same to waits and to the ends of blocks.
  struct Alike {
    std::int64_t way = 0;  ///< part of the rank
    Count instances;       ///< of agents
    double waits = 0;      ///< factor, the least met; 0: none met
    double ends = 0;       ///< the same, at the question at hand
  };
  /// A launch of blocks that take those clocks; of packed sequences that of one tile.
  struct Launched {
    std::int64_t rank;  ///< -1: of all
    BlockOrder order;
    BlockEnds ends;
    BlockClocks block;
    double iteration;
    LaunchClocks clocks;
  };
  /// The time of tiles of one way to work whose blocks take those clocks, so many of them on a node.
  struct Taken {
    const Work* work;
    Count blocks;
    BlockClocks block;
    double iteration, time;
  };
  /// What tiles of given sizes and cluster share at the question at hand.
  struct Shape {
    Count cluster;
    LaunchShape launch;
    BlocksInOrder in_order = {};
    std::list<Launched> launched = {};  ///< found already
    std::vector<Taken> taken = {};
  };
  /// Ways to work whose launches are alike but for a block's clocks and energy, with the least of these.
  struct Group {
    const Work* like;
    BlockEnergy energy;
    Floor floor;
  };
  struct Sizes {
    std::int64_t rank = 0;
    IterationWork least;      ///< that no way to work goes below
    double cells = 1;         ///< of an iteration
    std::uint64_t found = 1;  ///< grows with what is found of the works' graphs
    std::unique_ptr<std::vector<Work>>
        works;  ///< ways to work, once they were asked for: those of every question of the kind
    std::vector<std::size_t> order;
    std::vector<double> clocks;               ///< of the works: at least, of the launch
    std::vector<Shape> shapes;                ///< by cluster
    std::list<Group> groups = {};             ///< of the works with graphs; empty: to be found
    std::uint64_t question = 0;               ///< the latest that these two and what follows are of
    double total = 0, busiest = 0, mean = 1;  ///< iterations: in all, of the busiest node, of a block
  };
  /// What a bound is of, and by what: in the order in which equal ones are taken further. `works` and `tokens`: of all
  /// from that place in the order on.
  enum class Step : std::uint8_t { sizes, works, work, tokens, cycle, block, tile };
  struct Entry {
    double bound = 0;
    std::int64_t rank = 0;
    Step step = Step::sizes;
    int sizes = 0, work = 0, tokens = 0;                     ///< indices, or places in the order
    friend bool operator<(const Entry& a, const Entry& b) {  // for a heap with the least on top
      if (a.bound != b.bound) return a.bound > b.bound;
      return a.step != b.step ? a.step > b.step : a.rank > b.rank;
    }
  };
  /// What the tiles of one variant share.
  struct Timed {
    std::shared_ptr<const void> variant;
    GraphSteps steps;
    std::optional<KnownTimer> time;  ///< of the question at hand, once asked for
  };

  /// What has come off, best first.
  struct Ranking {
    struct Found {
      Entry tile;
      std::int64_t sizes, ties;
    };
    Each each;
    std::size_t most;
    std::vector<Found> best;      ///< at most that many
    std::optional<Entry> second;  ///< the best tile whose time differs from the first's
    bool runner_up = true;        ///< whether that is wanted
    [[nodiscard]] bool full() const { return best.size() == most && (second || !runner_up); }
    [[nodiscard]] bool has(std::int64_t sizes, double bound) const;  ///< a tile of those sizes below that
    void take(const Entry& tile, std::int64_t sizes);
  };

  void find_knobs();
  void find_sizes();
  [[nodiscard]] Ranking search(Ranking ranking);
  void push(Entry entry);
  void expand(const Entry& entry);
  void turn_sizes(Sizes& sizes);
  void expand_sizes(const Entry& entry);
  void expand_works(const Entry& entry);
  void expand_work(const Entry& entry);
  void expand_tokens(const Entry& entry);
  void raise(const Entry& entry);
  void time(const Entry& entry);
  [[nodiscard]] const KnownTimer& known_timer_of(const PlacedDiagram& placed);
  [[nodiscard]] KnownGraph known_of(const Entry& tile, const PlacedDiagram& placed);
  [[nodiscard]] const LaunchClocks& launched(Shape& shape, const Entry& tile, const PlacedDiagram& placed);
  [[nodiscard]] const LaunchClocks& launched(Shape& shape, Launched own, std::int64_t tile);
  [[nodiscard]] double time_of(const Entry& entry);
  [[nodiscard]] double time_alone(const Entry& entry);
  void time_latest(std::size_t most);
  void find_works(const Sizes& sizes, std::vector<Work>& works);
  void find_tokens(Work& work);
  [[nodiscard]] std::size_t alike_of(const Work& work, const PlacedDiagram& placed);
  template <class Take>
  void each_legal(const std::vector<napkin::Step>& steps, std::size_t depth, std::int64_t rank, const Take& take);

  [[nodiscard]] const PlacedDiagram& place(std::int64_t rank);
  [[nodiscard]] Timed& timed(const PlacedDiagram& placed);
  [[nodiscard]] IterationWork work_here();
  [[nodiscard]] double by_work(const Sizes& sizes, double clocks, double energy) const;
  [[nodiscard]] static double clocks_of(const GraphState& state, Count blocks);
  [[nodiscard]] double clocks_of(const Sizes& sizes, const Work& work) const;
  [[nodiscard]] Shape& shape_of(Sizes& sizes, const Work& work);
  [[nodiscard]] double launch_clocks_of(const Shape& shape, const Work& work, Tokens& tokens) const;
  [[nodiscard]] double launch_clocks_of(const Shape& shape, const Work& work, std::uint64_t found, Floor& floor) const;
  [[nodiscard]] double least_launch_clocks(Sizes& sizes, Work& work);
  [[nodiscard]] double bound_of_sizes(Sizes& sizes);
  [[nodiscard]] bool good_enough(double clocks, double energy) const;
  void find_groups(Sizes& sizes);
  [[nodiscard]] double by_clocks(const Shape& shape, const Work& work, double clocks) const;
  [[nodiscard]] double bound_of_blocks(Shape& shape, const Work& work, const Tokens& tokens,
                                       const PlacedDiagram& placed);
  [[nodiscard]] double in_order(Shape& shape, const Work& work, const Tokens& tokens, const BlockClocks& block,
                                Count blocks);
  [[nodiscard]] double by_lengths(Shape& shape, const Work& work, const Tokens& tokens, const BlockClocks& block);
  [[nodiscard]] bool push_known(Entry entry);
  [[nodiscard]] Work& work_of(const Entry& entry) {
    return (*sizes_[static_cast<std::size_t>(entry.sizes)].works)[static_cast<std::size_t>(entry.work)];
  }
  [[nodiscard]] double bound_of(Sizes& sizes, Work& work, Tokens& tokens);
  [[nodiscard]] double bound_of_works(const Sizes& sizes, std::size_t index) const;
  void make_own(Work& work, Tokens& tokens);
  [[nodiscard]] double ends_of(const Work& work) const;
  [[nodiscard]] bool is_asked_for(const Sizes& sizes) const;
  [[nodiscard]] bool may_be_legal(const napkin::Step& step);
  [[nodiscard]] bool lengths_hold(KnobSet known) const;
  void set_rank(std::int64_t rank, KnobSet knobs);
  [[nodiscard]] std::int64_t part_of(std::int64_t rank, KnobSet knobs) const;
  [[nodiscard]] Ranked full(const Entry& tile);

  Question question_;
  std::shared_ptr<Periods> periods_;
  Space space_;
  Rules rules_;      // of the kind: without those that read lengths
  Rules all_rules_;  // of the question
  Placer placer_;
  Roles roles_;
  KnobSet work_ = 0;    // how tiles of given sizes work, but for
  KnobSet tokens_ = 0;  // that are nothing but tokens of edges and copies
  std::optional<Scratch> scratch_;
  std::optional<Legality> legality_;
  std::optional<Alternatives> alternatives_;
  std::vector<napkin::Step> size_steps_, work_steps_, token_steps_, last_steps_;
  std::list<Timed> timed_;
  std::vector<Sizes> sizes_;
  std::vector<Alike> alikes_;
  std::vector<Entry> heap_;
  Point point_;
  double device_bytes_ = 0, nodes_ = 1;
  std::uint64_t questions_ = 0;
  bool quick_ = false;
  std::vector<Entry> latest_;  // the best tiles of the question before, with their times of the question at hand
  double enough_ = 0;          // a time that the tiles asked for do not exceed
};

/// Calls take(rank) for all values of the steps' knobs, from the point on, that break none of their rules.
template <class Take>
void GraphSearch::each_legal(const std::vector<napkin::Step>& steps, std::size_t depth, std::int64_t rank,
                             const Take& take) {
  if (depth == steps.size()) return take(rank);
  const napkin::Step& step = steps[depth];
  for (std::size_t i = 0; i < space_.domains[static_cast<std::size_t>(step.knob)].size(); ++i) {
    legality_->set(point_, step.knob, i);
    if (may_be_legal(step))
      each_legal(steps, depth + 1,
                 rank + static_cast<std::int64_t>(i) * space_.strides[static_cast<std::size_t>(step.knob)], take);
  }
  legality_->set(point_, step.knob, 0);
}

/// The searches of the latest kinds of questions.
class GraphSearches {
 public:
  /// The search of the question's kind, turned to it; nullptr where the question does not fulfil all_by_graph().
  [[nodiscard]] GraphSearch* search_for(const Question& question, const Objective& objective);

 private:
  std::list<std::unique_ptr<GraphSearch>> searches_;  // latest first
};

}  // namespace napkin
