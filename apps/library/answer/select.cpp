#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer/answering.hpp"
#include "apps/library/answer/own_parts.hpp"
#include "apps/library/answer/standing.hpp"
#include "apps/library/question/words.hpp"
#include "apps/library/rank/cut.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {
namespace {

/// Adds the bytes that the best tile moves and holds.
void add_best(const Question& question, const Ranking& ranking, AnswerParts parts, SelectAnswer& answer) {
  const auto kept = kept_placer(ranking.setup(), ranking.setup().problem);
  const PlacedDiagram placed = kept->placer->place(ranking.best().tile);
  answer.predicted = ranking.setup().ideal ? bound_of(placed) : std::optional(answer_of(ranking.best().prediction));
  if (answer.predicted) answer.predicted->standing = standing_of(question, ranking.setup(), ranking.best().tile, parts);
  const Hertz clock = answer.predicted ? Hertz(answer.predicted->clock) : clock_of(*question.machine);
  answer.work = work_answer(placed);
  answer.levels = levels_of(placed, clock, parts.rereads ? Rereads::counted : Rereads::none);
  answer.combine = combine_of(placed, clock);
  answer.own_parts = own_parts_of(ranking.setup(), placed);
  if (answer.own_parts) answer.notes.push_back(answer.own_parts->text());
  for (std::string& note : launch_notes(placed)) answer.notes.push_back(std::move(note));
  answer.occupancy = answer_of(plan(placed));
}

/// Words the answer for the ideal mapping, whose tiles share a single bound.
std::string about_bound(const Question& question, const SelectAnswer& answer) {
  const bool asked_for = !question.ask.kernel.empty();  // the ideal mapping by its name, not for want of a kernel
  const std::string what = asked_for ? "the ideal mapping is no kernel"
                                     : "no kernel is known that runs " + question.diagram->name + " there";
  if (!answer.predicted) return what + ", and the profile lacks the rates of a bound";
  return what + "; whatever its mapping, it would take at least what " + answer.predicted->bound +
         " takes, at the fastest rates that the profile states";
}

/// Adds the runners-up.
void add_alternatives(const Ranking& ranking, SelectAnswer& answer) {
  const std::vector<Ranked>& ranked = ranking.selection().ranked;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    answer.alternatives.push_back(
        {values_of(*ranking.setup().mapping, ranked[i].tile), answer_of(ranked[i].prediction)});
}

void add_counts(const Rejections& counted, SelectAnswer& answer) {
  answer.legal = counted.legal.get();
  for (const auto& [constraint, tiles] : counted.rejected) answer.rejected.emplace_back(constraint, tiles.get());
}

/// Adds tiles rejected by each rule, and why the best one is best.
void add_reasons(Ranking& ranking, SelectAnswer& answer) {
  add_counts(ranking.count_rejections(), answer);
  Explanation why = ranking.explain();
  answer.because = std::move(why.sentence);
  answer.reasons = std::move(why.reasons);
}

/// Returns the work of any tile. Refuses sizes whose products exceed 64 bits, as query does, in place of answering
/// "nothing fits".
WorkAnswer work_of_any(const Question& question, const Setup& setup) {
  Tile any;
  for (const Knob& knob : setup.mapping->knobs) any.values.push_back(knob.domain.front());
  const PlacedDiagram placed = placer_of(setup).place(any);
  (void)levels_of(placed, clock_of(*question.machine));
  return work_answer(placed);
}

/// Fills the answer with the launches that the algorithm is cut into, as no tile fits a single launch.
void make_cut(const Question& question, SelectAnswer& answer) {
  answer.launches = cut_of(question);
  if (answer.launches.empty()) return;
  answer.because = "one launch does not hold it (" + answer.because + "); of all ways to cut it these " +
                   std::to_string(answer.launches.size()) + " launches move least through device memory";
  answer.levels = levels_of(answer.launches);
}

/// Adds the reason why nothing fits.
void add_refusal(const Question& question, const Ranking& ranking, SelectAnswer& answer) {
  const Rejections counted = ranking.count_rejections();
  answer.work = work_of_any(question, ranking.setup());
  add_counts(counted, answer);
  answer.because = ranking.nothing_fits();
  if (may_be_cut(question)) make_cut(question, answer);
}

SelectAnswer answer_of(const Question& question, Ranking& ranking, AnswerParts parts) {
  SelectAnswer answer;
  answer.head = head_of(question, ranking.setup(), ranking.empty() ? nullptr : &ranking.best().tile);
  answer.found = !ranking.empty() && !ranking.setup().ideal;
  answer.candidates = ranking.selection().candidates.get();
  answer.notes = notes_of(ranking.setup());
  answer.notes.insert(answer.notes.end(), ranking.left_out.begin(), ranking.left_out.end());
  if (ranking.empty()) {
    add_refusal(question, ranking, answer);
    return answer;
  }
  add_best(question, ranking, parts, answer);
  if (ranking.setup().ideal) {
    answer.because = about_bound(question, answer);
    add_counts(ranking.count_rejections(), answer);
    return answer;
  }
  if (parts.reasons) add_reasons(ranking, answer);
  add_alternatives(ranking, answer);
  return answer;
}

}  // namespace

SelectAnswer select_answer(const Question& question, int top, AnswerParts parts) {
  return at_shape([&] {
    Ranking ranking = select_kernel(question, top);
    return answer_of(question, ranking, parts);
  });
}

}  // namespace napkin::internal
