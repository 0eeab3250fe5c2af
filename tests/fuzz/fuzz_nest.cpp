// Any bytes as a loop nest: only Error may come out; what parses survives print and parse, has a dependence graph, and
// steps that claim to preserve the outputs of a small nest do.
// links: model/dependence

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/dependence/execute.hpp"
#include "model/dependence/order.hpp"
#include "model/dependence/text.hpp"
#include "model/dependence/traffic.hpp"
#include "model/dependence/transform.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;

void require(bool holds) {
  if (!holds) std::abort();
}

// Returns true if the nest is small enough to be run in no time.
bool is_small(const Nest& nest) {
  double iterations = 1, offsets = 1;
  for (const Loop& l : nest.loops) iterations *= static_cast<double>(l.size());
  const auto measure = [&](const Reference& r) {
    for (const Subscript& s : r.subscripts) offsets = std::max(offsets, std::abs(static_cast<double>(s.offset)));
    if (r.subscripts.size() > 4) offsets = 1e9;
  };
  for (const Statement& s : nest.statements) {
    for_each_reference(s.value, measure);
    measure(s.target);
  }
  return iterations <= 2000 && offsets <= 10;
}

bool equal(const Cells& a, const Cells& b) {
  if (a.cells.size() != b.cells.size()) return false;
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    const bool both_nan = a.cells[i] != a.cells[i] && b.cells[i] != b.cells[i];
    if (a.cells[i] != b.cells[i] && !both_nan) return false;
  }
  return true;
}

void walk(const Nest& nest) {
  const std::vector<Dependence> all = dependences(nest);
  for (const Dependence& d : all) (void)text_of(nest, d);
  (void)recurrences(graph_of(nest, all));
  (void)loop_verdicts(nest, all);
  const std::vector<Order> judged = orders(nest, all, nest.loops.size() > 4 ? 2 : 4);
  require(judged.front().legal());  // the nest's own order
  try {
    (void)traffic_of(nest, all, own_order(nest), 1);
  } catch (const Overflow&) {
  }
}

void run(const Nest& nest) {
  Store own;
  try {
    own = execute(nest, arbitrary_values(1));
  } catch (const Error&) {
    return;  // reads a value that was never written
  }
  for (const Step& step : improve(nest)) {
    if (!step.preserves) return;
    const Store after = execute(step.nest, arbitrary_values(1));
    for (const std::string& name : nest.outputs) require(equal(own.at(name), after.at(name)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Nest nest;
  try {
    nest = parse_nest({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;  // refused with a message: that is the answer to bad input
  }
  const std::string printed = print(nest);
  const Nest again = parse_nest(printed, "printed");
  require(again == nest);
  require(print(again) == printed);
  if (nest.statements.size() > 40 || nest.loops.size() > 12) return 0;
  walk(nest);
  if (is_small(nest)) run(nest);
  return 0;
}
