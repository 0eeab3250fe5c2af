// The rate of a node while others idle: its share of what the L2 gives to all at once, up to what one gets alone.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "model/clock/roofline/node_rate.hpp"
#include "tests/support/layout.hpp"

namespace test_node_rate {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// Returns the bytes a clock of each of so many blocks, and what the profile has for each of all nodes.
std::pair<double, double> rates(const std::string& gpu, const std::string& kernel, std::int64_t blocks) {
  const test::LaidOut laid(kernel, gpu, {{"a", 8192}, {"b", 512}, {"c", 8192}}, DType::bf16);
  const PlacedDiagram placed = laid.place({{"order", "grouped"}});
  return {node_rate(placed, Count(blocks)), laid.machine.find_pipe("l2")->per_node_clock.best().value};
}

}  // namespace

TEST_CASE("blocks that leave nodes idle share what the L2 gives to all") {
  const std::string kernel = "vendor_matmul_sm80";
  const double each = rates("l40s", kernel, 142).second;
  CHECK(rates("l40s", kernel, 142).first == each);
  CHECK(rates("l40s", kernel, 1000).first == each);
  CHECK(rates("l40s", kernel, 96).first == doctest::Approx(each * 142 / 96));
  // Blocks count to three binary digits, as they do for device memory.
  CHECK(rates("l40s", kernel, 100).first == rates("l40s", kernel, 96).first);
  CHECK(rates("l40s", kernel, 16).first == 64);  // one alone
  double before = 1e9;
  for (std::int64_t blocks = 1; blocks < 160; ++blocks) {
    const double now = rates("a100-sxm-80", kernel, blocks).first;
    CHECK(now <= before);
    before = now;
  }
}

TEST_CASE("a total that the profile states is shared; a profile that does not say what one gets has one rate") {
  CHECK(rates("b200", "vendor_matmul_sm100", 120).first == doctest::Approx(10672.0 / 120));
  const auto few = rates("mi300x", "vendor_matmul_gfx942", 8);
  CHECK(few.first == few.second);
}

}  // namespace test_node_rate
