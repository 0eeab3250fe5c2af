#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/table.hpp"
#include "tests/support/layout.hpp"
#include "tests/unit/clock/toy_graph.hpp"

namespace test_cores {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const Shape one_block{{"q", 128}, {"x", 4096}, {"d", 128}};

const LaidOut& forward() {
  static const LaidOut out("ascend_forward", "ascend-910b2", one_block, DType::f16);
  return out;
}

Knobs with(const std::string& preload, const std::string& depth = "8", const std::string& x = "128") {
  return {{"q", "128"}, {"x", x}, {"cube_x", "128"}, {"preload", preload}, {"qk_depth", depth}, {"p_depth", depth}};
}

std::int64_t ub_bytes(const PlacedDiagram& placed) {
  for (const LevelMemory& m : memories(placed)) {
    if (m.level == placed.machine->level("ub")) return m.allocated.value.get();
  }
  return -1;
}

double stage_clocks(const EventGraph& graph, const std::string& stage) {
  double sum = 0;
  for (const EventNode& node : graph.nodes) {
    if (node.kind == NodeKind::thread && node.phase == Phase::loop && node.name.starts_with(stage + "."))
      sum += node.clocks;
  }
  return sum;
}

}  // namespace

TEST_CASE("four stages on a cube and a vector core: scores 10, softmax 16, P V 10, output 6") {
  const std::vector<std::pair<std::string, std::vector<double>>> expected = {
      {"0", {150, 294, 2310}}, {"1", {102, 190, 1422}}, {"2", {98, 186, 1418}}, {"4", {98, 186, 1418}}};
  for (const auto& [preload, totals] : expected) {
    const EventGraph graph = toy(forward().place(with(preload)), {{"S", 10}, {"P.exp", 16}, {"O", 10}, {"O.merge", 6}});
    CHECK(run(graph, 4, 1).clocks == doctest::Approx(totals[0]));
    CHECK(run(graph, 8, 1).clocks == doctest::Approx(totals[1]));
    CHECK(run(graph, 64, 1).clocks == doctest::Approx(totals[2]));
    CHECK(period(graph, true).clocks == doctest::Approx(preload == "0" ? 36 : 22));
  }
}

// With a barrier a round is one after the other: 10 + 16 + 10 + 6; a tile ahead P V runs beside the softmax: 10 + 16
// + 6.
TEST_CASE("a barrier at each round's end: 42 in place of 36, and 32 with scores and softmax ahead") {
  for (const auto& [preload, clocks] :
       std::vector<std::pair<std::string, double>>{{"0", 42}, {"1", 32}, {"2", 32}, {"4", 32}}) {
    const std::string ahead = preload;
    CAPTURE(ahead);
    Knobs knobs = with(preload);
    knobs.emplace_back("handover", "barrier");
    const EventGraph graph = toy(forward().place(knobs), {{"S", 10}, {"P.exp", 16}, {"O", 10}, {"O.merge", 6}});
    CHECK(period(graph, true).clocks == doctest::Approx(clocks));
  }
}

TEST_CASE("128 queries and 512 keys in tiles of 128: four rounds") {
  const LaidOut laid("ascend_forward", "ascend-910b2", {{"q", 128}, {"x", 512}, {"d", 128}}, DType::f16);
  for (const auto& [tile, rounds] : std::vector<std::pair<std::string, double>>{{"128", 4}, {"256", 2}, {"512", 1}})
    CHECK(schedule(laid.place(with("1", "8", tile))).iterations == rounds);
}

TEST_CASE("a buffer of no more slots than the cube is ahead never lets it go on") {
  const auto run_with = [](const std::string& preload, const std::string& depth) {
    const EventGraph graph = toy(forward().place(with(preload, depth)), {{"S", 10}});
    return run(graph, 8, 1).clocks;
  };
  CHECK(run_with("1", "2") > 0);
  CHECK(run_with("4", "5") > 0);
}

TEST_CASE("memories of the cores hold what the seed's allocation holds") {
  const auto held = [](const Knobs& knobs, const std::string& level) {
    const PlacedDiagram placed = forward().place(knobs);
    for (const LevelMemory& m : memories(placed)) {
      if (placed.machine->levels[static_cast<std::size_t>(m.level)].name == level) return m.allocated.value.get();
    }
    return std::int64_t{-1};
  };
  CHECK(held(with("0"), "ub") == 165120);
  CHECK(held(with("1"), "ub") == 165376);
  CHECK(held(with("2"), "ub") == 165632);
  CHECK(held(with("4"), "ub") == 166144);
  Knobs small = with("4"), unsliced = with("4", "8", "256");
  small[0].second = "64";
  unsliced[2].second = "256";
  CHECK(held(small, "ub") == 83072);
  CHECK(held(unsliced, "ub") == 297216);
  CHECK(held(with("2", "8", "256"), "ub") == 165632);  // sliced
  CHECK(held(with("0"), "l1") == 229376);
  CHECK(held(with("0"), "l0c") == 131072);
  CHECK(held(with("0"), "l0a") == 65536);
  CHECK(held(with("0"), "l0b") == 65536);
}

// src x 2, m1, m2, the exponentials in fp32, l1, l2, exp_max x (preload + 1), x_exp x 2, the running output.
TEST_CASE("storages of UB lie in the seed's order, one behind the other") {
  for (const std::int64_t preload : {0, 1, 2, 4}) {
    const ConfigurationTable table = configuration_table(forward().place(with(std::to_string(preload))));
    const std::int64_t x_exp = 99328 + 256 * (preload + 1);
    const std::vector<std::pair<std::string, std::int64_t>> expected = {
        {"S_in", 0},          {"mu_of_tile", 65536}, {"mu", 65792},    {"P_exact", 66048},
        {"z_of_tile", 98816}, {"z", 99072},          {"delta", 99328}, {"P", x_exp},
        {"pv_in", 0},         {"O", x_exp + 32768},  {"O_out", x_exp}};
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const ConfigurationRow& row : table.rows) {
      if (row.level != forward().machine.level("ub")) continue;
      REQUIRE(row.offset);
      found.emplace_back(row.variable, row.offset->value.get());
    }
    CHECK(found == expected);
  }
}

TEST_CASE("copies in UB are knobs of their own: with one of the exponentials 16,384 bytes less") {
  Knobs single = with("2");
  single.emplace_back("x_exp", "1");
  const PlacedDiagram placed = forward().place(single);
  for (const LevelMemory& m : memories(placed)) {
    if (m.level == placed.machine->level("ub")) CHECK(m.allocated.value.get() == 149248);
  }
}

TEST_CASE("one vector core in place of two has all rows: twice the memory, and twice as long for each stage and copy") {
  const auto placed = [](const char* vectors) {
    Knobs knobs = with("2");
    knobs[0].second = "64";
    knobs.emplace_back("vectors", vectors);
    return forward().place(knobs);
  };
  const PlacedDiagram one = placed("1"), two = placed("2");
  CHECK(ub_bytes(one) == 2 * ub_bytes(two));
  const EventGraph alone = event_graph(one), both = event_graph(two);
  for (const char* stage : {"P", "O"}) CHECK(stage_clocks(alone, stage) == 2 * stage_clocks(both, stage));
  for (const char* copy : {"load S_in", "store P", "load pv_in"})
    CHECK(alone.node(alone.find(copy)).clocks == 2 * both.node(both.find(copy)).clocks);
  CHECK(alone.node(alone.find("store S")).clocks == both.node(both.find("store S")).clocks);
  const BlockLoad all = block_load(one), half = block_load(two);
  for (std::size_t i = 1; i < all.count; ++i) {
    CAPTURE(all.pipes[i].name);
    CHECK(all.pipes[i].loop == 2 * half.pipes[i].loop);
  }
}

TEST_CASE("exponentials in a tile of their own take 32,768 bytes more of UB, which are not there at 128 x 128") {
  const auto ub = [](const char* expand) {
    Knobs knobs = with("2");
    knobs.emplace_back("expand", expand);
    return ub_bytes(forward().place(knobs));
  };
  CHECK(ub("apart") - ub("in_place") == 32768);
  CHECK(ub("apart") > 192 * 1024);
}

TEST_CASE("left and right tiles hold as much of the contracted axis as cube_k says, and no more than there is") {
  const auto bytes = [](const char* cube_k, std::int64_t d, const char* level) {
    const LaidOut laid("ascend_forward", "ascend-910b2", {{"q", 128}, {"x", 4096}, {"d", d}}, DType::f16);
    Knobs knobs = with("2");
    knobs.emplace_back("cube_k", cube_k);
    const PlacedDiagram placed = laid.place(knobs);
    for (const LevelMemory& m : memories(placed)) {
      if (m.level == placed.machine->level(level)) return m.allocated.value.get();
    }
    return std::int64_t{-1};
  };
  for (const char* level : {"l0a", "l0b"}) {
    CHECK(bytes("128", 128, level) == 2 * 128 * 128 * 2);
    CHECK(bytes("64", 128, level) == 2 * 128 * 64 * 2);
    CHECK(bytes("32", 128, level) == 2 * 128 * 32 * 2);
  }
  // P and V hold 128 keys where Q and K have no more than 64 of d: the larger of the two.
  CHECK(bytes("128", 64, "l0a") == 2 * 128 * 128 * 2);
  CHECK(bytes("64", 64, "l0a") == 2 * 128 * 64 * 2);
}

TEST_CASE("P V leaves L0C at the rate of its pipe, and each engine is a queue of its own") {
  const EventGraph graph = event_graph(forward().place(with("2", "4", "256")));
  const auto clocks = [&](const std::string& name) { return graph.node(graph.find(name)).clocks; };
  CHECK(clocks("store pv") == doctest::Approx(65536 / 40.6));
  CHECK(clocks("store S") == doctest::Approx(131072 / 40.6));
  CHECK(clocks("load S_in") == doctest::Approx(131072 / (2 * 58.6)));
  CHECK(clocks("S") == doctest::Approx(1024));
  CHECK(clocks("O") == doctest::Approx(1024));
  CHECK(stage_clocks(graph, "P") > 0);
  CHECK(graph.node(graph.find("store S")).engine == graph.node(graph.find("store pv")).engine);
  CHECK(graph.node(graph.find("load K")).engine != graph.node(graph.find("load S_in")).engine);
  // Two vector cores: half the clocks of one.
  CHECK(clocks("P.over") == doctest::Approx(128 * 256 * 2 / 64.0));
  const Period steady = period(graph, true);
  MESSAGE("an iteration of 256 keys: ", steady.clocks, " clk, ", steady.pipe.name, " ", steady.pipe.clocks);
}

TEST_CASE("buffers in the L2 are written and read: 327,680 bytes a tile") {
  const Shape shape{{"h", 2}, {"q", 384}, {"x", 1024}, {"d", 128}};
  const LaidOut laid("ascend_forward", "ascend-910b2", shape, DType::f16);
  const PlacedDiagram placed = laid.place(with("1"));
  std::int64_t bytes = 0, slots = 0;
  for (const Crossing& c : placed.crossings) {
    if (c.variable < 0 || c.pipe < 0) continue;
    const auto& array = placed.streamed->diagram.arrays[static_cast<std::size_t>(c.array)].name;
    const bool within = array == "S" || array == "P" || (array == "O" && c.phase == Phase::loop);
    const auto& pipe = placed.machine->pipes[static_cast<std::size_t>(c.pipe)];
    const LevelId l2 = placed.machine->level("l2");
    if (!within || (pipe.from != l2 && pipe.to != l2)) continue;
    bytes += bytes_of(Count(128 * 128), c.type).value.get();
  }
  CHECK(bytes == 327680);
  for (const auto& v : placed.variables) {
    const auto& name = placed.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
    if (!name.ends_with("_slots")) continue;
    CHECK(bytes_of(v.elements, v.type).value.get() == (name == "P_slots" ? 32768 : 65536));
    ++slots;
  }
  CHECK(slots == 3);
  const std::int64_t tiles = 2 * 3 * 8, tile = 128 * 128;
  for (const LevelTransfer& t : transfers(placed)) {
    const std::string& name = placed.machine->levels[static_cast<std::size_t>(t.level)].name;
    CAPTURE(name);
    if (name == "l0c") CHECK(t.store.value.get() == tiles * tile * 8);
    if (name == "ub") CHECK(t.load.value.get() == tiles * tile * 8);
    if (name == "ub") CHECK(t.store.value.get() == tiles * tile * 2 + 2 * 384 * 128 * 2);
    if (name == "l1") CHECK(t.load.value.get() == tiles * tile * 6 + 2 * 384 * 128 * 2);
    if (name == "l2") CHECK(t.load.value.get() == 2 * (384 + 1024 + 1024) * 128 * 2);
    if (name == "l2") CHECK(t.store.value.get() == 2 * 384 * 128 * 2);
  }
}

TEST_CASE(
    "what is taken from Q waits for Q, in later iterations too; a product is one cube core's, not two vector cores'") {
  for (const char* preload : {"0", "1", "4"}) {
    const EventGraph graph = event_graph(forward().place(with(preload)));
    const Timeline timeline = run(graph, 4, 2, true);
    std::vector<double> there(2);
    for (const TimelineSpan& span : timeline.spans) {
      if (graph.node(span.node).name == "load Q") there[static_cast<std::size_t>(span.iteration)] = span.end;
    }
    for (const TimelineSpan& span : timeline.spans) {
      if (graph.node(span.node).name != "load Q_left") continue;
      CAPTURE(span.iteration);
      CHECK(span.start >= there[static_cast<std::size_t>(span.iteration / 4)] - 1e-6);
    }
  }
  for (const ThroughputRow& row : throughput_table(forward().place(with("1"))).rows) {
    if (row.operation != "S" && row.operation != "O") continue;
    CHECK(row.operations == 2.0 * 128 * 128 * 128);
    CHECK(row.clocks == doctest::Approx(512));
  }
}

TEST_CASE("what no variable holds lies in the memory of the core that takes it") {
  const LaidOut laid("ascend_backward", "ascend-950pr", {{"q", 512}, {"x", 128}, {"d", 128}}, DType::f16);
  const PlacedDiagram placed = laid.place({{"x", "128"}, {"q", "128"}});
  int taken = 0;
  for (const PlacedOperation& op : placed.operations) {
    if (op.tensor) continue;
    for (const auto& [array, level] : op.operands) {
      CHECK(placed.machine->levels[static_cast<std::size_t>(level)].name == "ub");
      ++taken;
    }
  }
  CHECK(taken == 9);  // Delta: dO, O; Z: S, L; P: Z; E: dP, Delta; dS: P, E
}

// hw-native-sys/pto-isa (revision 3186c38), kernels/manual/common/flash_atten/README.md: one head, S0 = S1,
// microseconds on 24 cores. Nothing in the model is made from them.
TEST_CASE("forward: published times of one head on 24 cores") {
  const std::vector<std::pair<std::int64_t, double>> published = {{1024, 20.960},  {2048, 32.461},   {4096, 88.902},
                                                                  {8192, 292.626}, {16384, 909.058}, {32768, 3262.645}};
  double mean = 0;
  for (const auto& [s, microseconds] : published) {
    const Shape shape{{"q", s}, {"x", s}, {"d", 128}};
    const LaidOut laid("ascend_forward", "ascend-910b2", shape, DType::f16);
    const PlacedDiagram placed = laid.place(with("4", "8", "256"));
    const double predicted = predict(placed).time.value * 1e6, error = predicted / microseconds - 1;
    MESSAGE(s, ": ", predicted, " us of ", microseconds, " (", 100 * error, " %)");
    CHECK(std::abs(error) < 0.20);
    mean += std::abs(error) / static_cast<double>(published.size());
  }
  MESSAGE("mean ", 100 * mean, " %");
  CHECK(mean < 0.15);
}

}  // namespace test_cores
