// Any bytes as a diagram: only Error may come out; what parses survives print and parse, derives under any roles, and
// its two rules give numbers or Overflow.
// links: model/fusion

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"
#include "model/fusion/pseudocode.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

void require(bool holds) {
  if (!holds) std::abort();
}

void walk(const Streamed& streamed, std::uint64_t seed) {
  check(streamed.diagram);
  (void)print_labels(streamed);
  (void)print_pseudocode(streamed);
  (void)print_steps(streamed);
  Problem problem{{}, {}, DType::value};
  problem.mask.kind = static_cast<Mask::Kind>(seed % 3);
  problem.mask.left = static_cast<std::int64_t>(seed >> 7) % 50;
  for (std::size_t i = 0; i < streamed.diagram.axes.size(); ++i) {
    problem.sizes.emplace_back(1 + static_cast<std::int64_t>((seed >> (i % 32)) % (i % 5 == 4 ? 1U << 30 : 9U)));
  }
  const Partition partition = make_partition(streamed, problem.sizes, {}, "fuzz");
  try {
    require(memory_lower_bound(streamed, partition) <= memory_live(streamed, partition));
    (void)transfer(streamed, problem, partition);
  } catch (const Overflow&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::uint64_t seed = 1469598103934665603U;
  for (const char c : text) seed = (seed ^ static_cast<std::uint8_t>(c)) * 1099511628211U;
  Diagram diagram;
  try {
    diagram = parse_diagram(text, "fuzz");
  } catch (const Error&) {
    return 0;  // refused with a message: that is the answer to bad input
  }
  const std::string printed = print(diagram);
  const Diagram again = parse_diagram(printed, "printed");
  require(again == diagram);
  require(print(again) == printed);
  walk(derive(diagram), seed);  // the default labels always derive
  std::vector<AxisRole> roles;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    roles.push_back((seed >> (2 * (i % 32))) % 2 == 0 ? AxisRole::whole : AxisRole::group);
  }
  if (seed % 3 != 0) roles[seed % roles.size()] = AxisRole::stream;
  std::optional<Streamed> streamed;
  try {
    streamed = derive(diagram, roles);
  } catch (const Error&) {
    return 0;
  }
  walk(*streamed, seed);
  return 0;
}
