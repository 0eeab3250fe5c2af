#include "model/clock/run/overhead.hpp"

#include <algorithm>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

constexpr double same_period = 1e-9;    // of a period, beside which two are one
constexpr double least_step = 1e-6;     // of an overhead
constexpr double most_overhead = 1000;  // what a user may suppose; a budget is less: such work waits for itself

/// Returns the operation that this vector work of the loop belongs to; empty: none.
std::string_view operation_of(const EventNode& node) {
  const std::size_t dot = node.name.find('.');
  if (node.kind != NodeKind::thread || node.phase != Phase::loop || dot == std::string::npos) return {};
  return std::string_view(node.name).substr(0, dot);
}

}  // namespace

std::vector<std::string> operations_with_overhead(const EventGraph& graph) {
  std::vector<std::string> out;
  for (const EventNode& node : graph.nodes) {
    const std::string_view operation = operation_of(node);
    if (node.clocks <= 0 || operation.empty()) continue;
    if (std::find(out.begin(), out.end(), operation) == out.end()) out.emplace_back(operation);
  }
  return out;
}

EventGraph with_overhead(EventGraph graph, std::string_view operation, double overhead) {
  if (!(overhead >= 0 && overhead <= most_overhead))
    throw Error("--overhead", "out of range", "a fraction from 0 to 1000, such as 0.66");
  const std::vector<std::string> known = operations_with_overhead(graph);
  if (std::find(known.begin(), known.end(), operation) == known.end())
    throw Error("--overhead", "no vector work of '" + std::string(operation) + "' in an iteration",
                known.empty() ? "none has any" : one_of(operation, known));
  for (EventNode& node : graph.nodes) {
    if (operation_of(node) != operation) continue;
    node.clocks *= 1 + overhead;
    node.serial *= 1 + overhead;
    for (double& clocks : node.demand) clocks *= 1 + overhead;
  }
  return graph;
}

double overhead_budget(const EventGraph& graph, std::string_view operation) {
  const double now = period(graph, false).clocks;
  const auto lengthens = [&](double overhead) {
    return period(with_overhead(graph, operation, overhead), false).clocks > now * (1 + same_period);
  };
  double fits = 0, longer = least_step;
  if (lengthens(longer)) return 0;
  // Thread work waits for itself, so that there is an end.
  for (; longer < most_overhead && !lengthens(longer); longer *= 2) fits = longer;
  while (longer - fits > least_step) {
    const double middle = (fits + longer) / 2;
    (lengthens(middle) ? longer : fits) = middle;
  }
  return fits;
}

double tensor_share(const EventGraph& graph, const Period& period) {
  double clocks = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    if (node.phase != Phase::loop) continue;
    clocks += (node.kind == NodeKind::tensor ? node.clocks - node.idle : node.demand[tensor_pipe]) * graph.instances[n];
  }
  return clocks / period.clocks;
}

}  // namespace napkin::internal
