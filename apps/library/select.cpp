#include "apps/library/answering.hpp"
#include "apps/library/evaluate.hpp"
#include "apps/library/select_kernel.hpp"

namespace napkin {
namespace {

/// What the best tile moves and holds.
void add_best(const Request& request, const Ranking& ranking, SelectAnswer& answer) {
  const Prediction& prediction = ranking.best().prediction;
  const Placer placer = placer_of(request, ranking.layout());
  const PlacedDiagram placed = placer.place(ranking.best().tile);
  answer.predicted = answer_of(prediction);
  answer.levels = levels_of(placed, prediction.clock);
  answer.combine = combine_of(placed, prediction.clock);
  answer.occupancy = answer_of(plan(placed));
}

SelectAnswer answer_of(const Request& request, const Ranking& ranking) {
  const Selection& selection = ranking.selection();
  SelectAnswer answer;
  answer.head = head_of(request, ranking.layout(), ranking.empty() ? nullptr : &ranking.best().tile);
  answer.found = !ranking.empty() && !ranking.layout().ideal;
  answer.candidates = selection.candidates.get();
  const Tally counted = ranking.count_rejections();
  answer.legal = counted.legal.get();
  for (const auto& [constraint, tiles] : counted.rejected) answer.rejected.emplace_back(constraint, tiles.get());
  if (ranking.empty()) {
    answer.because = ranking.nothing_fits();
    return answer;
  }
  answer.because = ranking.explain();
  add_best(request, ranking, answer);
  for (std::size_t i = 1; i < selection.ranked.size(); ++i) {
    const Ranked& other = selection.ranked[i];
    answer.alternatives.push_back({values_of(*ranking.layout().mapping, other.tile), answer_of(other.prediction)});
  }
  return answer;
}

}  // namespace

SelectAnswer select_answer(const Request& request, int top) {
  return at_shape([&] { return answer_of(request, select_kernel(request, top)); });
}

}  // namespace napkin
