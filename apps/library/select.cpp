#include <memory>
#include <utility>

#include "apps/library/answering.hpp"
#include "apps/library/cut.hpp"
#include "apps/library/evaluate.hpp"
#include "apps/library/select_kernel.hpp"
#include "apps/library/standing.hpp"
#include "apps/library/words.hpp"

namespace napkin {
namespace {

/// What the best tile moves and holds.
void add_best(const Request& request, const Ranking& ranking, SelectAnswer& answer) {
  const KeptPlacer placer = kept_placer_of(request, ranking.layout());
  const PlacedDiagram placed = placer->place(ranking.best().tile);
  answer.predicted = ranking.layout().ideal
                         ? bound_of(placed)
                         : std::optional(answer_of(prediction_of(request, ranking.layout(), ranking.best())));
  if (answer.predicted) answer.predicted->standing = standing_of(request, ranking.layout(), ranking.best().tile);
  const Hertz clock = answer.predicted ? Hertz(answer.predicted->clock) : clock_of(*request.machine);
  answer.levels = levels_of(request, ranking.layout(), placed, clock, Rereads::counted);
  answer.combine = combine_of(placed, clock);
  answer.occupancy = answer_of(plan(placed));
}

/// The ideal mapping's tiles have one bound, of the algorithm.
std::string about_bound(const Request& request, const SelectAnswer& answer) {
  const std::string what = "no kernel is known that runs " + request.diagram->name + " there";
  if (!answer.predicted) return what + ", and the profile lacks the rates of a bound";
  return what + "; whatever its mapping, it would take at least what " + answer.predicted->bound +
         " takes, at the fastest rates that the profile states";
}

/// What the L2 forgets of each is counted when its prediction is asked for: it takes as long as the ranking.
void add_alternatives(const Request& request, const Ranking& ranking, SelectAnswer& answer) {
  const std::vector<Ranked>& ranked = ranking.selection().ranked;
  if (ranked.size() < 2 || ranking.layout().ideal) return;
  const auto kept = std::make_shared<std::pair<Request, Layout>>(request, ranking.layout());
  kept->first.ask.progress = kept->first.ask.making = nullptr;
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const auto predict = [kept, one = ranked[i]] {
      return at_shape([&] { return answer_of(prediction_of(kept->first, kept->second, one)); });
    };
    answer.alternatives.push_back(
        {values_of(*ranking.layout().mapping, ranked[i].tile), Later<PredictedAnswer>(predict)});
  }
}

/// "Nothing fits" is no answer to sizes whose products do not fit 64 bits: those are refused, as by query.
void refuse_overflow(const Request& request, const Layout& layout) {
  Tile any;
  for (const Knob& knob : layout.mapping->knobs) any.values.push_back(knob.domain.front());
  const PlacedDiagram placed = placer_of(request, layout).place(any);
  (void)work(placed);
  (void)levels_of(placed, clock_of(*request.machine));
}

/// Nothing fits one launch: the launches that the algorithm is cut into.
void make_cut(const Request& request, SelectAnswer& answer) {
  answer.launches = cut_of(request);
  if (answer.launches.empty()) return;
  answer.because = "one launch does not hold it (" + answer.because + "); of all ways to cut it these " +
                   std::to_string(answer.launches.size()) + " launches move least through device memory";
  answer.levels = levels_of(answer.launches);
}

SelectAnswer answer_of(const Request& request, const Ranking& ranking) {
  SelectAnswer answer;
  answer.head = head_of(request, ranking.layout(), ranking.empty() ? nullptr : &ranking.best().tile);
  answer.found = !ranking.empty() && !ranking.layout().ideal;
  answer.candidates = ranking.selection().candidates.get();
  answer.notes = notes_of(ranking.layout());
  const Rejections counted = ranking.count_rejections();
  answer.legal = counted.legal.get();
  for (const auto& [constraint, tiles] : counted.rejected) answer.rejected.emplace_back(constraint, tiles.get());
  if (ranking.empty()) {
    refuse_overflow(request, ranking.layout());
    answer.because = ranking.nothing_fits();
    if (may_be_cut(request)) make_cut(request, answer);
    return answer;
  }
  add_best(request, ranking, answer);
  answer.because = ranking.layout().ideal ? about_bound(request, answer) : ranking.explain();
  add_alternatives(request, ranking, answer);
  return answer;
}

}  // namespace

SelectAnswer select_answer(const Request& request, int top) {
  return at_shape([&] { return answer_of(request, select_kernel(request, top)); });
}

}  // namespace napkin
