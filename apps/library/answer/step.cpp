// A step of a model: each launch is predicted as any other question is, and all at the clock that the mix of launches
// holds. (docs/steps.md)

#include "napkin/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "apps/library/answer/answering.hpp"
#include "apps/library/ask/step_file.hpp"
#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/clock/power/mix.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/shared_pipe.hpp"
#include "model/clock/timed_launch.hpp"
#include "model/island/schedule.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {
namespace {

using EntryKind = StepEntryAnswer::Kind;

constexpr std::string_view launch_bound = "launch";
constexpr double mostly = 0.5;  // share of a launch's time from which on the gap after it counts as its limit

/// A question's tile on its machine, ready to be timed at any clock. Not movable: its parts point to one another.
struct PlacedQuestion {
  Question question;
  SelectedTile selected;
  Placement placement;
  TimedLaunch launch;
  explicit PlacedQuestion(Question asked, SelectedTile (*select)(const Question&))
      : question(std::move(asked)),
        selected(select(question)),
        placement(place(placer_of(*selected.setup), selected.tile)),
        launch(placement.placed, placement.plan) {}
};

/// An entry of a step, timed except for the step's clock.
struct StepLaunch {
  StepEntryAnswer answer;
  std::unique_ptr<PlacedQuestion> question;  ///< the question of an entry that the event graph predicts
  std::optional<Energy> energy;
  std::function<Seconds(Hertz)> time;  ///< seconds of a launch and the gap after it, at a clock
  std::string why;                     ///< the reason why the entry cannot run; empty: it can
};

/// The facts that all launches of a step share.
struct StepSetting {
  const Session& session;
  const Machine& machine;
  const Island* island;
  std::string gpu;  ///< name or path
  const ModelStep& step;
  SharedPipe device;
  Seconds gap;    ///< gap after every launch
  Seconds floor;  ///< least time from a launch's start to the next launch's
};

StepSetting setting_of(const Session& session, const StepAsk& ask, const Machine& machine, const Island* island,
                       const ModelStep& step) {
  const Seconds floor(step.issue == Issue::stream ? machine.constant_or("launch_overhead", 0) : 0);
  return {session,
          machine,
          island,
          island != nullptr ? island->gpu : ask.gpu,
          step,
          device_pipe(machine),
          launch_overhead(machine),
          floor};
}

/// Returns true if the question's tile can be timed at any clock.
bool may_be_timed(const SelectedTile& selected) {
  if (!selected.fits || selected.setup->ideal) return false;
  const Placement placement = place(placer_of(*selected.setup), selected.tile);
  return placement.violations.empty() && has_event_graph(placement.placed);
}

void add_head(const Head& head, StepEntryAnswer& out) {
  out.shape = head.shape;
  out.dtype = head.dtype;
  out.mask = head.mask;
  out.kernel = head.kernel;
  out.tile = head.tile;
}

/// Adds a bound that holds at any clock: query's if no event graph predicts; the ideal mapping's if no kernel's tile
/// fits.
void add_bound(const StepSetting& setting, Ask ask, StepLaunch& out) {
  auto answer = setting.session.query(ask);
  const auto fits = [&] { return answer->legal || !answer->launches.empty(); };
  if (!fits() && ask.kernel.empty() && ask.tile.empty()) {
    ask.kernel = "ideal";
    answer = setting.session.query(ask);
  }
  add_head(answer->head, out.answer);
  if (!fits() && !answer->violations.empty()) {
    out.why = answer->violations.front().text;
    return;
  }
  if (!answer->predicted) {
    out.why = setting.machine.name + " lacks the rates of what it computes";
    return;
  }
  out.answer.alone = answer->predicted->time;
  out.answer.at_least = answer->predicted->at_least;
  out.answer.bound = answer->predicted->bound;
  out.answer.flops = static_cast<double>(answer->work.flops);
  if (!answer->levels.empty()) out.answer.bytes = answer->levels.front().transfer;
  const Seconds time(std::max(answer->predicted->time, setting.floor.value));
  out.time = [time](Hertz) { return time; };
}

void add_question(const StepSetting& setting, const StepEntry& entry, StepLaunch& out) {
  Ask ask = entry.ask;
  ask.gpu = setting.gpu;
  out.answer.algorithm = ask.algorithm;
  Question question = question_of(setting.session, ask);
  at_shape([&] {
    const SelectedTile selected = select_tile(question);
    if (!may_be_timed(selected)) return add_bound(setting, ask, out);
    const Prediction alone = selected.setup->workspace->predicted(placer_of(*selected.setup).place(selected.tile));
    out.question = std::make_unique<PlacedQuestion>(std::move(question), select_tile);
    const PlacedQuestion& asked = *out.question;
    const PlacedDiagram& placed = asked.placement.placed;
    add_head(head_of(asked.question, *asked.selected.setup, &asked.selected.tile), out.answer);
    out.answer.alone = alone.time.value;
    out.answer.flops = real(work(placed).flops.value);
    const auto levels = levels_of(placed, alone.clock, Rereads::none);
    if (!levels.empty()) out.answer.bytes = levels.front().transfer;
    out.energy = asked.launch.energy();
    out.time = [&asked, floor = setting.floor](Hertz clock) { return std::max(asked.launch.time(clock), floor); };
  });
}

/// Adds a pass: its bytes at device memory's rate, after its latency.
void add_pass(const StepSetting& setting, const StepEntry& entry, StepLaunch& out) {
  const double bytes = static_cast<double>(entry.bytes), latency = setting.device.latency();
  const Seconds copying(setting.device.seconds(bytes));
  out.answer.bytes = entry.bytes;
  out.answer.bound = std::string(setting.device.name());
  const double moved = bytes * energy_of_card(setting.machine);
  out.energy = Energy{moved * setting.machine.constant_or("energy_l2", 0),
                      moved * setting.machine.constant_or("energy_device", 0)};
  out.time = [=, gap = setting.gap, floor = setting.floor](Hertz clock) {
    return std::max(gap + copying + Seconds(latency / clock.value), floor);
  };
}

void add_collective(const StepSetting& setting, const StepEntry& entry, StepLaunch& out) {
  constexpr Carrier all[] = {Carrier::all_reduce, Carrier::all_gather, Carrier::reduce_scatter, Carrier::all_to_all};
  const Carrier by =
      *std::find_if(std::begin(all), std::end(all), [&](Carrier each) { return name_of(each) == entry.collective; });
  const Transport call = transport_of(*setting.island, setting.step.gpus, by, Bytes(entry.bytes));
  out.answer.algorithm = entry.collective;
  out.answer.bytes = call.received.value.get();
  out.answer.bound = call.level;
  out.energy = Energy{};
  const Seconds time = setting.gap + Seconds(call.seconds);
  out.time = [time](Hertz) { return time; };
}

StepLaunch launch_of(const StepSetting& setting, const StepEntry& entry) {
  StepLaunch out;
  out.answer.name = entry.name;
  out.answer.kind = entry.kind;
  out.answer.times = entry.times;
  try {
    switch (entry.kind) {
      case EntryKind::question: add_question(setting, entry, out); break;
      case EntryKind::pass: add_pass(setting, entry, out); break;
      case EntryKind::collective: add_collective(setting, entry, out); break;
    }
  } catch (const Overflow&) {
    throw;
  } catch (const Error& error) {
    throw Error(entry.at, entry.name, error.where() + ": " + error.problem(), error.right());
  }
  return out;
}

/// Finds the clock of all launches with a known energy; the assumed clock if no question has one.
void hold_one_clock(const StepSetting& setting, const std::vector<StepLaunch>& launches, StepAnswer& out) {
  std::vector<MixPart> parts;
  bool known = false;
  for (const StepLaunch& one : launches) {
    if (one.energy) parts.push_back({static_cast<double>(one.answer.times), *one.energy, one.time});
    known = known || (one.question && one.energy);
  }
  if (!known) {
    const AssumedClock assumed = assumed_clock(setting.machine);
    out.clock = assumed.frequency.value;
    out.clock_source = std::string(assumed.source);
    return;
  }
  const PowerLaw law = power_law(setting.machine);
  const HeldClock held = held_clock(law, parts);
  out.clock = held.clock.value;
  out.power = held.power.value;
  out.clock_source = held.clock.value < law.highest ? "held at the power limit" : "the highest clock";
}

/// Completes the entry at the step's clock.
void finish_entry(const StepSetting& setting, StepLaunch& launch, StepAnswer& out) {
  StepEntryAnswer& entry = launch.answer;
  const Hertz clock(out.clock);
  const double times = static_cast<double>(entry.times);
  entry.time = launch.time(clock).value;
  double gap = setting.gap.value;
  if (launch.question) {
    const Prediction at = launch.question->launch.at(clock);
    entry.bound = at.bound;
    gap += entry.time - at.time.value;
    out.by_graph += times * entry.time;
  } else if (entry.kind == EntryKind::pass) {
    gap = entry.time - setting.device.seconds(static_cast<double>(entry.bytes));
  }
  if (gap > mostly * entry.time) entry.bound = launch_bound;
  if (out.power && launch.energy)
    entry.energy = energy_at(power_law(setting.machine), *launch.energy, clock, Seconds(entry.time)).value;
  out.time += times * entry.time;
  out.gaps += times * std::min(gap, entry.time);
  out.launches += entry.times;
  out.flops += times * entry.flops * static_cast<double>(out.gpus);
  if (entry.kind != EntryKind::collective)
    out.bytes = (Count(out.bytes) + Count(entry.times) * Count(entry.bytes)).get();
  out.at_least = out.at_least || entry.at_least;
}

void add_left_out(const StepSetting& setting, StepAnswer& out) {
  const auto any = [&](EntryKind kind) {
    return std::any_of(out.entries.begin(), out.entries.end(),
                       [&](const StepEntryAnswer& entry) { return entry.kind == kind; });
  };
  out.left_out = {"the host's own work, sampling, scheduling of requests",
                  "what one launch leaves in the L2 for the next one, and launches side by side"};
  if (out.issue == Issue::graph)
    out.left_out.emplace_back("a gap of a graph's own: that between launches of a stream is taken");
  if (any(EntryKind::pass)) out.left_out.emplace_back("what passes over bytes compute");
  if (any(EntryKind::collective))
    out.left_out.emplace_back("links' energy, and what calls and kernels take of each other");
  if (!out.power)
    out.left_out.emplace_back("power: " + setting.machine.name +
                              " has no energies, so that each launch has the clock " + out.clock_source);
}

/// Summarises the step: "layer.gate_up takes 41 %, bound by tensor; layer.down 20 %; launch gaps 3 %".
std::string what_takes_most(const StepAnswer& out) {
  std::vector<const StepEntryAnswer*> order;
  for (const StepEntryAnswer& entry : out.entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->share > b->share; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, order.size()); ++i)
    text += fmt::format("{}{} takes {:.1f} %, bound by {}", i == 0 ? "" : "; ", order[i]->name, 100 * order[i]->share,
                        order[i]->bound);
  return text + fmt::format("; {:.1f} % lie between launches", 100 * out.gaps / out.time);
}

void add_totals(const StepSetting& setting, std::vector<StepLaunch>& launches, StepAnswer& out) {
  hold_one_clock(setting, launches, out);
  for (StepLaunch& launch : launches) finish_entry(setting, launch, out);
  bool whole = out.power.has_value();
  double energy = 0;
  for (StepLaunch& launch : launches) {
    StepEntryAnswer& entry = launch.answer;
    entry.share = static_cast<double>(entry.times) * entry.time / out.time;
    whole = whole && entry.energy;
    if (entry.energy) energy += static_cast<double>(entry.times) * *entry.energy;
    out.entries.push_back(std::move(entry));
  }
  if (whole) out.energy = energy * static_cast<double>(out.gpus);
  out.by_graph /= out.time;
  out.tokens_per_second = static_cast<double>(out.tokens) / out.time;
  out.because = what_takes_most(out);
  add_left_out(setting, out);
}

StepAnswer head_of(const StepAsk& ask, const ModelStep& step, const Machine& machine) {
  StepAnswer out;
  out.step = step.name;
  out.about = step.about;
  out.gpu = ask.gpu;
  out.product = machine.name;
  out.gpus = step.gpus;
  out.dtype = step.dtype;
  out.shape = step.shape;
  out.conditions = ask.conditions;
  out.issue = step.issue;
  out.tokens = step.tokens;
  out.memory = step.holds;
  if (const Stated& memory = machine.levels.front().capacity; memory.known())
    out.memory_limit = static_cast<std::int64_t>(memory.best().value);
  return out;
}

}  // namespace

StepAnswer step_answer(const Session& session, const StepAsk& ask, const Machine& machine, const Island* island) {
  const ModelStep step = load_step(ask, island != nullptr ? island->gpus().get() : 1);
  const StepSetting setting = setting_of(session, ask, machine, island, step);
  StepAnswer out = head_of(ask, step, machine);
  std::vector<StepLaunch> launches(step.entries.size());
  on_all_cores(
      launches.size(), [&](std::size_t i) { launches[i] = launch_of(setting, step.entries[i]); }, 1);
  for (const StepLaunch& launch : launches) {
    if (launch.why.empty()) continue;
    out.because = launch.answer.name + ": " + launch.why;
    return out;
  }
  add_totals(setting, launches, out);
  out.found = !out.memory || !out.memory_limit || *out.memory <= *out.memory_limit;
  if (!out.found)
    out.because = fmt::format("a GPU would hold {:.1f} GB, and {} has {:.1f}", 1e-9 * static_cast<double>(*out.memory),
                              machine.name, 1e-9 * static_cast<double>(*out.memory_limit));
  return out;
}

}  // namespace napkin::internal
