// Launches that stream beside the one that computes: their bytes and their time.

#include <doctest/doctest.h>

#include <vector>

#include "model/clock/launch/other_launches.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_other_launches {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Given;
using napkin::internal::testing::Mapped;

TEST_CASE("launches that stream: their bytes by hand, over device memory or the L2, and a launch's own time each") {
  const Given shape = {{"b", 2}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}};
  const double rows = 2.0 * 16 * 4096, values = rows * 64;
  const Mapped m("attention_backward", "flash_attention_2_backward", "a100-sxm-80", shape);
  const PlacedDiagram placed = m.place({});
  const Hertz clock(1.41e9);
  const std::vector<OtherLaunch> launches = other_launches(placed, clock);
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].name == "preprocess");
  CHECK(real(launches[0].read.value) == 2 * values + 2 * values);   // O and dO
  CHECK(real(launches[0].written.value) == 4 * rows + 4 * values);  // Delta, and zeros of dQ
  CHECK(launches[1].name == "convert");
  CHECK(real(launches[1].read.value) == 4 * values);
  CHECK(real(launches[1].written.value) == 2 * values);
  // 50 and 67 MB do not stay in 40 MB of L2. 2039 GB/s is the datasheet's; no kernel reaches more.
  const double seconds = launches[0].time.value + launches[1].time.value;
  CHECK(seconds > (14 * values + 4 * rows) / 2039e9);
  CHECK(seconds < (14 * values + 4 * rows) / 2039e9 * 1.3 + 1e-5);

  Mapped one("attention_backward", "flash_attention_2_backward", "a100-sxm-80", shape);
  Launch& convert = one.mapping.launches.back();
  REQUIRE(convert.name == "convert");
  convert.writes.clear();
  const double less = time_of_other_launches(placed, clock).value - time_of_other_launches(one.place({}), clock).value;
  const double both = launches[1].time.value;
  CHECK(less > 0);
  CHECK(less < both);
}

}  // namespace test_other_launches
