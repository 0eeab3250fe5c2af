#include <fmt/format.h>

#include "apps/library/answer/answering.hpp"
#include "apps/library/answer/check.hpp"
#include "apps/library/answer/law_setting.hpp"
#include "apps/library/answer/own_parts.hpp"
#include "apps/library/answer/standing.hpp"
#include "apps/library/question/words.hpp"
#include "apps/library/rank/compiled.hpp"
#include "apps/library/rank/cut.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/optimum.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/library/rank/select_tile.hpp"

namespace napkin::internal {
namespace {

/// Judges a tile on the abstract machine, whose only limit is the memory that the paper's rule counts.
void judge_abstract(const Question& question, const Setup& setup, QueryAnswer& answer) {
  answer.violations.clear();
  for (const LevelAnswer& level : answer.levels) {
    if (!level.memory_limit || level.memory_lower_bound <= *level.memory_limit) continue;
    const Violation broken{"memory", static_cast<double>(level.memory_lower_bound),
                           static_cast<double>(*level.memory_limit)};
    answer.violations.push_back(
        {broken.constraint, broken.needed, broken.available, words_of(broken, question, *setup.mapping)});
  }
  answer.legal = answer.violations.empty();
}

/// Explains levels whose time exceeds the call's: they count every block's copy, at the bandwidth of bytes that a
/// single node reads.
void explain_levels(QueryAnswer& answer) {
  if (!answer.predicted || answer.predicted->at_least) return;
  for (const LevelAnswer& level : answer.levels) {
    if (!level.time || *level.time <= answer.predicted->time) continue;
    answer.notes.push_back(fmt::format(
        "{} shows {:.4g} us, more than the call takes: its bandwidth is of bytes that one {} reads alone, and every "
        "block's copy counts; what several read at a time passes faster, by multicast or from one line of the cache",
        level.name, 1e6 * *level.time, answer.head.terms.node));
  }
}

/// Adds the formulas of the levels, the laws, and what one launch saves.
void add_formulas(const Question& question, const Setup& setup, const PlacedDiagram& placed, QueryAnswer& answer) {
  add_optimum(question, setup, placed, answer);
  if (!question.abstract()) {
    if (const std::optional<LawSetting> setting = law_setting(question)) answer.laws = laws_of(*setting);
  }
  answer.unfused = unfused_of(question);
}

/// Returns the kernel's fastest tile with all knobs free, or the given one if none is faster. Nothing without a legal
/// given tile, or for packed sequences, whose search is slow.
std::optional<BestTileAnswer> best_of(const Question& question, const Setup& setup, const QueryAnswer& answer) {
  if (question.ask.tile.empty() || !answer.legal || !answer.predicted || setup.ideal) return std::nullopt;
  if (!question.problem.packing.sequences.empty()) return std::nullopt;
  Setup open = setup;
  open.fixed.clear();
  const double time = answer.predicted->time;
  const Ranking ranking(open, Seconds(time));
  if (ranking.empty() || ranking.best().prediction.time.value >= time) return BestTileAnswer{answer.head.tile, time, 0};
  const Ranked& best = ranking.best();
  if (best.prediction.at_least != answer.predicted->at_least) return std::nullopt;  // a bound beside a prediction
  return BestTileAnswer{values_of(*setup.mapping, best.tile), best.prediction.time.value,
                        time / best.prediction.time.value - 1};
}

QueryAnswer answer_of(const Question& question, const Setup& setup, const Tile& tile, AnswerParts parts) {
  const auto kept = kept_placer(setup, setup.problem);
  const Placement placement = place(*kept->placer, tile);
  QueryAnswer answer;
  answer.head = head_of(question, setup, &tile);
  answer.legal = placement.violations.empty();
  answer.violations = answer_of(placement.violations, question, *setup.mapping);
  answer.work = work_answer(placement.placed);
  Hertz clock = clock_of(*question.machine);
  if (!question.abstract()) {
    answer.predicted = setup.ideal ? bound_of(placement.placed)
                                   : std::optional(answer_of(setup.workspace->predicted(placement.placed)));
    if (answer.predicted) {
      clock = Hertz(answer.predicted->clock);
      answer.predicted->standing = standing_of(question, setup, tile, parts);
    }
    answer.notes = notes_of(setup);
    for (std::string& note : launch_notes(placement.placed)) answer.notes.push_back(std::move(note));
  }
  answer.levels = levels_of(placement.placed, clock, parts.rereads ? Rereads::spread : Rereads::none);
  explain_levels(answer);
  if (!question.abstract()) answer.occupancy = answer_of(placement.plan);
  answer.combine = combine_of(placement.placed, question.abstract() ? Hertz(0) : clock);
  if (!question.abstract()) answer.own_parts = own_parts_of(setup, placement.placed);
  if (answer.own_parts) answer.notes.push_back(answer.own_parts->text());
  if (question.abstract()) judge_abstract(question, setup, answer);
  if (parts.formulas) add_formulas(question, setup, placement.placed, answer);
  if (parts.best) answer.best = best_of(question, setup, answer);
  if (question.ask.check) answer.check = check_of(question, setup, placement.placed);
  if (question.ask.compile) answer.compiled = compiled_of(placement);
  return answer;
}

/// Fills `answer`, whose tile is not legal, with the launches that the algorithm is cut into.
void make_cut(const Question& question, QueryAnswer& answer) {
  answer.launches = cut_of(question);
  if (answer.launches.empty()) return;
  answer.legal = true;
  answer.violations.clear();
  answer.head.tile.clear();
  answer.levels = levels_of(answer.launches);
  answer.formula = {};
  answer.optimum = {};
  answer.laws = {};
  answer.occupancy.reset();
}

/// Adds notes on values that the unnamed knobs cannot take: "with q_in=shared: needs 131,072 B of shared memory a
/// block, there are 101,376".
void add_other_settings(const Question& question, const SelectedTile& selected, QueryAnswer& answer) {
  const Mapping& mapping = *selected.setup->mapping;
  for (const OtherSetting& other : other_settings(*selected.setup, selected.tile)) {
    const Knob& knob = mapping.knobs[static_cast<std::size_t>(other.knob)];
    const std::string value =
        knob.words.empty() ? std::to_string(other.value) : knob.words[static_cast<std::size_t>(other.value)];
    std::vector<std::string> words;
    for (const Violation& one : other.violations) words.push_back(words_of(one, question, mapping));
    answer.notes.push_back("with " + knob.name + "=" + value + ": " + joined(words, "; "));
  }
}

}  // namespace

QueryAnswer query_answer(const Question& question, AnswerParts parts) {
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    QueryAnswer answer = answer_of(question, *selected.setup, selected.tile, parts);
    answer.notes.insert(answer.notes.end(), selected.left_out.begin(), selected.left_out.end());
    if (!selected.fits && !question.ask.tile.empty() && !answer.legal) add_other_settings(question, selected, answer);
    if (!selected.fits && may_be_cut(question)) make_cut(question, answer);
    return answer;
  });
}

}  // namespace napkin::internal
