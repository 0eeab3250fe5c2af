#include "solver/explain/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "model/clock/roofline/assumed_clock.hpp"
#include "model/diagram/packing.hpp"
#include "model/machine/vocabulary_of.hpp"
#include "model/resource/plan.hpp"
#include "solver/explain/larger.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin::internal {
namespace {

std::string number(double value) {
  constexpr double exact = 9e15;
  if (std::abs(value) < exact && std::floor(value) == value) return fmt::format("{}", static_cast<long long>(value));
  return fmt::format("{:.3g}", value);
}

const PipeUse* fullest(const Prediction& prediction) {
  for (const PipeUse& pipe : prediction.pipes) {
    if (pipe.name == prediction.bound) return &pipe;
  }
  return nullptr;
}

/// Returns the seconds that a pipe is busy; 0 if the prediction lacks it.
double busy_seconds(const Prediction& prediction, const std::string& name) {
  for (const PipeUse& pipe : prediction.pipes) {
    if (pipe.name == name) return pipe.busy * prediction.time.value;
  }
  return 0;
}

struct Wave {
  double blocks, nodes, fill;
};

/// Returns the share of the slots that the waves of blocks fill: 1 if every compute node gets equally many blocks.
Wave wave_of(const PlacedDiagram& placed) {
  const double nodes = static_cast<double>(std::max(placed.machine->compute_nodes(), Count(1)));
  const double blocks = static_cast<double>(placed.blocks),
               waves = static_cast<double>(ceil_div(placed.blocks, placed.machine->compute_nodes()));
  return {blocks, nodes, waves > 0 ? blocks / (waves * nodes) : 1};
}

/// A cause of lost time: its fraction of the time, and words for it.
struct Waste {
  double fraction = 0;  ///< lost time, as a fraction of the time
  std::string words;
};

Waste idle_nodes(const Prediction& p, const Vocabulary& terms) {
  const double all = real(p.nodes), busy = real(p.busy_nodes);
  return {1 - busy / all, fmt::format("{} of {} {} have work", number(busy), number(all), terms.nodes)};
}

Waste last_wave(const Wave& wave) {
  const double waves = std::ceil(wave.blocks / wave.nodes);
  return {1 - wave.fill,
          fmt::format("{} blocks fill {:.0f} % of {} waves", number(wave.blocks), 100 * wave.fill, number(waves))};
}

/// Returns the largest cause of lost time beside the fullest pipe: idle nodes, the last wave, the ends of blocks, or
/// the launch; none if it takes less than a fifth of the time.
Waste next_cause(const Prediction& p, const Wave& wave, const Machine& machine) {
  constexpr double worth_saying = 0.2;
  const PipeUse* pipe = fullest(p);
  if (pipe != nullptr && pipe->busy > 0.9) return {};
  const double start = p.time.value > 0 ? launch_overhead(machine).value / p.time.value : 0;
  Waste most;
  for (const Waste& one : {p.busy_nodes < p.nodes ? idle_nodes(p, vocabulary_of(machine)) : last_wave(wave),
                           Waste{p.ends * (1 - start), fmt::format("the ends of blocks take {:.0f} % of the time",
                                                                   100 * p.ends * (1 - start))},
                           Waste{start, fmt::format("the launch takes {:.0f} % of the time", 100 * start)}}) {
    if (one.fraction > std::max(most.fraction, worth_saying)) most = one;
  }
  return most;
}

/// Writes what limits an iteration: "tensor binds: an iteration takes 2048 clk: tensor 2048, the cycle of waits P.exp >
/// O 1413, contention 0".
std::string iteration_text(const Prediction& prediction) {
  const Iteration& one = *prediction.iteration;
  const std::string pipe = one.pipe + (one.beside_tensor ? " beside the tensor cores" : "");
  return fmt::format(
      "{} binds: an iteration takes {:.0f} clk: {} {:.0f}, the cycle of waits {} {:.0f}, contention {:.0f}",
      prediction.bound == one.pipe ? pipe : prediction.bound, one.clocks, pipe, one.pipe_clocks,
      fmt::join(one.waits, " > "), one.waits_clocks, one.contention);
}

std::string what_binds(const Prediction& prediction) {
  if (prediction.iteration) return iteration_text(prediction);
  const PipeUse* pipe = fullest(prediction);
  if (!pipe) return fmt::format("{} binds", prediction.bound);
  return fmt::format("{} binds, busy {:.0f} % of the time", pipe->name, 100 * pipe->busy);
}

/// Writes a knob's value: "x=96", "p_in=shared".
std::string setting(const Mapping& mapping, KnobId id, std::int64_t value) {
  const Knob& knob = mapping.knobs[at(id)];
  const auto word = static_cast<std::size_t>(value);
  return fmt::format("{}={}", knob.name, word < knob.words.size() ? knob.words[word] : std::to_string(value));
}

/// Returns the knobs that size axes and have several values, most values first: their steps are the finest.
std::vector<KnobId> axis_sizes(const Setup& setup, const Space& space) {
  KnobSet all = 0;
  for (const KnobSet set : knobs_by_axis(setup.streamed->diagram, *setup.mapping)) all |= set;
  std::vector<KnobId> sizes;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((all & knob_bit(k)) != 0) sizes.push_back(k);
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](KnobId a, KnobId b) { return space.domains[at(a)].size() > space.domains[at(b)].size(); });
  return sizes;
}

/// Returns the knobs in which b differs from a, as "x=160,p_in=shared".
std::string difference(const Mapping& mapping, const Tile& a, const Tile& b) {
  std::string text;
  for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
    if (a.values[k] == b.values[k]) continue;
    text += (text.empty() ? "" : ",") + setting(mapping, static_cast<KnobId>(k), b.values[k]);
  }
  return text;
}

/// Writes the ratio of two times: "is 3.1 % slower", "takes as long", "takes 48 times as long".
std::string slower_text(double ratio) {
  constexpr double visible = 5e-4;
  if (ratio < 1 + visible) return "takes as long";
  const double percent = 100 * (ratio - 1);
  if (percent < 9.95) return fmt::format("is {:.2g} % slower", percent);
  if (percent < 99.5) return fmt::format("is {:.0f} % slower", percent);
  return fmt::format("takes {} times as long", ratio < 9.95 ? fmt::format("{:.1f}", ratio) : number(std::round(ratio)));
}

/// Writes what a larger size would do: "x=144 does not fit: 250 registers of 240", "q=192 with warpgroups=3 fits and is
/// 2.1 % slower". The percentage is of the tile just named, with all its differences from the best.
std::string text_of(const Larger& larger, const Ranked& best, Selector& selector) {
  const Mapping& mapping = *selector.setup().mapping;
  const std::string size = setting(mapping, larger.knob, larger.value);
  const auto other = larger.fits ? selector.best_with(larger.knob, larger.value) : std::nullopt;
  if (other) {
    Tile same_size = best.tile;
    same_size.values[at(larger.knob)] = larger.value;
    const std::string rest = difference(mapping, same_size, other->tile);
    return size + (rest.empty() ? "" : " with " + rest) + " fits and " +
           slower_text(other->prediction.time.value / best.prediction.time.value);
  }
  std::string text = size;
  for (std::size_t i = 0; i < larger.implied.size(); ++i) {
    const auto& [knob, value] = larger.implied[i];
    text += (i == 0 ? " with " : ",") + setting(mapping, knob, value);
  }
  if (larger.fits) return text;
  return text + fmt::format(" does not fit: {} (needed {}, available {})", larger.rule, number(larger.excess.needed),
                            number(larger.excess.available));
}

/// Writes the obstacles to the next larger sizes, for the two knobs with the finest steps.
std::vector<std::string> what_stops(Selector& selector, const Ranked& best) {
  std::vector<std::string> clauses;
  for (const KnobId knob : axis_sizes(selector.setup(), selector.table().candidates().space())) {
    const auto larger = next_larger(selector, best.tile, knob);
    if (!larger) continue;
    clauses.push_back(text_of(*larger, best, selector));
    if (clauses.size() == 2) break;
  }
  return clauses;
}

/// Writes two times with as many digits as tell them apart: "32.61 us instead of 32.58 us"; "" if five digits do not.
std::string instead_of(double seconds, double other) {
  constexpr std::array<std::pair<double, const char*>, 4> units{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  const auto unit =
      std::find_if(units.begin(), units.end() - 1, [&](const auto& u) { return std::max(seconds, other) >= u.first; });
  for (int digits = 3; digits <= 5; ++digits) {
    const std::string a = fmt::format("{:.{}g}", seconds / unit->first, digits),
                      b = fmt::format("{:.{}g}", other / unit->first, digits);
    if (a != b && a.find('e') == std::string::npos && b.find('e') == std::string::npos)
      return fmt::format("{} {} instead of {} {}", a, unit->second, b, unit->second);
  }
  return "";
}

/// Two tiles of one question, the best and the next.
struct Pair {
  const Ranked &best, &next;
  Wave wave, next_wave;
};

/// Pipe's name in a sentence: the profile's, or the machine's words.
using Named = std::function<std::string(const std::string&)>;

/// Writes the cause of the next tile's longer time: its limiting pipe or its waves if that work grew by half of the
/// loss or more, else the clock, else the ends of blocks; "" if no number tells the two apart.
std::string what_it_loses_on(const Pair& pair, const Named& named) {
  const Prediction &a = pair.best.prediction, &b = pair.next.prediction;
  const double lost = b.time.value - a.time.value;
  const double bound = busy_seconds(b, b.bound) - busy_seconds(a, b.bound);
  const double by_clock = b.cycles.value * (1 / b.clock.value - 1 / a.clock.value);
  if (bound > 0.5 * lost) {
    if (b.bound == a.bound && pair.next_wave.fill < 0.99 * pair.wave.fill) {
      return fmt::format("wave quantisation, its {} blocks fill {:.1f} % of the waves instead of {:.1f} %",
                         number(pair.next_wave.blocks), 100 * pair.next_wave.fill, 100 * pair.wave.fill);
    }
    const std::string times = instead_of(busy_seconds(b, b.bound), busy_seconds(a, b.bound));
    return times.empty() ? "" : named(b.bound) + ", busy " + times;
  }
  if (by_clock > 0.5 * lost && b.clock.value < 0.9995 * a.clock.value)
    return fmt::format("the clock, {:.3f} GHz instead of {:.3f} GHz", b.clock.value / 1e9, a.clock.value / 1e9);
  const std::string times =
      instead_of(b.time.value - busy_seconds(b, b.bound), a.time.value - busy_seconds(a, b.bound));
  return times.empty() ? "" : "waits and the ends of its blocks, " + times + " beside " + named(b.bound);
}

std::string about_runner_up(const Setup& setup, const Pair& pair, const Named& named) {
  const std::string slower = slower_text(pair.next.prediction.time.value / pair.best.prediction.time.value);
  const std::string why = what_it_loses_on(pair, named);
  const bool equal = slower == "takes as long";
  return fmt::format("the runner-up ({}) {}{}", difference(*setup.mapping, pair.best.tile, pair.next.tile), slower,
                     equal || why.empty() ? "" : ": it loses on " + why);
}

}  // namespace

Explanation explain(Selector& selector, const Selection& selection) {
  if (selection.ranked.empty()) return {};
  const Setup& setup = selector.setup();
  const Ranked& best = selection.ranked.front();
  const Problem launch = launch_problem(setup.problem);  // launch whose waves are explained
  const Placer placer(*setup.streamed, *setup.mapping, *setup.machine, launch);
  const Wave wave = wave_of(placer.place(best.tile));
  const Vocabulary terms = vocabulary_of(*setup.machine);
  Explanation out;
  const Waste cause = next_cause(best.prediction, wave, *setup.machine);
  if (!cause.words.empty()) out.reasons.push_back(cause.words);
  std::vector<std::string> clauses = out.reasons;
  clauses.push_back(what_binds(best.prediction));
  for (std::string& clause : what_stops(selector, best)) {
    clauses.push_back(clause);
    out.reasons.push_back(std::move(clause));
  }
  if (selection.runner_up) {
    const Ranked& next = *selection.runner_up;
    const Pair pair{best, next, wave, wave_of(placer.place(next.tile))};
    clauses.push_back(about_runner_up(setup, pair, [](const std::string& name) { return name; }));
    out.reasons.push_back(about_runner_up(setup, pair, [&](const std::string& name) {
      const std::string words = terms.pipe(name);
      return words == terms.matrix ? "the " + words : name == "critical cycle" ? "the longest chain of waits" : words;
    }));
  } else {
    clauses.emplace_back("no other tile is predicted to take another time");
    out.reasons.push_back(clauses.back());
  }
  out.sentence = fmt::format("{}", fmt::join(clauses, "; "));
  return out;
}

}  // namespace napkin::internal
