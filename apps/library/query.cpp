#include "apps/library/choose.hpp"
#include "apps/library/measure.hpp"
#include "apps/library/napkin.hpp"
#include "apps/library/optimum.hpp"

namespace napkin {
namespace {

WorkAnswer work_answer(const PlacedDiagram& placed) {
  const Work done = work(placed);
  return {done.flops.value.get(), done.executed_flops.value.get(), done.exponentials.get()};
}

QueryAnswer answer_of(const Subject& subject, const Layout& layout, const Tile& tile) {
  const Placer placer(layout.streamed, layout.mapping, subject.machine, subject.problem);
  const Placement placement = place(placer, tile);
  QueryAnswer answer;
  answer.head = head_of(subject, layout, &tile);
  answer.legal = placement.violations.empty();
  answer.violations = answer_of(placement.violations);
  answer.work = work_answer(placement.placed);
  Hertz clock = clock_of(subject.machine);
  if (!subject.abstract()) {
    const Prediction prediction = predict(placement.placed, placement.plan);
    clock = prediction.clock;
    answer.predicted = answer_of(prediction);
  }
  answer.levels = levels_of(subject, placement.placed, clock);
  add_optimum(subject, layout, placement.placed, answer);
  return answer;
}

}  // namespace

QueryAnswer query(const Ask& ask) {
  const Subject subject = load_subject(ask);
  return at_shape([&] {
    const Layouts layouts = layouts_of(subject);
    if (subject.abstract()) {
      const Layout& layout = *layouts.front();
      return answer_of(subject, layout, abstract_tile(subject, layout));
    }
    const Choice choice = choose(subject, layouts, 1);
    const Tile tile = choice.selection.ranked.empty() ? least_illegal(subject, *choice.layout) : choice.selection.ranked.front().tile;
    return answer_of(subject, *choice.layout, tile);
  });
}

}  // namespace napkin
