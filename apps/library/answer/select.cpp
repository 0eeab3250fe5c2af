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

namespace napkin {
namespace {

/// Adds the bytes that the best tile moves and holds.
void add_best(const Question& question, const Ranking& ranking, SelectAnswer& answer) {
  const KeptPlacer placer = kept_placer_of(ranking.setup());
  const PlacedDiagram placed = placer->place(ranking.best().tile);
  answer.predicted = ranking.setup().ideal ? bound_of(placed) : std::optional(answer_of(ranking.best().prediction));
  if (answer.predicted) answer.predicted->standing = standing_of(question, ranking.setup(), ranking.best().tile);
  const Hertz clock = answer.predicted ? Hertz(answer.predicted->clock) : clock_of(*question.machine);
  answer.work = work_answer(placed);
  answer.levels = levels_of(ranking.setup(), placed, clock, Rereads::counted);
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

/// A question and its selection, kept for the parts of an answer that are computed at first read. The tables behind
/// them are the workspace's, which may have dropped them by then.
struct Kept {
  Question question;
  const Setup* setup = nullptr;  // of the question
  Selection selection;

  [[nodiscard]] Ranking ranking() const { return {*setup, selection}; }
};

/// Adds the runners-up.
void add_alternatives(const Ranking& ranking, SelectAnswer& answer) {
  const std::vector<Ranked>& ranked = ranking.selection().ranked;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    answer.alternatives.push_back(
        {values_of(*ranking.setup().mapping, ranked[i].tile), answer_of(ranked[i].prediction)});
}

using Rejected = std::vector<std::pair<std::string, std::int64_t>>;

/// Answers that take longer than finding the best tile: tiles rejected by each rule, and why the best one is best.
struct Reasons {
  std::int64_t legal = 0;
  Rejected rejected;
  Explanation why;
};

Rejected rejected_of(const Rejections& counted) {
  Rejected out;
  for (const auto& [constraint, tiles] : counted.rejected) out.emplace_back(constraint, tiles.get());
  return out;
}

void add_counts(const Rejections& counted, SelectAnswer& answer) {
  answer.legal = counted.legal.get();
  answer.rejected = rejected_of(counted);
}

Reasons reasons_of(const Ranking& ranking) {
  const Rejections counted = ranking.count_rejections();
  return {counted.legal.get(), rejected_of(counted), ranking.explain()};
}

/// Adds the reasons, found once for all of them.
void add_reasons(const std::shared_ptr<const Kept>& kept, SelectAnswer& answer) {
  using All = Later<Reasons>;
  const auto all =
      std::make_shared<const All>([kept] { return at_shape([&] { return reasons_of(kept->ranking()); }); });
  answer.legal = Later<std::int64_t>([all] { return all->get().legal; });
  answer.rejected = Later<Rejected>([all] { return all->get().rejected; });
  answer.because = Later<std::string>([all] { return all->get().why.sentence; });
  answer.reasons = Later<std::vector<std::string>>([all] { return all->get().why.reasons; });
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
  answer.because = "one launch does not hold it (" + answer.because.get() + "); of all ways to cut it these " +
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

SelectAnswer answer_of(const std::shared_ptr<Kept>& kept, const Ranking& ranking) {
  const Question& question = kept->question;
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
  add_best(question, ranking, answer);
  if (ranking.setup().ideal) {  // its table serves this question alone
    answer.because = about_bound(question, answer);
    add_counts(ranking.count_rejections(), answer);
    return answer;
  }
  kept->setup = &ranking.setup();
  kept->selection = ranking.selection();
  add_reasons(kept, answer);
  add_alternatives(ranking, answer);
  return answer;
}

}  // namespace

SelectAnswer select_answer(Question question, int top) {
  const auto kept = std::make_shared<Kept>();
  kept->question = std::move(question);
  return at_shape([&] {
    const Ranking ranking = select_kernel(kept->question, top);
    kept->question.ask.progress = nullptr;  // of this call alone
    return answer_of(kept, ranking);
  });
}

}  // namespace napkin
