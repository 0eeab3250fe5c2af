#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/layout.hpp"

namespace test_space_cores {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

TEST_CASE("a buffer is deeper than the cube is ahead, and what lies in UB fits: 297,216 bytes of 196,608 do not") {
  const LaidOut laid("ascend_forward", "ascend-910b2", {{"q", 256}, {"x", 1024}, {"d", 128}}, DType::f16);
  const auto broken = [&](const char* cube_x, const char* preload, const char* depth) {
    const PlacedDiagram placed =
        laid.place({{"q", "128"}, {"x", "256"}, {"cube_x", cube_x}, {"preload", preload}, {"qk_depth", depth}});
    return violations(placed, plan(placed));
  };
  CHECK(broken("128", "4", "5").empty());
  const std::vector<Violation> shallow = broken("128", "4", "4"), wide = broken("256", "4", "5");
  REQUIRE(shallow.size() == 1);
  CHECK(shallow[0].constraint == "depth");
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].constraint == "core memory");
  CHECK(wide[0].needed / wide[0].available >= 297216.0 / 196608);
}

}  // namespace test_space_cores
