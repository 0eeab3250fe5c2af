#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
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
#include "model/resource/table.hpp"
#include "tests/laid_out.hpp"

namespace test_cores {

using namespace napkin;
using namespace napkin::test;

namespace {

const Shape one_block{{"q", 128}, {"x", 4096}, {"d", 128}};

const LaidOut& forward() {
  static const LaidOut out("ascend_forward", "ascend-910b2", one_block, DType::f16);
  return out;
}

Knobs with(const std::string& preload, const std::string& depth = "8", const std::string& x = "128") {
  return {{"q", "128"}, {"x", x}, {"cube_x", "128"}, {"preload", preload}, {"depth", depth}};
}

using Durations = std::vector<std::pair<std::string, double>>;

/// The mapping's graph with durations of its stages given, and copies that take nothing.
EventGraph toy(const PlacedDiagram& placed, const Durations& stages) {
  EventGraph graph = event_graph(placed);
  for (EventNode& node : graph.nodes) {
    node.clocks = node.latency = node.serial = 0;
    std::fill(node.demand.begin(), node.demand.end(), 0.0);
    for (const auto& [name, clocks] : stages) {
      if (node.name == name) node.clocks = clocks;
    }
  }
  return graph;
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

namespace {

const Shape one_column{{"q", 4096}, {"x", 128}, {"d", 128}};

const LaidOut& backward() {
  static const LaidOut out("ascend_backward", "ascend-950pr", one_column, DType::f16);
  return out;
}

Knobs ahead(const std::string& preload) { return {{"x", "128"}, {"q", "128"}, {"preload", preload}}; }

/// Five products of 512 clk, V2 and V3 of 512, V1 of none, and so many clocks to hand over, each way.
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

TEST_CASE("backward: C1 and C2 an iteration ahead hide the hand-over between cube and vector cores") {
  for (const double hand_over : {0.0, 128.0, 256.0, 512.0}) {
    CAPTURE(hand_over);
    CHECK(period(five_products("0", hand_over), true).clocks == doctest::Approx(2560 + 2 * hand_over));
    CHECK(period(five_products("1", hand_over), true).clocks == doctest::Approx(2560));
  }
  CHECK(run(five_products("0", 256), 4, 1).clocks == doctest::Approx(12288));
  CHECK(run(five_products("1", 256), 4, 1).clocks == doctest::Approx(10240));
}

TEST_CASE("backward: the cube's order is 11 12 | 21 22 | 13 14 15 31 32 | 23 24 25 41 42") {
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

TEST_CASE("backward: work, memories and stores of the article") {
  const PlacedDiagram placed = backward().place(ahead("1"));
  const EventGraph graph = event_graph(placed);
  for (const char* product : {"S", "dP", "dV", "dQ", "dK"})
    CHECK(graph.node(graph.find(product)).clocks == doctest::Approx(512));
  std::vector<double> operations(4, 0);  // of V1, V2, V3, on each vector core, four bytes an element, 256 bytes a clock
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

/// Tiles of 128 x 128 that leave L0C: results that stay there for a block leave in 16 bits, the others in 32.
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

TEST_CASE("backward: what leaves L0C where nothing, dK and dV, or dQ stays there") {
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

TEST_CASE("backward: FIXPIPE binds where every block's dK and dV leave, the tensor unit where they stay") {
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
    const double predicted = predict(placed, plan(placed)).time.value * 1e6, error = predicted / microseconds - 1;
    MESSAGE(s, ": ", predicted, " us of ", microseconds, " (", 100 * error, " %)");
    CHECK(std::abs(error) < 0.20);
    mean += std::abs(error) / static_cast<double>(published.size());
  }
  MESSAGE("mean ", 100 * mean, " %");
  CHECK(mean < 0.15);
}

namespace {

/// A causal triangle of so many blocks a side on 24 cube cores.
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
TEST_CASE("backward: blocks of the triangle on 24 cores: 22 of 528 and 87 of 2,080, or columns of 40 and 120") {
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
    const auto cycles = [](const PlacedDiagram& placed) { return predict(placed, plan(placed)).cycles.value; };
    CHECK(cycles(laid->place(dealt("even"))) < cycles(columns));
  }
}

TEST_CASE("backward: even shares cut columns: 54 visits and 636 stores of 32 columns, 86 and 2,252 of 64") {
  for (const auto& [blocks, visits, stored] : std::vector<std::array<std::int64_t, 3>>{{32, 54, 636}, {64, 86, 2252}}) {
    const std::int64_t ids = blocks * (blocks + 1) / 2;
    const std::int64_t seen = blocks + cut_tiles(triangle(blocks)->place(dealt("even"))).get();
    CHECK(seen == visits);
    CHECK(ids + 2 * seen == stored);  // dQ of every block, dK and dV of every visit
  }
}

}  // namespace test_cores
