#include "apps/python/rank.hpp"

#include <algorithm>
#include <tuple>

#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/question/question.hpp"
#include "apps/library/question/words.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "solver/emit/emit.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal::python {
namespace {

/// Returns the knobs that a configuration names, and the knobs that the question fixes.
TileText knobs_of(const Question& question, const TileText& config) {
  TileText tile = question.ask.tile;
  for (const auto& [name, value] : config) {
    for (const Setup& setup : question.setups) {
      const std::string knob = knob_of_triton(*setup.mapping, name);
      if (knob.empty()) continue;
      tile.emplace_back(knob, value);
      break;
    }
  }
  return tile;
}

RankedConfig judged(const Question& question) {
  RankedConfig out;
  const SelectedTile selected = select_tile(question);
  const auto kept = kept_placer(*selected.setup, selected.setup->problem);
  const Placement placement = place(*kept->placer, selected.tile);
  for (const Violation& violation : placement.violations)
    out.why += (out.why.empty() ? "" : ", ") + violation.constraint;
  out.legal = placement.violations.empty();
  out.outside = !notes_of(*selected.setup).empty();
  if (out.legal) out.time = selected.setup->workspace->predicted(placement.placed).time.value;
  return out;
}

/// Returns the key by which configurations are sorted: those that can run by predicted time, then those outside of the
/// mapping, then the others.
std::tuple<bool, bool, double> place_of(const RankedConfig& one) {
  return {!one.legal, one.outside, one.time.value_or(0)};
}

/// Returns the key by which one configuration's judgements by several kernels are sorted: first the kernel for whose
/// values the mapping was made.
std::tuple<bool, bool, double> suits(const RankedConfig& one) {
  return {one.outside, !one.legal, one.time.value_or(0)};
}

/// Predicts one configuration for one kernel; an error of the configuration is its reason.
RankedConfig judged(const Session& session, Ask ask, const Question& whole, const TileText& config) {
  try {
    ask.tile = knobs_of(whole, config);
    const Question question = question_of(session, ask);
    return at_shape([&] { return judged(question); });
  } catch (const Error& error) {
    RankedConfig out;
    out.outside = true;
    const std::string why = error.what();
    out.why = why.substr(why.starts_with("--") ? 2 : 0);  // an option of the command line is an argument here
    return out;
  }
}

}  // namespace

std::vector<RankedConfig> rank(const Session& session, const std::vector<Ask>& kernels,
                               const std::vector<TileText>& configs) {
  std::vector<Question> whole;  // a fault of the question itself is an error
  for (const Ask& ask : kernels) whole.push_back(question_of(session, ask));
  std::vector<RankedConfig> ranked(configs.size());
  on_all_cores(configs.size(), [&](std::size_t i) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      RankedConfig one = judged(session, kernels[k], whole[k], configs[i]);
      if (k == 0 || suits(one) < suits(ranked[i])) ranked[i] = std::move(one);
    }
    ranked[i].index = i;
  });
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedConfig& a, const RankedConfig& b) { return place_of(a) < place_of(b); });
  return ranked;
}

}  // namespace napkin::internal::python
