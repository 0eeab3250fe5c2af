// Why this tile: one sentence made of the prediction, the constraints and the runner-up.
#include <fmt/format.h>

#include <algorithm>

#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/scan.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {
namespace {

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
  if (!prediction.iteration.empty()) return prediction.iteration;
  const PipeUse* pipe = fullest(prediction);
  if (!pipe) return fmt::format("{} binds", prediction.bound);
  return fmt::format("{} binds, busy {:.1f} % of the time", pipe->name, 100 * pipe->busy);
}

/// "x=96", "p_in=shared".
std::string setting(const Mapping& mapping, KnobId id, std::int64_t value) {
  const Knob& knob = mapping.knobs[at(id)];
  const auto word = static_cast<std::size_t>(value);
  return fmt::format("{}={}", knob.name, word < knob.words.size() ? knob.words[word] : std::to_string(value));
}

/// The sizes of axes that leave a choice, the one with the most values first: it can grow in the finest steps.
std::vector<KnobId> axis_sizes(const Question& question, const Space& space) {
  KnobSet all = 0;
  for (const KnobSet set : knobs_by_axis(question.streamed->diagram, *question.mapping)) all |= set;
  std::vector<KnobId> sizes;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((all & knob_bit(k)) != 0) sizes.push_back(k);
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](KnobId a, KnobId b) { return space.domains[at(a)].size() > space.domains[at(b)].size(); });
  return sizes;
}

/// "x=144 does not fit: 250 registers of 240", "q=192 with warpgroups=3 fits and is 2.1 % slower".
std::string text_of(const Scan::Larger& larger, const Ranked& best, Scan& scan) {
  const Mapping& mapping = *scan.question().mapping;
  std::string text = setting(mapping, larger.knob, larger.value);
  for (std::size_t i = 0; i < larger.implied.size(); ++i) {
    const auto& [knob, value] = larger.implied[i];
    text += (i == 0 ? " with " : ",") + setting(mapping, knob, value);
  }
  if (!larger.fits) {
    return text + fmt::format(" does not fit: {} (needed {}, available {})", larger.rule, number(larger.excess.needed),
                              number(larger.excess.available));
  }
  const auto time = scan.best_with(larger.knob, larger.value);
  if (!time) return text;
  const double slower = time->value / best.prediction.time.value - 1;
  return text + (slower > 0 ? fmt::format(" fits and is {:.2g} % slower", 100 * slower) : " fits and takes as long");
}

/// What stops the next larger sizes, of the two that can grow in the finest steps.
std::string what_stops(Scan& scan, const Ranked& best) {
  std::string text;
  int clauses = 0;
  for (const KnobId knob : axis_sizes(scan.question(), scan.space())) {
    const auto larger = scan.next_larger(best.tile, knob);
    if (!larger) continue;
    text += "; " + text_of(*larger, best, scan);
    if (++clauses == 2) break;
  }
  return text;
}

/// The knobs in which b differs from a, as "x=160,p_in=shared".
std::string difference(const Mapping& mapping, const Tile& a, const Tile& b) {
  std::string text;
  for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
    if (a.values[k] == b.values[k]) continue;
    text += (text.empty() ? "" : ",") + setting(mapping, static_cast<KnobId>(k), b.values[k]);
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

std::string Selector::explain(const Selection& selection) const {
  if (selection.ranked.empty()) return {};
  const Question& question = scan_->question();
  const Ranked& best = selection.ranked.front();
  std::string text = what_binds(best.prediction) + what_stops(*scan_, best);
  if (!selection.runner_up) return text + "; no other tile is predicted to take another time";
  const Ranked& next = *selection.runner_up;
  const double slower = 100 * (next.prediction.time.value / best.prediction.time.value - 1);
  const Problem launch = launch_problem(question.problem);  // whose waves count
  const Placer placer(*question.streamed, *question.mapping, *question.machine, launch);
  const Wave wave = wave_of(placer.place(best.tile)), next_wave = wave_of(placer.place(next.tile));
  return text + fmt::format("; the runner-up ({}) is {:.2g} % slower: it loses on {}",
                            difference(*question.mapping, best.tile, next.tile), slower,
                            what_it_loses_on(best.prediction, next.prediction, wave, next_wave));
}

}  // namespace napkin
