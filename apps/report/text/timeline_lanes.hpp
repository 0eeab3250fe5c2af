#pragma once
// A Lane is one row of a timeline: copies, stores and the tensor unit serve one request at a time and have a row each;
// then each instance of each agent has a row for its threads. Text, trace and picture share lanes. Internal to
// apps/report.

#include <string>
#include <vector>

#include "apps/report/text/timeline.hpp"

namespace napkin::internal::report {

/// A row of the drawing.
struct Lane {
  std::string name;  ///< "copies", "tensor", "consumer 1"
  NodeKind kind = NodeKind::thread;
  int agent = -1, instance = 0;
  int engine = -1;  ///< a copy engine's: index into EventGraph::engines
  [[nodiscard]] bool has(const TimelineAnswer& r, const TimelineSpan& s) const;
};

[[nodiscard]] std::vector<Lane> lanes_of(const TimelineAnswer& r);
/// Writes "P.exp 3 [1]": node, iteration, and the instance if there are several.
[[nodiscard]] std::string label_of(const TimelineAnswer& r, const TimelineSpan& s);
/// Names a pipe: "special beside the tensor unit".
[[nodiscard]] std::string pipe_name(const BusiestPipe& pipe);
/// Names the busiest pipe in the machine's words: "L2 -> shared", "tensor cores".
[[nodiscard]] std::string pipe_words(const TimelineAnswer& r);

}  // namespace napkin::internal::report
