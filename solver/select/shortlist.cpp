// The pick by the event graph: the first clock searches the space, the graph ranks what it finds.
#include <algorithm>

#include "model/resource/plan.hpp"
#include "solver/select/alternatives.hpp"
#include "solver/select/select.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {
namespace {

constexpr int least_sizes = 8;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Times and legality of single tiles, by the event graph.
class Judge {
 public:
  explicit Judge(const Question& question)
      : space_(space_of(question)),
        rules_(*question.streamed, *question.mapping, *question.machine, question.problem),
        placer_(*question.streamed, *question.mapping, *question.machine, question.problem),
        make_(timers()),
        sizes_(roles_of(question, Objective{}, space_).sizes) {}

  [[nodiscard]] PlacedDiagram place(const Tile& tile) const { return placer_.place(tile); }
  [[nodiscard]] double time(const Tile& tile) {
    const PlacedDiagram placed = placer_.place(tile);
    return make_(placed)(placed, occupancy(placed).blocks).value;
  }
  [[nodiscard]] Prediction predict(const Tile& tile) const {
    const PlacedDiagram placed = placer_.place(tile);
    return napkin::predict(placed, plan(placed));
  }
  /// Turns one knob after the other that sizes nothing to the legal value of least time; the first of equal ones stays.
  void improve(Tile& tile, double& best) {
    for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
      if ((sizes_ & knob_bit(k)) != 0) continue;
      for (const std::int64_t value : space_.domains[at(k)]) {
        Tile other = tile;
        other.values[at(k)] = value;
        if (value == tile.values[at(k)] || !legal(other)) continue;
        const double found = time(other);
        if (!(found < best)) continue;
        best = found;
        tile = other;
      }
    }
  }

 private:
  [[nodiscard]] bool legal(const Tile& tile) const {
    if (std::any_of(rules_.tile.begin(), rules_.tile.end(), [&](const TileRule& r) { return r.check(tile).has_value(); }))
      return false;
    const PlacedDiagram placed = placer_.place(tile);
    return violations(rules_, placed, plan(placed)).empty();
  }

  Space space_;
  Rules rules_;
  Placer placer_;
  std::function<Timer(const PlacedDiagram&)> make_;
  KnobSet sizes_;
};

}  // namespace

Selection shortlist(const Question& question, int top) {
  Selection out = select(question, std::max(top, least_sizes), Objective{}, Each::size);
  if (out.ranked.empty()) return out;
  Judge judge(question);
  if (!has_event_graph(judge.place(out.ranked.front().tile))) {
    out.ranked.resize(std::min(out.ranked.size(), static_cast<std::size_t>(std::max(top, 1))));
    return out;
  }
  struct Timed {
    double time;
    Tile tile;
  };
  std::vector<Timed> timed;
  for (const Ranked& one : out.ranked) timed.push_back({judge.time(one.tile), one.tile});
  const auto faster = [](const Timed& a, const Timed& b) { return a.time < b.time; };
  std::stable_sort(timed.begin(), timed.end(), faster);
  judge.improve(timed.front().tile, timed.front().time);
  out.ranked.clear();
  out.runner_up.reset();
  for (const Timed& one : timed) {
    const bool wanted = out.ranked.size() < static_cast<std::size_t>(std::max(top, 1));
    const bool next = !out.runner_up && one.time > timed.front().time;
    if (!wanted && !next) continue;
    Ranked ranked{one.tile, judge.predict(one.tile), 0};
    if (next) out.runner_up = ranked;
    if (wanted) out.ranked.push_back(std::move(ranked));
  }
  return out;
}

}  // namespace napkin
