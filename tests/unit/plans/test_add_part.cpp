// The launches that add the parts of a ring's result: their variants, and the calls that they refuse.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "kernels/plans/add_part.hpp"
#include "model/base/error.hpp"

namespace test_add_part {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("a part of a ring is added by its type's variant, the first one in place of the running result") {
  DeviceProperties h200;
  h200.architecture = "sm_90";
  h200.sms = 132;
  AddPartArguments a{};
  a.b = 2;
  a.rows = 64;
  a.all = 128;
  a.first_row = 64;
  a.heads = 8;
  a.d = 128;
  const LaunchPlan first = add_part_plan(a, DType::bf16, true, h200), later = add_part_plan(a, DType::f16, false, h200);
  CHECK(first.expression == "napkin::add_part<napkin::AddPartConfig{.bf16 = true, .first = true}>");
  CHECK(later.expression == "napkin::add_part<napkin::AddPartConfig{.bf16 = false, .first = false}>");
  CHECK(finish_plan(a, DType::bf16, h200).expression ==
        "napkin::finish_parts<napkin::AddPartConfig{.bf16 = true, .first = false}>");
  REQUIRE(first.arguments.size() == sizeof a);
  CHECK(std::memcmp(first.arguments.data(), &a, sizeof a) == 0);
  CHECK(first.architecture == "sm_90");
  CHECK_THROWS_AS(static_cast<void>(add_part_plan(a, DType::e4m3, true, h200)), Error);
  a.d = 126;
  CHECK_THROWS_AS(static_cast<void>(add_part_plan(a, DType::bf16, true, h200)), Error);
}

}  // namespace test_add_part
