// The pick by the event graph in milliseconds.
#include <algorithm>

#include "model/diagram/packing.hpp"
#include "solver/select/graph_search.hpp"

namespace napkin {

Selection shortlist(const Question& question, int top) { return shortlist(question, top, graph_objective()); }

namespace {

constexpr std::size_t most_lengths = 12;  // of a packed batch, that a search places every tile for
constexpr double few_iterations = 12;  // of a block: its ends, which a quick search expects from others', then decide

double iterations_of(const Question& question, const Tile& tile) {
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  return launch_shape(placer.place(tile)).mean;
}

/// Predicts what a search over coarser lengths has found for the question's own.
void predict_anew(const Question& question, const Objective& objective, Selection& selection) {
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  std::vector<Ranked>& ranked = selection.ranked;
  const auto is_second = [&](const Ranked& one) {
    return selection.runner_up && one.tile == selection.runner_up->tile;
  };
  if (selection.runner_up && std::none_of(ranked.begin(), ranked.end(), is_second))
    ranked.push_back(*selection.runner_up);
  for (Ranked& one : ranked) {
    const PlacedDiagram placed = placer.place(one.tile);
    one.prediction = predict(placed, plan(placed), objective.periods);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.prediction.time < b.prediction.time; });
  const auto behind = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& one) {
    return one.prediction.time > ranked.front().prediction.time;
  });
  selection.runner_up = behind != ranked.end() ? std::optional(*behind) : std::nullopt;
}

}  // namespace

Selection shortlist(const Question& question, int top, const Objective& objective, int breadth) {
  const auto& sequences = question.problem.packing.sequences;
  if (objective.periods != nullptr && alike(sequences).size() > most_lengths) {
    Question coarse = question;
    coarse.problem.packing.sequences = coarsened(sequences, most_lengths);
    Selection out = shortlist(coarse, std::max(top, breadth), objective, breadth);
    predict_anew(question, objective, out);
    if (out.ranked.size() > static_cast<std::size_t>(std::max(top, 0)))
      out.ranked.resize(static_cast<std::size_t>(std::max(top, 0)));
    return out;
  }
  GraphSearch* search = objective.searches->search_for(question, objective);
  if (search == nullptr) return select(question, top, Objective{}, Each::size);
  const int wanted = std::max(top, breadth);
  Selection out = search->run(wanted, Each::size, true, wanted > 1);
  if (!out.ranked.empty() && iterations_of(question, out.ranked.front().tile) < few_iterations)
    out = search->run(wanted, Each::size, false, wanted > 1);
  const auto asked = static_cast<std::size_t>(std::max(top, 0));
  if (out.ranked.size() > asked) out.ranked.resize(asked);
  return out;
}

}  // namespace napkin
