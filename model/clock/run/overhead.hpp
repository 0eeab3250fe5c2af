#pragma once
// overhead_budget returns how much longer than counted an operation's vector work may take before the tensor unit
// waits: the paper's "overhead", and the hatched areas of its Figures 34 to 37. (model/README.md, "Time: room for
// overhead")

#include <string>
#include <string_view>
#include <vector>

#include "model/clock/run/period.hpp"

namespace napkin::internal {

/// Returns the operations with vector work in the loop ("P" of "P.exp"), in the graph's order.
[[nodiscard]] std::vector<std::string> operations_with_overhead(const EventGraph& graph);

/// Returns the graph with that operation's vector work taking 1 + overhead times its clocks on every pipe. Throws Error
/// for an operation without such work, and for an overhead outside 0 to 1000.
[[nodiscard]] EventGraph with_overhead(EventGraph graph, std::string_view operation, double overhead);

/// Returns the largest overhead, to 1e-6, that lengthens no iteration. Throws Error as with_overhead does.
[[nodiscard]] double overhead_budget(const EventGraph& graph, std::string_view operation);

/// Returns the share of a steady iteration in which the matrix unit works.
[[nodiscard]] double tensor_share(const EventGraph& graph, const Period& period);

}  // namespace napkin::internal
