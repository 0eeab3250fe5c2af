#include "napkin/island.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "apps/library/answer/island_ways.hpp"
#include "model/fusion/derive.hpp"
#include "model/island/devices.hpp"
#include "model/machine/numbers.hpp"
#include "napkin/napkin.hpp"
#include "solver/emit/nccl.hpp"
#include "solver/optimum/program.hpp"
#include "solver/optimum/sharing.hpp"

namespace napkin::internal {
namespace {

/// A number matters if a tenth more of it changes the time by 0.5 %, as on one GPU.
constexpr double tenth = 1.1, matters = 0.005;

/// Returns the standing of the launches that take most, with the island's numbers of which a tenth more changes the
/// time by half a percent or more.
StandingAnswer standing_of(const Way& way, const Island& island, const Machine& machine, const StandingAnswer* launch) {
  StandingAnswer out;
  if (launch != nullptr) out = *launch;
  BasisAnswer weakest = out.weakest.value_or(BasisAnswer());
  out.band.reset();
  out.least.reset();
  out.unsure = "of several GPUs only two H200s were compared with measurements";
  out.left_out.emplace_back(island.call_nodes
                                ? "what copies and kernels take of each other's memory bandwidth"
                                : "what copies and kernels take of each other's memory bandwidth and SMs");
  const auto order = [](std::string_view basis) {
    int place = 0;
    while (place < 4 && name_of(static_cast<Basis>(place)) != basis) ++place;
    return place;
  };
  const auto weigh = [&](const std::string& name, const Number& number, const Island& changed) {
    if (std::abs(way.time_on(changed) / way.time.seconds - 1) < matters) return;
    const std::string basis(name_of(basis_of(machine, number.from)));
    if (order(basis) < order(weakest.basis)) return;
    if (order(basis) > order(weakest.basis)) weakest.numbers.clear();
    weakest.basis = basis;
    if (basis != name_of(Basis::measured)) weakest.numbers.push_back(name);
  };
  for (std::size_t i = 0; i < island.links.size(); ++i) {
    Island faster = island, later = island;
    faster.links[i].bandwidth.value *= tenth;
    for (auto& [kind, rate] : faster.links[i].bandwidth_of) rate.value *= tenth;
    later.links[i].latency.value *= tenth;
    weigh("levels." + island.links[i].name + ".bandwidth", island.links[i].bandwidth, faster);
    weigh("levels." + island.links[i].name + ".latency", island.links[i].latency, later);
  }
  Island slower = island;
  slower.call.value *= tenth;
  weigh("call", island.call, slower);
  out.weakest = std::move(weakest);
  return out;
}

std::vector<std::string> names_of(const Diagram& diagram, const std::vector<ArrayId>& arrays) {
  std::vector<std::string> names;
  for (const ArrayId id : arrays) names.push_back(diagram.arrays[at(id)].name);
  return names;
}

DeviceLaunchAnswer answer_of(const Session& session, const IslandQuestion& question, const Way& way,
                             const AskedLaunch& asked) {
  const Ask ask = ask_of(question, way.division.split.diagram, asked.launch);
  DeviceLaunchAnswer out;
  out.shape = sizes_by_name(way.division.split.diagram, asked.launch.problem.sizes);
  out.mask = asked.launch.problem.mask;
  out.launches = asked.count;
  out.kernel = asked.answer->head.kernel;
  out.tile = asked.answer->head.tile;
  out.predicted = *session.query(ask, {.standing = true, .weakest = true})->predicted;
  out.adding = asked.adding;
  return out;
}

DividedAnswer answer_of(const Session& session, const IslandQuestion& question, const Way& way) {
  const Diagram& diagram = way.division.split.diagram;
  DividedAnswer out;
  out.split = way.division.split.name;
  out.order = name_of(way.division.order);
  out.gpus = way.division.gpus;
  for (const Moved& one : moved(way.division)) {
    out.moved.push_back({diagram.arrays[at(one.array)].name, std::string(name_of(one.by)), one.after,
                         one.at_home.value.get(), one.received.value.get(), one.all.value.get()});
    out.received += one.received.value.get();
  }
  for (const Transport& one : way.transports) {
    out.transports.push_back({std::string(name_of(one.by)), names_of(diagram, one.arrays), one.after, one.calls.get(),
                              one.received.value.get(), one.seconds, one.level});
    out.ring = out.ring || one.by == Carrier::ring;
  }
  for (const AskedLaunch& asked : way.launches) {
    out.launches.push_back(answer_of(session, question, way, asked));
    out.at_least = out.at_least || out.launches.back().predicted.at_least;
  }
  out.memory = held(way.division, ring_buffers).value.get();
  out.memory_limit = way.memory_limit;
  out.time = way.time.seconds;
  out.work = way.time.work;
  out.exposed = way.time.exposed;
  out.hidden = way.time.hidden;
  out.bound = way.time.bound;
  out.imbalance = way.imbalance;
  out.tflops = way.flops / way.time.seconds / 1e12;
  const auto heaviest = static_cast<std::size_t>(&way.heaviest() - way.launches.data());
  const auto& standing = out.launches[heaviest].predicted.standing;
  out.standing = standing_of(way, question.island, *question.machine, standing ? &*standing : nullptr);
  return out;
}

/// Writes a launch in short: "b=1 h=8 q=8192 x=8192 d=128, causal".
std::string text_of(const DeviceLaunch& launch, const Diagram& diagram) {
  std::string text;
  for (const auto& [axis, size] : sizes_by_name(diagram, launch.problem.sizes))
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  if (launch.problem.mask.kind != Mask::Kind::none) text += ", " + napkin::text_of(launch.problem.mask);
  return text;
}

std::string because_of(const IslandAnswer& answer) {
  if (answer.ways.empty())
    return answer.refused.empty() ? "no split is known of " + answer.head.algorithm : answer.refused.front().second;
  const DividedAnswer& best = answer.ways.front();
  std::string text;
  if (best.ring) {
    text = best.hidden
               ? "the ring is hidden: its copies do not delay the last GPU's end"
               : fmt::format("the ring is not hidden: {:.0f} us of copies that work waits for", 1e6 * best.exposed);
    if (best.hidden_from) text += fmt::format("; it is from a sequence of {} on", *best.hidden_from);
  } else if (best.transports.empty()) {
    text = "nothing moves between GPUs";
  } else {
    text = fmt::format("{:.0f} us of calls before and behind {:.0f} us of work", 1e6 * best.exposed, 1e6 * best.work);
  }
  if (answer.ways.size() > 1) {
    constexpr double alike = 5e-4;
    const DividedAnswer& next = answer.ways[1];
    const double loss = next.time / best.time - 1;
    text += fmt::format("; the runner-up, {} {}, ", next.split, next.order) +
            (loss < alike ? "takes as long" : fmt::format("loses {:.1f} %", 100 * loss));
  }
  return text;
}

/// Returns what the GPUs save one another under the laws, whatever the split.
std::optional<SharingAnswer> sharing_of(const IslandQuestion& question, const Division& division) {
  const Diagram& diagram = division.split.diagram;
  const GeometricProgram program =
      program_of(derive(diagram), division.problem, value_bytes(diagram, division.problem.dtype));
  if (program.axes.empty() || question.gpus < 2 || question.island.links.empty()) return std::nullopt;
  const Stated& holds = question.machine->levels.front().capacity;
  const auto gpus = static_cast<double>(question.gpus);
  const Sharing shared =
      sharing(program, holds.known() ? holds.best().value : std::numeric_limits<double>::infinity(), gpus);
  const double rate = question.island.links.back().bandwidth.value;
  return SharingAnswer{shared.memory, shared.apart, shared.together, shared.between(),
                       shared.between() / (gpus * rate)};
}

IslandAnswer answer_of(const Session& session, const IslandQuestion& question, const IslandWays& ways) {
  IslandAnswer out;
  out.product = question.island.gpu;
  out.gpus = question.island.gpus().get();
  out.found = !ways.ways.empty();
  out.refused = ways.refused;
  for (const Way& way : ways.ways) out.ways.push_back(answer_of(session, question, way));
  out.head.algorithm = question.ask.algorithm;
  out.head.gpu = question.island.name;
  out.head.dtype = std::string(name_of(question.problem.dtype));
  out.head.mask = question.ask.mask;
  out.head.shape = question.shape;
  if (!ways.ways.empty()) {
    out.sharing = sharing_of(question, ways.ways.front().division);
    const QueryAnswer& heaviest = *ways.ways.front().heaviest().answer;
    out.head.kernel = heaviest.head.kernel;
    out.head.bundled = heaviest.head.bundled;
    out.head.tile = heaviest.head.tile;
    out.head.terms = heaviest.head.terms;
  }
  return out;
}

/// Simulates the GPUs at a few elements of every axis, each axis cut into as many parts as in the question.
DevicesCheck check_of(const Way& way) {
  Division small = way.division;
  const std::int64_t cuts = small.cuts();
  std::vector<bool> cut(small.problem.sizes.size());
  cut[at(small.split.group)] = true;
  if (small.split.stream) cut[at(*small.split.stream)] = true;
  for (const auto& home : small.split.homes) {
    if (home) cut[at(*home)] = true;
  }
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const Count size = small.problem.sizes[i];
    small.problem.sizes[i] = std::min(size, cut[i] ? Count(size == Count(cuts) ? cuts : 2 * cuts) : Count(3));
  }
  const Diagram& diagram = small.split.diagram;
  const Tensors inputs = random_inputs(diagram, small.problem.sizes, 1);
  const DevicesRun run = run_devices(small, inputs);
  const Run whole = run_unfused(diagram, small.problem, inputs);
  DevicesCheck out;
  out.shape = sizes_by_name(diagram, small.problem.sizes);
  small.problem.dtype = DType::value;
  out.equal = true;
  for (const Moved& one : moved(small)) {
    Count counted;
    for (const auto& gpu : run.received) counted += gpu[at(one.array)];
    out.counted.push_back({diagram.arrays[at(one.array)].name, {counted.get(), one.all.value.get()}});
    out.equal = out.equal && counted == one.all.value;
  }
  for (const auto& [name, tensor] : whole.outputs)
    out.output_error = std::max(out.output_error, difference(tensor, run.outputs.at(name)) / largest(tensor));
  out.equal = out.equal && out.output_error <= 1e-12;
  return out;
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

bool asks_island(const Ask& ask) { return !ask.memory && is_island(ask.gpu); }

IslandAnswer query_island(const Session& session, const Ask& ask) {
  const IslandQuestion question = island_question(session, ask);
  IslandWays ways = ways_of(session, question);
  if (ways.ways.size() > 1) ways.ways.resize(1);
  IslandAnswer out = answer_of(session, question, ways);
  out.because = because_of(out);
  if (ask.check && !ways.ways.empty()) out.check = check_of(ways.ways.front());
  return out;
}

IslandAnswer select_island(const Session& session, const Ask& ask, int top) {
  const IslandQuestion question = island_question(session, ask);
  IslandWays ways = ways_of(session, question);
  if (std::ssize(ways.ways) > top) ways.ways.resize(static_cast<std::size_t>(top));
  IslandAnswer out = answer_of(session, question, ways);
  if (!out.ways.empty() && out.ways.front().ring)  // a search of seconds
    out.ways.front().hidden_from = hidden_from(session, question, ways.ways.front());
  out.because = because_of(out);
  return out;
}

Emission nccl_calls(const Session& session, const Ask& ask) {
  const IslandQuestion question = island_question(session, ask);
  const IslandWays ways = ways_of(session, question);
  if (ways.ways.empty()) return {"", false, ways.refused.empty() ? "no split fits" : ways.refused.front().second};
  const Way& way = ways.ways.front();
  std::vector<std::vector<std::string>> launches;
  for (const AskedLaunch& asked : way.launches) {
    const Head& head = asked.answer->head;
    launches.push_back({head.kernel.value_or(head.algorithm), text_of(asked.launch, way.division.split.diagram)});
  }
  return {emit_nccl(way.division, way.transports, question.island.name, launches), true, ""};
}

}  // namespace napkin
