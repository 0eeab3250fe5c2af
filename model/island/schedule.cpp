#include "model/island/schedule.hpp"

#include <algorithm>

#include "model/clock/run/timeline.hpp"

namespace napkin::internal {
namespace {

constexpr double clocks_a_second = 1e9;  // clocks a second of the graph, whose unit is the nanosecond
constexpr double same_time = 1e-9;       // relative difference up to which two sums of seconds are equal

/// The number of participating GPUs that each level joins.
struct Reach {
  std::int64_t below = 1, here = 1;
};

std::vector<Reach> reaches_of(const Island& island, std::int64_t gpus) {
  std::vector<Reach> out;
  std::int64_t below = 1;
  for (const Link& link : island.links) {
    if (below >= gpus) break;
    const std::int64_t here = std::min(gpus, below * link.joins.get());
    out.push_back({below, here});
    below = here;
  }
  return out;
}

struct Slowest {
  double seconds = 0, latency = 0;
  std::string level;
};

/// Returns the level whose links take longest. In an all-to-all, pairs exchange equal parts over the level
/// that joins them; a ring of copies passes all bytes over each level's links; the library's collectives divide them
/// among a ring for each GPU below. (eq. 20.6)
Slowest slowest_of(const Island& island, std::int64_t gpus, Carrier by, double received) {
  Slowest out;
  const auto reaches = reaches_of(island, gpus);
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const Link& link = island.links[i];
    double bytes = received;
    if (by == Carrier::all_to_all)
      bytes *= static_cast<double>(reaches[i].here - reaches[i].below) / static_cast<double>(gpus - 1);
    else if (by != Carrier::ring)
      bytes /= static_cast<double>(reaches[i].below);
    const auto rate = link.bandwidth_of.find(name_of(by));
    const double seconds = bytes / (rate == link.bandwidth_of.end() ? link.bandwidth : rate->second).value;
    if (seconds >= out.seconds) out.level = link.name;
    out.seconds = std::max(out.seconds, seconds);
    out.latency = std::max(out.latency, link.latency.value);
  }
  return out;
}

/// Returns the number of hops that a call makes in sequence, with one array.
std::int64_t hops_of(Carrier by, std::int64_t gpus) {
  switch (by) {
    case Carrier::none: return 0;
    case Carrier::ring:
    case Carrier::all_to_all: return 1;
    case Carrier::all_gather:
    case Carrier::reduce_scatter: return gpus - 1;
    case Carrier::all_reduce: return 2 * (gpus - 1);
  }
  return 0;
}

/// Makes the event graph of a GPU's ring: its own block is worked on first, each further step waits for its copy, and a
/// copy waits for the buffer that the step `ring_buffers` earlier has freed.
EventGraph ring_graph(double first, double step, double copy, double finishing) {
  EventGraph graph;
  graph.pipes = {{"tensor", 1}, {"issue", 1}};
  const auto add = [&](const char* name, NodeKind kind, Phase phase, double seconds) {
    EventNode node;
    node.name = name;
    node.kind = kind;
    node.phase = phase;
    node.agent = kind == NodeKind::copy ? -1 : 0;
    node.clocks = clocks_a_second * seconds;
    node.demand.assign(graph.pipes.size(), 0);
    graph.nodes.push_back(std::move(node));
    graph.instances.push_back(1);
    return static_cast<int>(graph.nodes.size()) - 1;
  };
  const int own = add("own block", NodeKind::thread, Phase::head, first);
  const int sent = add("copy", NodeKind::copy, Phase::loop, copy);
  const int work = add("step", NodeKind::thread, Phase::loop, step);
  const int home = add("result", NodeKind::thread, Phase::tail, finishing);
  const auto edge = [&](int from, int to, int delay) {
    EventEdge one;
    one.from = from;
    one.to = to;
    one.delay = delay;
    graph.edges.push_back(one);
  };
  edge(own, work, 0);
  edge(sent, work, 0);
  edge(work, sent, ring_buffers);
  edge(work, work, 1);
  edge(work, home, 0);
  return graph;
}

/// Returns the log-sum-exps needed to add up parts: one for each row of a softmax over the streamed axis.
Count log_sum_exps(const Split& split, const Sizes& sizes) {
  Count sum;
  for (const Operation& operation : split.diagram.operations) {
    if (operation.kind != OpKind::softmax || !operation.owns(*split.stream)) continue;
    Array rows = split.diagram.arrays[at(operation.outputs.front())];
    std::erase_if(rows.axes, [&](AxisId axis) { return operation.owns(axis); });
    sum += volume(rows, sizes).value;
  }
  return sum;
}

/// Sets a call's time, and what limits it: by the island's own protocol, or by a faster one of the library's
/// collectives.
void time_call(const Island& island, std::int64_t gpus, Transport& one) {
  const double bytes = real(one.received.value) / real(one.calls);
  const Slowest slowest = slowest_of(island, gpus, one.by, bytes);
  one.level = slowest.level;
  const double hops =
      std::max(static_cast<double>(one.arrays.size()), 1.0) * static_cast<double>(hops_of(one.by, gpus));
  one.seconds = island.call.value + slowest.seconds + hops * slowest.latency;
  const bool collective =
      one.by == Carrier::all_gather || one.by == Carrier::reduce_scatter || one.by == Carrier::all_reduce;
  if (!collective || gpus > island.links.front().joins.get()) return;
  for (const Protocol& other : island.protocols) {
    const double seconds = other.call.value + hops * other.latency.value + bytes / other.bandwidth.value;
    one.seconds = std::min(one.seconds, seconds);
  }
}

/// Returns the time of a step beside a copy that holds a share of the GPU's nodes. (eq. 20.9)
double beside(const StepTime& step, double copy, double held) {
  const double alone = step.all();
  if (held <= 0 || alone <= 0) return alone;
  return step.stays ? alone + copy : std::min(alone / (1 - held), alone + held * copy);
}

/// The time of a GPU in a ring: until its last step ends, and the sum of its steps, all but the last beside copies.
struct RingTime {
  double seconds = 0, busy = 0;
};

RingTime ring_time(const std::vector<StepTime>& steps, double copy, double finishing, double held) {
  const auto longest = std::max_element(steps.begin() + 1, steps.end(),
                                        [](const StepTime& a, const StepTime& b) { return a.all() < b.all(); });
  double busy = steps.back().all() + finishing;
  for (std::size_t t = 0; t + 1 < steps.size(); ++t) busy += beside(steps[t], copy, held);
  const double most = longest->all(), slowed = beside(*longest, copy, held);
  const int rounds = static_cast<int>(steps.size()) - 1;
  const EventGraph graph = ring_graph(beside(steps.front(), copy, held), slowed, copy, finishing);
  return {run(graph, rounds).clocks / clocks_a_second - (slowed - most), busy};
}

}  // namespace

std::vector<Transport> transports_of(const Division& division, const Island& island) {
  std::vector<Transport> out;
  for (const Moved& one : moved(division)) {
    if (one.by == Carrier::none) continue;
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const Transport& t) { return t.by == one.by && t.after == one.after; });
    Transport& into = known != out.end() ? *known : out.emplace_back();
    into.by = one.by;
    into.after = one.after;
    into.arrays.push_back(one.array);
    into.received += one.received;
  }
  for (Transport& one : out) {
    if (one.by == Carrier::ring) one.calls = Count(division.gpus - 1);
    time_call(island, division.gpus, one);
  }
  return out;
}

Transport transport_of(const Island& island, std::int64_t gpus, Carrier by, Bytes array) {
  Transport out;
  out.by = by;
  const Count passes = by == Carrier::all_reduce ? 2 : 1;
  out.received = Bytes(ceil_div(passes * Count(gpus - 1) * array.value, Count(gpus)));
  time_call(island, gpus, out);
  return out;
}

Bytes adding_bytes(const Division& division, const std::vector<DeviceLaunch>& step, bool first) {
  const Split& split = division.split;
  Bytes sum;
  if (!split.parts) return sum;
  for (const DeviceLaunch& launch : step) {
    for (const ArrayId id : split.diagram.outputs) {
      const Count values = volume(split.diagram.arrays[at(id)], launch.problem.sizes).value;
      const Bytes running = bytes_of(values, *split.parts);
      sum += bytes_of(values, division.problem.dtype) + running * Count(first ? 1 : 2);
    }
    const Bytes sums = bytes_of(log_sum_exps(split, launch.problem.sizes), *split.parts);
    sum += sums * Count(first ? 2 : 3);
  }
  return sum;
}

Bytes finishing_bytes(const Division& division) {
  const Split& split = division.split;
  Bytes sum;
  if (!split.parts || division.gpus == 1) return sum;
  for (const ArrayId id : split.diagram.outputs) {
    Sizes sizes = division.problem.sizes;
    sizes[at(split.group)] = sizes[at(split.group)] / Count(division.gpus);
    const Count values = volume(split.diagram.arrays[at(id)], sizes).value;
    sum += bytes_of(values, *split.parts) + bytes_of(values, division.problem.dtype);
  }
  return sum;
}

double held_share(const Island& island, const Machine& machine) {
  constexpr double most = 0.9;  // largest share of nodes that a copy holds, so that some are left for the work
  if (!island.call_nodes) return 0;
  return std::min(island.call_nodes->value / real(machine.compute_nodes()), most);
}

IslandTime time_of(const std::vector<Transport>& transports, const std::vector<std::vector<StepTime>>& steps,
                   double finishing, double held) {
  IslandTime out;
  double copies = 0, longest = 0, busiest = 0;
  const Transport* ring = nullptr;
  for (const Transport& one : transports) {
    out.bound = one.level;
    if (one.by == Carrier::ring) ring = &one;
    if (one.by != Carrier::ring) copies += one.seconds;
  }
  for (const auto& gpu : steps) {
    double work = finishing;
    for (const StepTime& step : gpu) work += step.all();
    out.work = std::max(out.work, work);
    const RingTime time = ring == nullptr ? RingTime{work, work} : ring_time(gpu, ring->seconds, finishing, held);
    longest = std::max(longest, time.seconds);
    busiest = std::max(busiest, time.busy);
  }
  out.seconds = longest + copies;
  out.exposed = std::max(out.seconds - out.work, 0.0);
  out.hidden = ring != nullptr ? longest <= (1 + same_time) * busiest : copies == 0;
  if (ring != nullptr ? out.hidden : copies <= out.work) out.bound = "work";
  return out;
}

}  // namespace napkin::internal
