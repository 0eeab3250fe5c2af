#include "apps/library/rank/evaluate.hpp"

#include <fmt/format.h>

#include "apps/library/question/words.hpp"
#include "apps/library/rank/rows.hpp"
#include "model/clock/launch/other_launches.hpp"
#include "model/clock/roofline/combine_cost.hpp"
#include "model/mapping/table_rows.hpp"
#include "model/resource/plan.hpp"

namespace napkin::internal {
namespace {

/// Returns the pipe of a level's transfers. A group of nodes (a cluster) loads over its members' pipe; the pipe among
/// them carries the copies.
const Pipe* feeding_pipe(const Machine& machine, LevelId id) {
  const Level& level = machine.levels[static_cast<std::size_t>(id)];
  if (level.kind != LevelKind::cross_transfer) return machine.pipe_into(id);
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& other = machine.levels[i];
    if (other.parent == level.parent && other.kind != LevelKind::cross_transfer)
      return machine.pipe_into(static_cast<LevelId>(i));
  }
  return nullptr;
}

/// Returns the bytes a second over the pipe into a level; nothing on the abstract machine and if the profile does not
/// say.
std::optional<double> bandwidth_of(const Machine& machine, LevelId level, Hertz clock) {
  const Pipe* pipe = feeding_pipe(machine, level);
  if (pipe == nullptr) return std::nullopt;
  const double rate = bytes_per_second(machine, *pipe, clock);
  if (rate <= 0) return std::nullopt;
  return rate;
}

}  // namespace

Hertz clock_of(const Machine& machine) {
  for (const auto& clock : {machine.clocks.tensor, machine.clocks.maximum, machine.clocks.base}) {
    if (clock) return Hertz(clock->value);
  }
  return Hertz(0);
}

Placer placer_of(const Setup& setup) { return {*setup.streamed, *setup.mapping, *setup.machine, setup.problem}; }

Placement place(const Placer& placer, const Tile& tile) {
  Placement placement{placer.place(tile), {}, {}};
  placement.plan = plan(placement.placed);
  placement.violations = violations(placement.placed, placement.plan);
  return placement;
}

std::vector<LevelAnswer> levels_of(const PlacedDiagram& placed, Hertz clock, Rereads rereads) {
  const Machine& machine = *placed.machine;
  const std::vector<LevelTransfer> moved = transfers(placed, rereads);
  const std::vector<LevelMemory> held = memories(placed);
  std::vector<LevelAnswer> levels;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const LevelTransfer& transfer = moved[i];
    LevelAnswer level;
    level.name = machine.levels[static_cast<std::size_t>(transfer.level)].name;
    level.groups = transfer.groups.get();
    level.load = transfer.load.value.get();
    level.store = transfer.store.value.get();
    level.transfer = transfer.transfer().value.get();
    if (rereads != Rereads::none || !counts_rereads(machine, transfer.level))
      level.delivered = transfer.delivered.value.get();
    level.transfer_per_group = transfer.transfer_per_group.value.get();
    for (const LevelMemory& memory : held) {
      if (memory.level != transfer.level) continue;
      level.memory_lower_bound = memory.lower_bound.value.get();
      level.memory_live = memory.live.value.get();
      level.memory = memory.allocated.value.get();
      if (memory.limit) level.memory_limit = memory.limit->value.get();
    }
    level.bandwidth = bandwidth_of(machine, transfer.level, clock);
    if (level.bandwidth) level.time = static_cast<double>(level.transfer) / *level.bandwidth;
    if (transfer.delivered_apart && i + 1 < moved.size()) {
      level.hit_rate = hit_rate(moved[i + 1], transfer.delivered);
      level.hit_rate_apart = hit_rate(moved[i + 1], *transfer.delivered_apart);
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

std::optional<CombineAnswer> combine_of(const PlacedDiagram& placed, Hertz clock) {
  const auto moved = combine_moved(placed);
  if (!moved) return std::nullopt;
  const PlacedCombine& how = *placed.combine;
  if (CombineMapping::keeps_apart(how.by) && moved->parts <= Count(1)) return std::nullopt;  // there is one part
  const LevelId at = how.at < 0 ? 0 : placed.levels[static_cast<std::size_t>(how.at)].level;
  const Synchronisation sync = synchronisation(placed, clock);
  CombineAnswer answer;
  answer.by = CombineMapping::words[static_cast<std::size_t>(how.by)];
  answer.at = placed.machine->levels[static_cast<std::size_t>(at)].name;
  answer.parts = moved->parts.get();
  answer.steps = sync.steps.get();
  answer.load = moved->loaded.value.get();
  answer.store = (moved->stored + moved->whole).value.get();
  if (clock.value > 0 && sync.known) answer.time = sync.clocks / clock.value + sync.launch.value;
  return answer;
}

std::vector<std::string> launch_notes(const PlacedDiagram& placed) {
  std::vector<std::string> each;
  double sum = 0;
  for (const OtherLaunch& one : other_launches(placed, clock_of(*placed.machine))) {
    sum += one.time.value;
    each.push_back(fmt::format("{} reads {:.4g} MB and writes {:.4g} MB", one.name, 1e-6 * real(one.read.value),
                               1e-6 * real(one.written.value)));
  }
  std::vector<std::string> notes;
  if (!each.empty())
    notes.push_back(fmt::format("{:.4g} us of the time are other launches, whose bytes are not among the levels': {}",
                                1e6 * sum, fmt::join(each, ", ")));
  if (const Bytes spilled = spilled_bytes(placed); spilled.value > Count(0))
    notes.push_back(fmt::format("its compiler spills: {} B of a thread lie in local memory", spilled.value.get()));
  if (const auto settings = settings_without_row(*placed.mapping, placed.tile); !settings.empty())
    notes.push_back(
        fmt::format("no table of {} has a row of {}: registers are its arrays' and a rule's, instructions "
                    "those of the nearest rows",
                    placed.mapping->name, fmt::join(settings, " or ")));
  if (std::string rows = row_note(placed); !rows.empty()) notes.push_back(std::move(rows));
  return notes;
}

WorkAnswer work_answer(const PlacedDiagram& placed) {
  const Work done = work(placed);
  return {done.flops.value.get(), done.executed_flops.value.get(), done.exponentials.get()};
}

PredictedAnswer answer_of(const Prediction& prediction) {
  PredictedAnswer answer;
  answer.cycles = prediction.cycles.value;
  answer.clock = prediction.clock.value;
  answer.clock_source = prediction.clock_source;
  if (prediction.power) answer.power = prediction.power->value;
  answer.time = prediction.time.value;
  answer.tflops = prediction.tflops;
  answer.bound = prediction.bound;
  for (const PipeUse& pipe : prediction.pipes) answer.pipes.emplace_back(pipe.name, pipe.busy);
  if (const auto& one = prediction.iteration)
    answer.iteration = {one->clocks, one->pipe, one->pipe_clocks, one->waits, one->waits_clocks, one->contention};
  answer.ends = prediction.ends;
  answer.nodes = {prediction.busy_nodes.get(), prediction.nodes.get()};
  answer.at_least = prediction.at_least;
  return answer;
}

std::optional<PredictedAnswer> bound_of(const PlacedDiagram& placed) {
  const auto least = least_time(placed);
  if (!least) return std::nullopt;
  return answer_of(*least);
}

std::vector<ViolationAnswer> answer_of(const std::vector<Violation>& violations, const Question& question,
                                       const Mapping& mapping) {
  std::vector<ViolationAnswer> answer;
  for (const Violation& v : violations)
    answer.push_back({v.constraint, v.needed, v.available, words_of(v, question, mapping)});
  return answer;
}

OccupancyAnswer answer_of(const Plan& plan) {
  return {plan.registers_per_thread.get(), plan.registers_limit.get(), plan.shared_total.value.get(),
          plan.shared_limit.value.get(),   plan.blocks_per_sm.get(),   plan.limited_by};
}

}  // namespace napkin::internal
