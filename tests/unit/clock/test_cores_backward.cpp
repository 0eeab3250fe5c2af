#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/launch/launch.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "tests/support/layout.hpp"
#include "tests/unit/clock/toy_graph.hpp"

namespace test_cores_backward {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const Shape one_column{{"q", 4096}, {"x", 128}, {"d", 128}};

const LaidOut& backward() {
  static const LaidOut out("ascend_backward", "ascend-950pr", one_column, DType::f16);
  return out;
}

Knobs ahead(const std::string& preload) { return {{"x", "128"}, {"q", "128"}, {"preload", preload}}; }

/// Makes a graph of five products of 512 clk, V2 and V3 of 512, V1 of none, and so many clocks to hand over in each
/// direction.
EventGraph five_products(const std::string& preload, double hand_over) {
  EventGraph graph =
      toy(backward().place(ahead(preload)),
          {{"S", 512}, {"dP", 512}, {"dV", 512}, {"dQ", 512}, {"dK", 512}, {"P.exp", 512}, {"dS.product", 512}});
  for (EventNode& node : graph.nodes) {
    for (const char* way : {"load S_in", "load dP_in", "load P_in", "load dS_in"}) {
      if (node.name == way) node.latency = hand_over;
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("C1 and C2 an iteration ahead hide the hand-over between cube and vector cores") {
  for (const double hand_over : {0.0, 128.0, 256.0, 512.0}) {
    CAPTURE(hand_over);
    CHECK(period(five_products("0", hand_over), true).clocks == doctest::Approx(2560 + 2 * hand_over));
    CHECK(period(five_products("1", hand_over), true).clocks == doctest::Approx(2560));
  }
  CHECK(run(five_products("0", 256), 4, 1).clocks == doctest::Approx(12288));
  CHECK(run(five_products("1", 256), 4, 1).clocks == doctest::Approx(10240));
}

TEST_CASE("what lies in L1 is used again: (2 BM + BN) D values less for each block") {
  const auto with = [](const char* l1) {
    Knobs knobs = ahead("1");
    knobs.emplace_back("l1", l1);
    return backward().place(knobs);
  };
  const auto loaded = [](const PlacedDiagram& placed) {
    for (const LevelTransfer& t : transfers(placed)) {
      if (t.level == placed.machine->level("l1")) return t.load.value.get();
    }
    return std::int64_t{-1};
  };
  const PlacedDiagram reused = with("reused"), again = with("again");
  CHECK(loaded(again) - loaded(reused) == 32 * (2 * 128 + 128) * 128 * 2);  // 32 blocks of a column
  CHECK(period(event_graph(again), true).clocks >= period(event_graph(reused), true).clocks);
  MESSAGE("an iteration with Q, dO and K in L1 ", period(event_graph(reused), true).clocks, " clk, brought again ",
          period(event_graph(again), true).clocks);
}

TEST_CASE("the cube's order is 11 12 | 21 22 | 13 14 15 31 32 | 23 24 25 41 42") {
  const EventGraph graph = five_products("1", 0);
  const std::vector<std::string> products = {"S", "dP", "dV", "dQ", "dK"};
  std::vector<std::pair<double, std::string>> starts;
  for (const TimelineSpan& span : run(graph, 4, 1, true).spans) {
    const auto found = std::find(products.begin(), products.end(), graph.node(span.node).name);
    if (found == products.end()) continue;
    starts.emplace_back(span.start, std::to_string(span.iteration + 1) + std::to_string(found - products.begin() + 1));
  }
  std::sort(starts.begin(), starts.end());
  std::string order;
  for (const auto& [start, name] : starts) order += name + " ";
  CHECK(order == "11 12 21 22 13 14 15 31 32 23 24 25 41 42 33 34 35 43 44 45 ");
}

TEST_CASE("work, memories and stores of the article") {
  const PlacedDiagram placed = backward().place(ahead("1"));
  const EventGraph graph = event_graph(placed);
  for (const char* product : {"S", "dP", "dV", "dQ", "dK"})
    CHECK(graph.node(graph.find(product)).clocks == doctest::Approx(512));
  // operations of V1, V2 and V3 on each vector core, four bytes an element, 256 bytes a clock
  std::vector<double> operations(4, 0);
  for (const PlacedOperation& op : placed.operations) {
    const auto output = placed.streamed->diagram.operations[static_cast<std::size_t>(op.operation)].outputs[0];
    const std::string& name = placed.streamed->diagram.arrays[static_cast<std::size_t>(output)].name;
    const std::size_t stage = name == "Delta" ? 1 : name == "Z" || name == "P" ? 2 : 3;
    for (const PlacedWork& work : op.work) operations[stage] += work.amount / 2 * 4 / 256;
  }
  CHECK(operations == std::vector<double>{0, 768, 512, 512});
  const auto bytes = [&](const std::vector<std::string>& names) {
    std::int64_t sum = 0;
    for (const auto& v : placed.variables) {
      const auto& name = placed.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
      if (std::find(names.begin(), names.end(), name) != names.end()) sum += v.bytes().value.get();
    }
    return sum;
  };
  CHECK(bytes({"S_in", "dP_in"}) == 131072);
  CHECK(bytes({"Q", "K", "dO"}) == 196608);
  for (const LevelMemory& m : memories(placed)) {
    const std::string& name = placed.machine->levels[static_cast<std::size_t>(m.level)].name;
    CAPTURE(name);
    if (m.limit && name != "device" && name != "l2") CHECK(m.allocated <= *m.limit);
    if (name == "l0c") CHECK(m.allocated.value.get() == 262144);
  }
}

namespace {

/// Counts tiles of 128 x 128 that leave L0C: results that stay there for a block leave in 16 bits, others in 32.
std::int64_t stores(const std::string& kernel, const Knobs& knobs, Mask mask, std::int64_t in_16_bits) {
  const LaidOut laid(kernel, "ascend-950pr", {{"q", 4096}, {"x", 4096}, {"d", 128}}, DType::f16, mask);
  const PlacedDiagram placed = laid.place(knobs);
  for (const LevelTransfer& t : transfers(placed)) {
    if (t.level != placed.machine->level("l0c")) continue;
    return (t.store.value.get() - in_16_bits * 128 * 128 * 2) / (128 * 128 * 4) + in_16_bits;
  }
  return -1;
}

Knobs keeping(const char* l0c) {
  Knobs knobs = ahead("1");
  knobs.insert(knobs.end(), {{"order", "columns"}, {"l0c", l0c}});
  return knobs;
}

}  // namespace

TEST_CASE("what leaves L0C where nothing, dK and dV, or dQ stays there") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  Knobs rows = ahead("1");
  rows.emplace_back("order", "rows");
  CHECK(stores("ascend_backward", keeping("added"), {}, 0) == 3072);
  CHECK(stores("ascend_backward", keeping("kept"), {}, 64) == 1088);
  CHECK(stores("ascend_backward_s1_outer", rows, {}, 32) == 2080);
  CHECK(stores("ascend_backward", keeping("added"), causal, 0) == 1584);
  CHECK(stores("ascend_backward", keeping("kept"), causal, 64) == 592);
  CHECK(stores("ascend_backward_s1_outer", rows, causal, 32) == 2 * 528 + 32);
}

TEST_CASE("FIXPIPE binds where every block's dK and dV leave, the tensor unit where they stay") {
  const auto busiest = [](const char* l0c) {
    const EventGraph graph = event_graph(backward().place(keeping(l0c)));
    double fixpipe = 0, tensor = 0;
    for (const EventNode& node : graph.nodes) {
      if (node.phase != Phase::loop) continue;
      if (node.kind == NodeKind::tensor) tensor += node.clocks;
      const bool out = node.name.starts_with("store ") || node.name == "load S_in" || node.name == "load dP_in";
      if (out) fixpipe += node.clocks;
    }
    return std::pair{fixpipe, tensor};
  };
  const auto [fixpipe_kept, tensor] = busiest("kept");
  CHECK(tensor == doctest::Approx(2560));
  CHECK(fixpipe_kept < tensor);
  const double to_both = 65536 / (2 * 74.3);  // S or dP, half of it to each vector core
  CHECK(fixpipe_kept == doctest::Approx(2 * to_both + 65536 / 40.6));
  CHECK(busiest("added").first == doctest::Approx(2 * to_both + 3 * 65536 / 40.6));
}

namespace {

/// Lays out a causal triangle of so many blocks a side on 24 cube cores.
std::unique_ptr<LaidOut> triangle(std::int64_t blocks) {
  const Shape shape{{"q", 128 * blocks}, {"x", 128 * blocks}, {"d", 128}};
  auto laid =
      std::make_unique<LaidOut>("ascend_backward", "ascend-950pr", shape, DType::f16, Mask{Mask::Kind::causal, 0, 0});
  laid->machine.levels[static_cast<std::size_t>(laid->machine.level("l1"))].per_parent = 24;
  laid->machine.levels[static_cast<std::size_t>(laid->machine.level("ub"))].per_parent = 48;
  return laid;
}

Knobs dealt(const char* order) {
  Knobs knobs = ahead("1");
  knobs.emplace_back("order", order);
  return knobs;
}

}  // namespace

// 528 blocks: in even shares 22 a core; whole columns of 32, 31, ... in turn give the first core 32 + 8; whole columns
// to the core that is free first end with the longest one.
TEST_CASE("blocks of the triangle on 24 cores: 22 of 528 and 87 of 2,080, or columns of 40 and 120") {
  struct Case {
    std::int64_t blocks;
    double even, columns, free_first;
  };
  for (const Case& c : {Case{32, 22, 40, 32}, Case{64, 87, 120, 97}}) {
    const auto laid = triangle(c.blocks);
    CHECK(busiest_iterations(laid->place(dealt("even"))) == c.even);
    const PlacedDiagram columns = laid->place(dealt("columns"));
    CHECK(busiest_iterations(columns) == c.columns);
    BlockLengths lengths = block_lengths(columns, launch_shape(columns));
    CHECK(lengths.busiest(BlockOrder::grid, 1, 0) == c.free_first);
    const auto cycles = [](const PlacedDiagram& placed) { return predict(placed).cycles.value; };
    CHECK(cycles(laid->place(dealt("even"))) < cycles(columns));
  }
}

TEST_CASE("even shares cut columns: 54 visits and 636 stores of 32 columns, 86 and 2,252 of 64") {
  for (const auto& [blocks, visits, stored] : std::vector<std::array<std::int64_t, 3>>{{32, 54, 636}, {64, 86, 2252}}) {
    const std::int64_t ids = blocks * (blocks + 1) / 2;
    const std::int64_t seen = blocks + cut_tiles(triangle(blocks)->place(dealt("even"))).get();
    CHECK(seen == visits);
    CHECK(ids + 2 * seen == stored);  // dQ of every block, dK and dV of every visit
  }
}

}  // namespace test_cores_backward
