#include "apps/report/text/timeline_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace napkin::internal::report {
namespace {

bool has_threads(const EventGraph& graph, int agent) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const EventNode& n) { return n.kind == NodeKind::thread && n.agent == agent; });
}

}  // namespace

bool Lane::has(const TimelineAnswer& r, const TimelineSpan& s) const {
  const EventNode& node = r.graph.node(s.node);
  if (engine >= 0 || node.engine >= 0) return node.engine == engine;
  return node.kind == kind && (kind != NodeKind::thread || (node.agent == agent && s.instance == instance));
}

std::vector<Lane> lanes_of(const TimelineAnswer& r) {
  std::vector<Lane> lanes;
  for (std::size_t e = 0; e < r.graph.engines.size(); ++e)
    lanes.push_back({r.graph.engines[e], NodeKind::copy, -1, 0, static_cast<int>(e)});
  for (const auto& [kind, name] : {std::pair{NodeKind::copy, "copies"}, std::pair{NodeKind::store, "stores"},
                                   std::pair{NodeKind::tensor, "tensor"}}) {
    const auto of_kind = [k = kind](const EventNode& n) { return n.kind == k && n.engine < 0; };
    if (std::any_of(r.graph.nodes.begin(), r.graph.nodes.end(), of_kind)) lanes.push_back({name, kind});
  }
  for (std::size_t a = 0; a < r.agents.size(); ++a) {
    if (!has_threads(r.graph, static_cast<int>(a))) continue;
    int instances = 1;
    for (std::size_t n = 0; n < r.graph.nodes.size(); ++n) {
      if (r.graph.nodes[n].agent == static_cast<int>(a)) instances = r.graph.instances[n];
    }
    for (int i = 0; i < instances; ++i)
      lanes.push_back({fmt::format("{} {}", r.agents[a], i), NodeKind::thread, static_cast<int>(a), i});
  }
  return lanes;
}

std::string label_of(const TimelineAnswer& r, const TimelineSpan& s) {
  return fmt::format("{} {}{}", r.graph.node(s.node).name, s.iteration,
                     r.graph.instances[static_cast<std::size_t>(s.node)] > 1 ? fmt::format(" [{}]", s.instance) : "");
}

std::string pipe_words(const TimelineAnswer& r) {
  BusiestPipe named = r.period.pipe;
  named.name = r.words.pipe(named.name);
  return pipe_name(named);
}

std::string pipe_name(const BusiestPipe& pipe) {
  return fmt::format("{}{}", pipe.name, pipe.beside_tensor ? " beside the tensor unit" : "");
}

}  // namespace napkin::internal::report
