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

namespace napkin {
namespace {

/// Judges a tile on the abstract machine, whose only limit is the memory that the paper's rule counts.
void judge_abstract(const Request& request, const Layout& layout, QueryAnswer& answer) {
  answer.violations.clear();
  for (const LevelAnswer& level : answer.levels) {
    if (!level.memory_limit || level.memory_lower_bound <= *level.memory_limit) continue;
    const Violation broken{"memory", static_cast<double>(level.memory_lower_bound),
                           static_cast<double>(*level.memory_limit)};
    answer.violations.push_back(
        {broken.constraint, broken.needed, broken.available, words_of(broken, request, *layout.mapping)});
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

QueryAnswer answer_of(const Request& request, const Layout& layout, const Tile& tile) {
  const KeptPlacer placer = kept_placer_of(layout);
  const Placement placement = place(placer, tile);
  QueryAnswer answer;
  answer.head = head_of(request, layout, &tile);
  answer.legal = placement.violations.empty();
  answer.violations = answer_of(placement.violations, request, *layout.mapping);
  answer.work = work_answer(placement.placed);
  Hertz clock = clock_of(*request.machine);
  if (!request.abstract()) {
    answer.predicted = layout.ideal ? bound_of(placement.placed)
                                    : std::optional(answer_of(layout.workspace->predicted(placement.placed)));
    if (answer.predicted) {
      clock = Hertz(answer.predicted->clock);
      answer.predicted->standing = standing_of(request, layout, tile);
    }
    answer.notes = notes_of(layout);
    for (std::string& note : launch_notes(placement.placed)) answer.notes.push_back(std::move(note));
  }
  answer.levels = levels_of(layout, placement.placed, clock, Rereads::spread);
  explain_levels(answer);
  if (!request.abstract()) answer.occupancy = answer_of(placement.plan);
  answer.combine = combine_of(placement.placed, request.abstract() ? Hertz(0) : clock);
  if (!request.abstract()) answer.own_parts = own_parts_of(layout, placement.placed);
  if (answer.own_parts) answer.notes.push_back(answer.own_parts->text());
  if (request.abstract()) judge_abstract(request, layout, answer);
  add_optimum(request, layout, placement.placed, answer);
  if (!request.abstract()) {
    answer.laws = Later<std::optional<Laws>>([request]() -> std::optional<Laws> {
      const std::optional<LawSetting> setting = law_setting(request);
      return setting ? std::optional(laws_of(*setting)) : std::nullopt;
    });
  }
  answer.unfused = Later<std::optional<UnfusedAnswer>>([request] { return unfused_of(request); });
  if (request.ask.check) answer.check = check_of(request, layout, placement.placed);
  if (request.ask.compile) answer.compiled = compiled_of(placement);
  return answer;
}

/// Fills `answer`, whose tile is not legal, with the launches that the algorithm is cut into.
void make_cut(const Request& request, QueryAnswer& answer) {
  answer.launches = cut_of(request);
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
void add_other_settings(const Request& request, const SelectedTile& selected, QueryAnswer& answer) {
  const Mapping& mapping = *selected.layout->mapping;
  for (const OtherSetting& other : other_settings(*selected.layout, selected.tile)) {
    const Knob& knob = mapping.knobs[static_cast<std::size_t>(other.knob)];
    const std::string value =
        knob.words.empty() ? std::to_string(other.value) : knob.words[static_cast<std::size_t>(other.value)];
    std::vector<std::string> words;
    for (const Violation& one : other.violations) words.push_back(words_of(one, request, mapping));
    answer.notes.push_back("with " + knob.name + "=" + value + ": " + joined(words, "; "));
  }
}

}  // namespace

QueryAnswer query_answer(const Request& request) {
  return at_shape([&] {
    const SelectedTile selected = select_tile(request);
    QueryAnswer answer = answer_of(request, *selected.layout, selected.tile);
    answer.notes.insert(answer.notes.end(), selected.left_out.begin(), selected.left_out.end());
    if (!selected.fits && !request.ask.tile.empty() && !answer.legal) add_other_settings(request, selected, answer);
    if (!selected.fits && may_be_cut(request)) make_cut(request, answer);
    return answer;
  });
}

}  // namespace napkin
