#pragma once
// The search of select(), kept between questions: what depends on the diagram, the mapping, the machine, the element
// type and the kind of mask alone is found once.

#include <limits>
#include <list>
#include <optional>
#include <vector>

#include "solver/select/alternatives.hpp"
#include "solver/select/legality.hpp"
#include "solver/select/select.hpp"
#include "solver/select/steps.hpp"

namespace napkin {

class Search {
 public:
  Search(const Question& question, Objective objective);
  Search(const Search&) = delete;  // its parts refer to one another
  Search& operator=(const Search&) = delete;
  Search(Search&&) = delete;
  Search& operator=(Search&&) = delete;
  ~Search() = default;

  /// Whether turn_to() takes that question.
  [[nodiscard]] bool serves(const Question& question) const;
  void turn_to(const Question& question);
  /// The answer to the question at hand.
  [[nodiscard]] Selection run(int top, Each each = Each::tile);

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// A tile found: the order of the ranking.
  struct Found {
    double time = infinity;
    std::int64_t rank = std::numeric_limits<std::int64_t>::max();
    friend bool operator<(const Found& a, const Found& b) {
      return a.time != b.time ? a.time < b.time : a.rank < b.rank;
    }
  };
  /// All tiles of given sizes, with a bound of their times.
  struct Prefix {
    double bound = 0;
    std::int64_t rank = 0;
    friend bool operator<(const Prefix& a, const Prefix& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.rank > b.rank;  // for a heap with the least on top
    }
  };

  /// A class of alternatives, with its time or one that it cannot be faster than.
  struct Waiting {
    double time = 0;
    bool known = false;
    int depth = 0;
    std::size_t which = 0;
    friend bool operator<(const Waiting& a, const Waiting& b) {  // for a heap with the least on top
      if (a.time != b.time) return a.time > b.time;
      if (a.known != b.known) return a.known;
      return !a.known && a.depth != b.depth ? a.depth > b.depth : a.which > b.which;
    }
  };

  void prepare();
  void find_steps();
  void bound_prefixes(std::size_t depth, std::int64_t rank, Count by_agents);
  [[nodiscard]] double bound_of(Point& point, Count most);
  [[nodiscard]] Count most_by_agents(const Point& point);
  [[nodiscard]] Count most_blocks(const Point& point, Count by_agents);
  void expand(const Prefix& prefix);
  [[nodiscard]] double class_time(Count most);
  template <class Wanted, class Visit>
  void each_class(const Prefix& prefix, const Wanted& wanted_from, const Visit& visit_class);
  void visit(std::size_t depth, std::int64_t rank);
  [[nodiscard]] bool in_class(KnobId knob) const;
  [[nodiscard]] bool may_be_legal(const Step& step);
  struct Timed {
    std::shared_ptr<const void> variant;
    Timer time, bound;  ///< without a bound the time is one
    [[nodiscard]] bool exact() const { return !bound; }
    [[nodiscard]] Seconds least(const PlacedDiagram& placed, Count most) const {
      return bound ? bound(placed, most) : time(placed, most);
    }
  };
  [[nodiscard]] const Timed& timed(const PlacedDiagram& placed);
  [[nodiscard]] double time_of(Point& point);
  [[nodiscard]] bool wanted(const Found& least) const;
  [[nodiscard]] bool wanted_from(const Found& least) const;
  void take(const Found& found);
  void set_rank(Point& point, std::int64_t rank, KnobSet knobs) const;
  [[nodiscard]] std::vector<Ranked> ranked();
  [[nodiscard]] Ranked full(std::int64_t rank);
  [[nodiscard]] Count ties_of(const Found& found);
  [[nodiscard]] std::int64_t ties_below(std::size_t depth, double time);
  [[nodiscard]] bool same_sizes(const Point& a, const Point& b) const;

  Question question_;
  Objective objective_;
  Space space_;
  Rules rules_;
  Placer placer_;
  // What depends on the values that the knobs may have:
  Roles roles_;
  std::optional<Scratch> scratch_;
  std::optional<Legality> legality_;
  std::optional<Alternatives> alternatives_;
  std::list<Timed> timed_;  ///< of the question's variants met so far

  std::size_t top_ = 1;
  Each each_ = Each::tile;
  std::vector<Prefix> heap_;
  std::vector<Found> best_;  // sorted, at most top_
  Found second_;             // the best whose time is not that of best_[0]

  std::vector<Step> sizes_, rest_;   // the knobs that size, then those below them
  std::size_t agents_known_ = 0;     // the step of sizes_ from which on the agents are known
  bool registers_by_sizes_ = false;  // what the kernel sets of them

  // Of the prefix being expanded:
  Point point_;
  std::size_t class_ = 0;
  bool one_time_ = false;  // the class has one time, whatever fits beside it
  double class_time_ = 0;  // that time, or a bound of its times
  std::vector<Waiting> waiting_;
  std::vector<double> times_;  // of the classes, or what they are at least
  Found own_;                  // Each::size: its best tile
};

}  // namespace napkin
