#include "apps/report/text/timeline_waits.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace napkin::internal::report {
namespace {

constexpr double same_clock = 0.5;

using Place = std::tuple<int, int, int>;  // node, instance, iteration

bool other_lane(const EventNode& from, const EventNode& to, const TimelineSpan& a, const TimelineSpan& b) {
  return from.kind != to.kind || from.agent != to.agent || (from.kind == NodeKind::thread && a.instance != b.instance);
}

/// Returns the instances of a node that an edge may come from: the sink's own, shifted by agents, or all at a barrier.
std::vector<int> sources(const EventGraph& graph, const EventEdge& edge, int instance) {
  const int many = graph.instances[static_cast<std::size_t>(edge.from)];
  std::vector<int> out;
  if (edge.barrier || many == 1) {
    for (int i = 0; i < many; ++i) out.push_back(i);
    return out;
  }
  const int from = (instance - edge.agents) % many;
  return {from < 0 ? from + many : from};
}

}  // namespace

std::vector<Wait> waits_of(const TimelineAnswer& r) {
  std::map<Place, std::size_t> at;
  for (std::size_t i = 0; i < r.run.spans.size(); ++i) {
    const TimelineSpan& s = r.run.spans[i];
    at[{s.node, s.instance, s.iteration}] = i;
  }
  std::vector<Wait> out;
  for (std::size_t i = 0; i < r.run.spans.size(); ++i) {
    const TimelineSpan& s = r.run.spans[i];
    const EventNode& to = r.graph.node(s.node);
    if (to.kind != NodeKind::thread) continue;
    std::optional<std::size_t> on;
    for (const EventEdge& edge : r.graph.edges) {
      const EventNode& from = r.graph.node(edge.from);
      if (edge.to != s.node || edge.after != EdgeFrom::done || from.phase != to.phase) continue;
      for (const int instance : sources(r.graph, edge, s.instance)) {
        const auto source = at.find({edge.from, instance, s.iteration - edge.delay});
        if (source == at.end()) continue;
        const TimelineSpan& before = r.run.spans[source->second];
        const double ready = before.end + from.latency + edge.latency;
        if (other_lane(from, to, before, s) && std::abs(ready - s.start) <= same_clock) on = source->second;
      }
    }
    if (on) out.push_back({i, *on});
  }
  return out;
}

}  // namespace napkin::internal::report
