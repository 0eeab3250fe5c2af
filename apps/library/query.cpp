#include "apps/library/answering.hpp"
#include "apps/library/check.hpp"
#include "apps/library/compiled.hpp"
#include "apps/library/evaluate.hpp"
#include "apps/library/optimum.hpp"
#include "apps/library/select_tile.hpp"

namespace napkin {
namespace {

WorkAnswer work_answer(const PlacedDiagram& placed) {
  const Work done = work(placed);
  return {done.flops.value.get(), done.executed_flops.value.get(), done.exponentials.get()};
}

/// The abstract machine holds what the paper's rule counts, and that is all that limits it.
void judge_abstract(QueryAnswer& answer) {
  answer.violations.clear();
  for (const LevelAnswer& level : answer.levels) {
    if (!level.memory_limit || level.memory_lower_bound <= *level.memory_limit) continue;
    answer.violations.push_back(
        {"memory", static_cast<double>(level.memory_lower_bound), static_cast<double>(*level.memory_limit)});
  }
  answer.legal = answer.violations.empty();
}

QueryAnswer answer_of(const Request& request, const Layout& layout, const Tile& tile) {
  const Placer placer = placer_of(request, layout);
  const Placement placement = place(placer, tile);
  QueryAnswer answer;
  answer.head = head_of(request, layout, &tile);
  answer.legal = placement.violations.empty();
  answer.violations = answer_of(placement.violations);
  answer.work = work_answer(placement.placed);
  Hertz clock = clock_of(*request.machine);
  if (!request.abstract()) {
    const Prediction prediction = predict(placement.placed, placement.plan);
    clock = prediction.clock;
    answer.predicted = answer_of(prediction);
  }
  answer.levels = levels_of(placement.placed, clock);
  answer.combine = combine_of(placement.placed, request.abstract() ? Hertz(0) : clock);
  if (request.abstract()) judge_abstract(answer);
  add_optimum(request, layout, placement.placed, answer);
  if (request.ask.check) answer.check = check_of(request, layout, placement.placed);
  if (request.ask.compile) answer.compiled = compiled_of(placement);
  return answer;
}

}  // namespace

QueryAnswer query_answer(const Request& request) {
  return at_shape([&] {
    const SelectedTile selected = select_tile(request);
    return answer_of(request, *selected.layout, selected.tile);
  });
}

}  // namespace napkin
