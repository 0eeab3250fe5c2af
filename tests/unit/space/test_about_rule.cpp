#include <doctest/doctest.h>

#include <string>

#include "model/mapping/read/load.hpp"
#include "solver/space/about_rule.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/layout.hpp"

namespace test_space_about_rule {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

TEST_CASE("each rule of a question has its line, and a relation's says what it compares") {
  const LaidOut cores("ascend_forward", "ascend-910b2", {{"q", 256}, {"x", 1024}, {"d", 128}}, DType::f16);
  CHECK(about_rule(cores.mapping, "depth") == "preload is less than qk_depth");
  const LaidOut threads("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
  CHECK(about_rule(threads.mapping, "rows") == "q times g is 64 times warpgroups");
  CHECK(about_rule(threads.mapping, "cluster order") == "cluster is at most 1 where order is longest_first");
  CHECK(about_rule(threads.mapping, "no such rule").empty());
  for (const LaidOut* laid : {&cores, &threads}) {
    const Rules rules(laid->streamed, laid->mapping, laid->machine, laid->problem);
    for (const TileRule& rule : rules.tile) CHECK_MESSAGE(!about_rule(laid->mapping, rule.name).empty(), rule.name);
    for (const PlanRule& rule : rules.plan) CHECK_MESSAGE(!about_rule(laid->mapping, rule.name).empty(), rule.name);
  }
}

}  // namespace test_space_about_rule
