// GeForce Blackwell: copy-engine boxes feed mma.sync, described by a mapping file and the architecture's constants
// alone.
#include <doctest/doctest.h>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/layout.hpp"

namespace test_sm120 {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const LaidOut& product() {
  static const LaidOut out("cutlass_matmul_sm120", "rtx-5090", {{"a", 4096}, {"b", 4096}, {"c", 4096}}, DType::bf16);
  return out;
}

Knobs tile(const char* a, const char* c, const char* warp_rows, const char* stages) {
  return {{"a", a}, {"c", c}, {"b", "64"}, {"warp_rows", warp_rows}, {"stages", stages}};
}

}  // namespace

// The example computes its stages: (99 KiB - 2 KiB - eight pieces of 4 KiB) / (A and B of a stage).
TEST_CASE("as many stages as fit: two of 128 x 128, one of 128 x 256, four of 64 x 64") {
  for (const auto& [knobs, fits] : std::vector<std::pair<Knobs, bool>>{{tile("128", "128", "64", "2"), true},
                                                                       {tile("128", "128", "64", "3"), false},
                                                                       {tile("128", "64", "64", "2"), true},
                                                                       {tile("64", "64", "32", "4"), true}}) {
    const PlacedDiagram placed = product().place(knobs);
    CHECK(violations(placed, plan(placed)).empty() == fits);
  }
  // A warp's quarter of 128 x 256 has more sums than setmaxnreg gives registers.
  const PlacedDiagram wide = product().place(tile("128", "256", "64", "1"));
  const std::vector<Violation> broken = violations(wide, plan(wide));
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].constraint == "registers");
}

TEST_CASE("an iteration takes what its products take, and the fragments come through the port beside them") {
  const PlacedDiagram placed = product().place(tile("128", "128", "64", "2"));
  REQUIRE(has_event_graph(placed));
  const EventGraph graph = event_graph(placed);
  CHECK(graph.node(graph.find("load A")).kind == NodeKind::copy);
  const double products = 2.0 * 128 * 128 * 64 / 512;  // FLOP over the rate with FP32 sums
  const Period steady = period(graph, true);
  CHECK(steady.pipe.clocks == doctest::Approx(products));
  CHECK(steady.clocks >= products);
  CHECK(steady.clocks < 1.25 * products);
  const Prediction predicted = predict(placed);
  CHECK(2.0 * 4096 * 4096 * 4096 / predicted.time.value < 170 * 512 * 2.407e9);
}

}  // namespace test_sm120
