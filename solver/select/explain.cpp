// Why this tile: one sentence made of the prediction, the constraints and the runner-up.
#include <fmt/format.h>

#include <algorithm>

#include "model/resource/plan.hpp"
#include "solver/select/select.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

std::string number(double value) {
  return value == static_cast<double>(static_cast<long long>(value)) ? fmt::format("{}", static_cast<long long>(value))
                                                                     : fmt::format("{:.3g}", value);
}

const PipeUse* fullest(const Prediction& prediction) {
  for (const PipeUse& pipe : prediction.pipes) {
    if (pipe.name == prediction.bound) return &pipe;
  }
  return nullptr;
}

/// Seconds that a pipe is busy; 0 where the prediction does not have it.
double busy_seconds(const Prediction& prediction, const std::string& name) {
  for (const PipeUse& pipe : prediction.pipes) {
    if (pipe.name == name) return pipe.busy * prediction.time.value;
  }
  return 0;
}

std::string what_binds(const Prediction& prediction) {
  const PipeUse* pipe = fullest(prediction);
  if (!pipe) return fmt::format("{} binds", prediction.bound);
  return fmt::format("{} binds, busy {:.1f} % of the time", pipe->name, 100 * pipe->busy);
}

/// The next larger size of one knob, and what forbids it; nothing where it is legal or there is none.
std::optional<std::string> obstacle(const Space& space, const Question& question, const Rules& rules,
                                    const Placer& placer, const Tile& tile, KnobId knob, PlacedDiagram& placed) {
  std::optional<std::int64_t> next;
  for (const std::int64_t v : space.domains[at(knob)]) {
    if (v > tile.values[at(knob)] && (!next || v < *next)) next = v;
  }
  if (!next) return std::nullopt;
  Tile larger = tile;
  larger.values[at(knob)] = *next;
  const auto text = [&](const std::string& rule, const Excess& excess) {
    return fmt::format("{}={} is stopped by {} (needed {}, available {})", question.mapping->knobs[at(knob)].name,
                       *next, rule, number(excess.needed), number(excess.available));
  };
  for (const TileRule& rule : rules.tile) {
    if ((rule.knobs & knob_bit(knob)) == 0) continue;
    if (const auto excess = rule.check(larger)) return text(rule.name, *excess);
  }
  placer.place(larger, placed);
  const Plan needs = plan(placed);
  for (const PlanRule& rule : rules.plan) {
    if (const auto excess = rule.check(placed, needs)) return text(rule.name, *excess);
  }
  return std::nullopt;
}

/// The size with the most values first: the one that the search could grow in the finest steps.
std::optional<std::string> what_stops(const Space& space, const Question& question, const Rules& rules,
                                      const Placer& placer, const Tile& tile, PlacedDiagram& placed) {
  std::vector<KnobId> sizes;
  for (const KnobSet set : knobs_by_axis(question.streamed->diagram, *question.mapping)) {
    for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
      if ((set & knob_bit(k)) != 0 && space.domains[at(k)].size() > 1) sizes.push_back(k);
    }
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](KnobId a, KnobId b) { return space.domains[at(a)].size() > space.domains[at(b)].size(); });
  for (const KnobId knob : sizes) {
    if (auto found = obstacle(space, question, rules, placer, tile, knob, placed)) return found;
  }
  return std::nullopt;
}

/// The knobs in which b differs from a, as "x=160,p_in=shared".
std::string difference(const Mapping& mapping, const Tile& a, const Tile& b) {
  std::string text;
  for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
    if (a.values[k] == b.values[k]) continue;
    const Knob& knob = mapping.knobs[k];
    const auto word = static_cast<std::size_t>(b.values[k]);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", knob.name,
                        word < knob.words.size() ? knob.words[word] : std::to_string(b.values[k]));
  }
  return text;
}

struct Wave {
  double blocks, nodes, fill;
};

/// How full the waves of blocks are: 1 where every compute node gets equally many.
Wave wave_of(const PlacedDiagram& placed) {
  const double nodes = static_cast<double>(std::max(placed.machine->compute_nodes(), Count(1)));
  const double blocks = static_cast<double>(placed.blocks),
               waves = static_cast<double>(ceil_div(placed.blocks, placed.machine->compute_nodes()));
  return {blocks, nodes, waves > 0 ? blocks / (waves * nodes) : 1};
}

/// The pipe whose busy time grew the most from a to b; where none did, the waves or the ends of the blocks.
std::string what_it_loses_on(const Prediction& a, const Prediction& b, const Wave& wave_a, const Wave& wave_b) {
  const double lost = b.time.value - a.time.value;
  const double bound = busy_seconds(b, b.bound) - busy_seconds(a, a.bound);
  if (bound > 0.5 * lost) {
    if (b.bound == a.bound && wave_b.fill < 0.99 * wave_a.fill) {
      return fmt::format("wave quantisation, its {} blocks fill {:.1f} % of the waves instead of {:.1f} %",
                         number(wave_b.blocks), 100 * wave_b.fill, 100 * wave_a.fill);
    }
    return fmt::format("{}, busy {:.1f} us instead of {:.1f} us", b.bound, 1e6 * busy_seconds(b, b.bound),
                       1e6 * busy_seconds(a, b.bound));
  }
  return fmt::format("the ends of its blocks, {:.1f} us exposed instead of {:.1f} us",
                     1e6 * (b.time.value - busy_seconds(b, b.bound)), 1e6 * (a.time.value - busy_seconds(a, a.bound)));
}

}  // namespace

std::string explain(const Question& question, const Selection& selection) {
  if (selection.ranked.empty()) return {};
  const Space space = space_of(question);
  const Rules rules(*question.streamed, *question.mapping, *question.machine, question.problem);
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  const Ranked& best = selection.ranked.front();
  std::string text = what_binds(best.prediction);
  PlacedDiagram placed;
  if (const auto stop = what_stops(space, question, rules, placer, best.tile, placed)) text += "; " + *stop;
  if (!selection.runner_up) return text + "; no other tile is predicted to take another time";
  const Ranked& next = *selection.runner_up;
  const double slower = 100 * (next.prediction.time.value / best.prediction.time.value - 1);
  placer.place(best.tile, placed);
  const Wave wave = wave_of(placed);
  placer.place(next.tile, placed);
  return text + fmt::format("; the runner-up ({}) is {:.2g} % slower: it loses on {}",
                            difference(*question.mapping, best.tile, next.tile), slower,
                            what_it_loses_on(best.prediction, next.prediction, wave, wave_of(placed)));
}

}  // namespace napkin
