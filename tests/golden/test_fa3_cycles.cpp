// FlashAttention-3 on an H200: cycle counters of five launches, which the model predicts from a mapping file alone.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/clock/launch/launch.hpp"
#include "tests/support/layout.hpp"

namespace test_fa3_cycles {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

struct Recorded {
  std::string kernel;
  DType dtype;
  std::int64_t d;
  bool causal;
  Knobs tile;
  double cycles;          // active cycles, mean over the SMs (ncu, one launch, b = 2, s = 8192, h d = 2048)
  double tensor_percent;  // percent of active cycles
};

const std::vector<Recorded>& recorded() {
  const auto tile = [](const char* q, const char* x, const char* warpgroups, const char* pingpong, const char* p_in,
                       const char* cluster, const char* order) {
    return Knobs{{"q", q},
                 {"x", x},
                 {"warpgroups", warpgroups},
                 {"pingpong", pingpong},
                 {"p_in", p_in},
                 {"cluster", cluster},
                 {"order", order},
                 {"overlap", "on"}};
  };
  static const std::vector<Recorded> all{
      {"flash_attention_3", DType::bf16, 64, false, tile("192", "192", "3", "on", "shared", "1", "persistent"), 3.284e6,
       62.9},
      {"flash_attention_3", DType::bf16, 128, false, tile("128", "176", "2", "on", "registers", "2", "persistent"),
       2.354e6, 87.2},
      {"flash_attention_3", DType::bf16, 256, false, tile("128", "80", "2", "off", "registers", "2", "persistent"),
       2.130e6, 96.0},
      {"flash_attention_3_fp8", DType::e4m3, 128, false, tile("128", "224", "2", "on", "registers", "1", "persistent"),
       1.930e6, 53.3},
      {"flash_attention_3", DType::bf16, 128, true, tile("128", "128", "2", "on", "registers", "1", "longest_first"),
       1.200e6, 86.0},
  };
  return all;
}

double busy(const EventGraph& graph) {
  double clocks = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == NodeKind::tensor) clocks += graph.nodes[n].clocks * graph.instances[n];
  }
  return clocks;
}

}  // namespace

TEST_CASE("the five cycle counters of FlashAttention-3, within 4 % each") {
  for (const Recorded& r : recorded()) {
    Mask mask;
    if (r.causal) mask.kind = Mask::Kind::causal;
    const LaidOut l(r.kernel, "h200-sxm", {{"b", 2}, {"h", 2048 / r.d}, {"q", 8192}, {"x", 8192}, {"d", r.d}}, r.dtype,
                    mask);
    const PlacedDiagram placed = l.place(r.tile);
    const EventGraph graph = event_graph(placed);
    const Period steady = period(graph);
    const LaunchClocks clocks = launch_clocks(placed, graph, steady);
    const double error = clocks.mean / r.cycles - 1;
    MESSAGE(r.kernel << ", d = " << r.d << ", " << std::string(r.causal ? "causal" : "full") << ": "
                     << clocks.mean / 1e6 << " M cycles, " << 100 * error << " %; a period of " << steady.clocks << ", "
                     << steady.contention << " of it contention");
    CHECK(clocks.mean == doctest::Approx(r.cycles).epsilon(0.04));
    CHECK(busy(graph) / steady.clocks == doctest::Approx(r.tensor_percent / 100).epsilon(0.06));
    CHECK(steady.clocks >= steady.cycle.clocks);
    CHECK(steady.clocks >= steady.pipe.clocks);
  }
}

}  // namespace test_fa3_cycles
