#include "apps/library/check.hpp"
#include "apps/library/choose.hpp"
#include "apps/library/compiled.hpp"
#include "apps/library/measure.hpp"
#include "apps/library/napkin.hpp"
#include "apps/library/optimum.hpp"

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
  answer.combine = combine_of(placement.placed, subject.abstract() ? Hertz(0) : clock);
  if (subject.abstract()) judge_abstract(answer);
  add_optimum(subject, layout, placement.placed, answer);
  if (subject.ask.check) answer.check = check_of(subject, layout, placement.placed);
  if (subject.ask.compile) answer.compiled = compiled_of(placement);
  return answer;
}

}  // namespace

QueryAnswer query(const Ask& ask) {
  if (ask.check && !ask.lengths.empty())
    throw Error("--check", "stands beside --lengths",
                "leave one of the two out: what is run and counted is sequences of one length");
  const Subject subject = load_subject(ask);
  return at_shape([&] {
    const Layouts layouts = layouts_of(subject);
    if (ask.compile) check_compilable(subject, layouts);
    const Chosen chosen = choose_tile(subject, layouts);
    return answer_of(subject, *chosen.layout, chosen.tile);
  });
}

}  // namespace napkin
