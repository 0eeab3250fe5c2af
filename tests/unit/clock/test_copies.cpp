// Copies that a thread asks for box by box: waits in matmul_sm90, and clocks of boxes and rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "tests/support/layout.hpp"

namespace test_copies {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const LaidOut& product() {
  static const LaidOut out("matmul_sm90", "h200-sxm", {{"a", 4096}, {"b", 4096}, {"c", 4096}}, DType::bf16);
  return out;
}

PlacedDiagram placed(const std::string& c, const std::string& b, const std::string& stages, const std::string& cluster,
                     const std::string& order) {
  return product().place({{"a", "128"},
                          {"c", c},
                          {"b", b},
                          {"warpgroups", "2"},
                          {"stages", stages},
                          {"cluster", cluster},
                          {"order", order}});
}

const EventNode& node(const EventGraph& graph, const std::string& name) {
  REQUIRE(graph.find(name) >= 0);
  return graph.node(graph.find(name));
}

double constant(const char* name) { return product().machine.constant(name); }

/// Returns the latency of the first boxes that the loop loads.
double latency(const PlacedDiagram& placed) {
  const auto found = std::find_if(placed.crossings.begin(), placed.crossings.end(), [](const Crossing& c) {
    return !c.store && c.phase == Phase::loop && c.engine == CopyEngine::tma;
  });
  REQUIRE(found != placed.crossings.end());
  return chunk_latency(placed, *found);
}

/// Returns the clocks of a box for the asking thread beside two warpgroups, over those beside one.
double beside_two() { return 1 + constant("tma_box_beside") / constant("tma_box"); }

const TimelineSpan& span(const Timeline& timeline, int node, int iteration) {
  const auto found = std::find_if(timeline.spans.begin(), timeline.spans.end(), [&](const TimelineSpan& s) {
    return s.node == node && s.iteration == iteration && s.instance == 0;
  });
  REQUIRE(found != timeline.spans.end());
  return *found;
}

}  // namespace

TEST_CASE("a thread's time for its boxes: those 64 columns wide, 32 and 16; more into a cluster") {
  struct Row {
    const char *c, *b;
    int boxes_of_a, boxes_of_b;
  };
  for (const Row& row : {Row{"256", "64", 1, 4}, {"256", "128", 2, 4}, {"224", "64", 1, 7}, {"240", "32", 1, 15}}) {
    CAPTURE(row.c);
    const EventGraph alone = event_graph(placed(row.c, row.b, "2", "1", "grid")),
                     pair = event_graph(placed(row.c, row.b, "2", "2", "grid"));
    CHECK(node(alone, "C.ask.boxes").clocks ==
          doctest::Approx((row.boxes_of_a + row.boxes_of_b) * constant("tma_box") * beside_two()));
    const double meeting = constant("tma_ask_cluster") - constant("tma_ask");
    CHECK(node(pair, "C.ask.boxes").clocks ==
          doctest::Approx(meeting +
                          (row.boxes_of_a * constant("tma_box") + row.boxes_of_b * constant("tma_box_multicast")) *
                              beside_two()));
    CHECK(node(alone, "C.ask").clocks == doctest::Approx(constant("tma_ask") * beside_two()));
    CHECK(node(pair, "C.ask").clocks == doctest::Approx(constant("tma_ask") * beside_two()));
  }
}

TEST_CASE("each warpgroup beyond the first slows the thread that asks for boxes by as much") {
  const auto boxes = [](const char* warpgroups) {
    return node(event_graph(product().place({{"a", "192"},
                                             {"c", "128"},
                                             {"b", "32"},
                                             {"warpgroups", warpgroups},
                                             {"stages", "4"},
                                             {"cluster", "1"}})),
                "C.ask.boxes")
        .clocks;
  };
  CHECK(boxes("1") == doctest::Approx(3 * constant("tma_box")));
  CHECK(boxes("3") == doctest::Approx(3 * (constant("tma_box") + 2 * constant("tma_box_beside"))));
}

TEST_CASE("rows of a block beyond the array are filled with zeros, and where copies bind a launch waits for them") {
  const auto of_rows = [](std::int64_t a, std::int64_t c) {
    return LaidOut("matmul_sm90", "h200-sxm", {{"a", a}, {"b", 4096}, {"c", c}}, DType::bf16);
  };
  const Knobs knobs{{"a", "192"},    {"c", "64"},      {"b", "64"},      {"warpgroups", "3"},
                    {"stages", "4"}, {"cluster", "1"}, {"order", "grid"}};
  const LaidOut whole = of_rows(960, 1024), ragged = of_rows(1024, 1024), columns = of_rows(960, 1056);
  const PlacedDiagram p = ragged.place(knobs);
  CHECK(edge_copies(whole.place(knobs)).blocks == 0);
  CHECK(edge_copies(columns.place(knobs)).blocks == 0);
  // rows outside the array, of 192 in the sixth block
  const double row = 128 / constant("l2_bandwidth_shared_tile"), outside = 128;
  CHECK(edge_copies(p).blocks == 16);
  CHECK(edge_copies(p).clocks == doctest::Approx((192 + 64 - outside) * row + outside * constant("tma_row_outside")));
  const EventGraph graph = event_graph(p);
  const Period steady = period(graph);
  const LaunchShape shape = launch_shape(p);
  CHECK(shape.edge.blocks == 1);  // 16 of 96 blocks
  const double longer =
      launch_clocks(p, graph, steady).busiest - launch_clocks(whole.place(knobs), graph, steady).busiest;
  CHECK(longer == doctest::Approx(64 * (edge_copies(p).clocks - steady.clocks)));
  const BlockClocks block = block_clocks(graph, steady, shape.mean, shape.cut);
  CHECK(launch_clocks_bound(shape, block_ends(p), block, steady.clocks) < launch_clocks(p, graph, steady).busiest);
}

TEST_CASE(
    "rows of 32 bytes come at half the rate, those of 64 take more than half of one of 128; what a cluster receives "
    "passes its own pipe") {
  const double tiles = constant("l2_bandwidth_shared_tile");
  CHECK(node(event_graph(placed("256", "64", "2", "1", "grid")), "load B").clocks ==
        doctest::Approx(256 * 64 * 2 / tiles));
  CHECK(node(event_graph(placed("224", "64", "2", "1", "grid")), "load B").clocks ==
        doctest::Approx(224 * 64 * 2 / tiles * constant("tma_row_64") / 64));
  CHECK(node(event_graph(placed("240", "64", "2", "1", "grid")), "load B").clocks ==
        doctest::Approx(2 * 240 * 64 * 2 / tiles));
  CHECK(node(event_graph(placed("256", "64", "2", "2", "grid")), "load B").clocks ==
        doctest::Approx(256 * 64 * 2 / constant("multicast_delivered_bandwidth")));
  CHECK(node(event_graph(placed("256", "64", "2", "2", "grid")), "load A").clocks ==
        doctest::Approx(128 * 64 * 2 / tiles));
}

TEST_CASE(
    "a buffer is full after a latency and what one SM alone takes for it; the pipe is free later, where all copy") {
  const double alone = constant("l2_bandwidth_one_sm"), bytes = (128 + 256) * 64 * 2;
  const EventGraph graph = event_graph(placed("256", "64", "2", "1", "grid"));
  const EventNode &a = node(graph, "load A"), &b = node(graph, "load B");
  const double first = a.clocks + a.latency - 128 * 64 * 2 / alone;
  CHECK(a.clocks + b.clocks + b.latency == doctest::Approx(first + bytes / alone));
  const Timeline timeline = run(graph, 8, 1, true);
  const int ask = graph.find("C.ask"), control = graph.find("C.control");
  CHECK(span(timeline, control, 0).start == doctest::Approx(span(timeline, ask, 0).end + first + bytes / alone));
  // With two buffers free the second one's copies wait for the pipe.
  CHECK(span(timeline, graph.find("load A"), 1).start >=
        span(timeline, graph.find("load A"), 0).start + a.clocks + b.clocks - 1e-6);
}

TEST_CASE("what is added to the L2 passes at the rate of additions, whoever adds it") {
  const LaidOut l("attention_backward_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}},
                  DType::bf16);
  for (const char* dq : {"atomic", "bulk"}) {
    const EventGraph graph = event_graph(l.place({{"q", "64"}, {"x", "128"}, {"warpgroups", "2"}, {"dq", dq}}));
    CHECK(node(graph, "store dQ").clocks == doctest::Approx(64 * 128 * 4 / constant("l2_add_bandwidth")));
  }
}

TEST_CASE("narrow chunks take the pipe as long as one thread asks for their boxes") {
  const LaidOut l("attention_sm90", "h200-sxm", {{"b", 8}, {"h", 8}, {"q", 4096}, {"x", 4096}, {"d", 256}},
                  DType::bf16);
  const auto load = [&](const std::string& x) {
    return node(event_graph(l.place({{"q", "128"}, {"x", x}, {"warpgroups", "2"}, {"cluster", "1"}})), "load K").clocks;
  };
  CHECK(load("32") == doctest::Approx(4 * constant("tma_box") * beside_two()));
  CHECK(load("80") == doctest::Approx(80 * 256 * 2 / constant("l2_bandwidth_shared_tile")));
}

TEST_CASE("a chunk that no other block reads waits for device memory in full, under a mask too") {
  // A single row of blocks: each reads its own columns of B, and all read A.
  const LaidOut few("matmul_sm90", "h200-sxm", {{"a", 64}, {"b", 14336}, {"c", 4096}}, DType::bf16);
  const PlacedDiagram products = few.place({{"a", "64"}, {"c", "32"}, {"warpgroups", "1"}, {"cluster", "1"}});
  const double whole = constant("tma_device_latency_16kib") - constant("tma_l2_latency_16kib"),
               first = constant("tma_l2_latency_16kib") - 16 * 1024 / constant("l2_bandwidth_one_sm");
  std::vector<double> later;
  for (const Crossing& c : products.crossings) {
    if (c.into == products.block().level && !c.store && c.phase == Phase::loop && c.engine == CopyEngine::tma)
      later.push_back(chunk_latency(products, c) - first);
  }
  std::sort(later.begin(), later.end());
  REQUIRE(later.size() == 2);
  CHECK(later[0] == doctest::Approx(whole * constant("device_wait_share")));
  CHECK(later[1] == doctest::Approx(whole));
  const Shape shape = {{"b", 8}, {"h", 8}, {"q", 1}, {"x", 32768}, {"d", 128}};
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal}}) {
    const LaidOut decode("attention_sm90", "h200-sxm", shape, DType::bf16, mask);
    CHECK(latency(decode.place({})) == doctest::Approx(first + whole));
  }
}

TEST_CASE("boxes of few blocks that no other block reads pass at what one SM, or each of them, gets of device memory") {
  const auto rate = [](std::int64_t rows, std::int64_t columns) {
    const LaidOut l("matmul_sm90", "h200-sxm", {{"a", rows}, {"b", 14336}, {"c", columns}}, DType::bf16);
    const EventGraph graph = event_graph(l.place({{"a", "64"}, {"c", "64"}, {"warpgroups", "1"}, {"cluster", "1"}}));
    return 64 * 64 * 2 / node(graph, "load B").clocks;
  };
  const double device = 4625e9 / 1.83e9, each = 35;  // a clock, as the profile has them
  CHECK(rate(64, 32 * 64) == doctest::Approx(constant("device_bandwidth_one_sm")));
  CHECK(rate(64, 64 * 64) == doctest::Approx(device / 64));
  CHECK(rate(64, 100 * 64) == doctest::Approx(each));  // more than their share of device memory, as of many blocks
  CHECK(rate(64, 132 * 64) == doctest::Approx(each));
  CHECK(rate(128, 32 * 64) == doctest::Approx(constant("l2_bandwidth_shared_tile")));  // two readers
}

TEST_CASE("chunks of arrays that the L2 does not keep come from device memory") {
  const LaidOut small("matmul_sm90", "h200-sxm", {{"a", 2048}, {"b", 2048}, {"c", 2048}}, DType::bf16);
  const double wait =
      (constant("tma_device_latency_16kib") - constant("tma_l2_latency_16kib")) * constant("device_wait_share");
  CHECK(latency(product().place({})) == doctest::Approx(latency(small.place({})) + wait));
  CHECK(latency(small.place({})) ==
        doctest::Approx(constant("tma_l2_latency_16kib") - 16 * 1024 / constant("l2_bandwidth_one_sm")));
  const PlacedDiagram large = product().place({});
  CHECK(waits_for_device(*large.machine, *large.streamed, *large.problem));
  // Blocks of different lengths are not in step: one finds in the L2 what another has read.
  const Shape shape = {{"b", 8}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};
  const LaidOut full("attention_sm90", "h200-sxm", shape, DType::bf16),
      causal("attention_sm90", "h200-sxm", shape, DType::bf16, {Mask::Kind::causal});
  CHECK(latency(full.place({})) == doctest::Approx(latency(causal.place({})) + wait));
  // What a block loads once is in the L2 where the launch's arrays fit there.
  const LaidOut little("attention_sm90", "h200-sxm", {{"h", 32}, {"q", 1024}, {"x", 1024}, {"d", 128}}, DType::bf16);
  const EventGraph far = event_graph(full.place({})), kept = event_graph(little.place({}));
  CHECK(node(far, "load Q").latency > node(kept, "load Q").latency + 2 * wait);
  CHECK(node(far, "load Q").clocks == doctest::Approx(node(kept, "load Q").clocks));
}

TEST_CASE(
    "of masked blocks that begin on the diagonal the chunks there come from device memory, and later; with three of "
    "them in two stages an iteration waits") {
  const auto attention_of = [](std::int64_t b, const Mask& mask) {
    return LaidOut("attention_sm90", "h200-sxm", {{"b", b}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 256}},
                   DType::bf16, mask);
  };
  const Mask causal{Mask::Kind::causal, 0, 0};
  const auto placed = [](const LaidOut& l, const char* x) {
    return l.place({{"q", "128"},
                    {"x", x},
                    {"warpgroups", "2"},
                    {"p_in", "registers"},
                    {"stages", "2"},
                    {"q_stages", "2"},
                    {"order", "longest_first"}});
  };
  const LaidOut beyond = attention_of(16, causal), kept = attention_of(1, causal), whole = attention_of(16, {});
  const double device =
      beyond.machine.constant("tma_device_latency_16kib") - beyond.machine.constant("tma_l2_latency_16kib");
  CHECK(first_touch_latency(placed(beyond, "48")) == device);
  CHECK(first_touch_latency(placed(beyond, "256")) == device / 2);  // half of those keys are the next block's
  CHECK(first_touch_latency(placed(kept, "48")) == 0);              // the L2 has them from the launch before
  CHECK(first_touch_latency(placed(whole, "48")) == 0);  // without a mask all of a head begin together (chunk_latency)
  const PlacedDiagram p = placed(beyond, "48");
  EventGraph graph = event_graph(p);
  const auto clocks = [&] { return block_clocks(graph, period(graph), 16, cut_chunks(p)).next; };
  const double with = clocks();
  for (EventNode& node : graph.nodes) node.first_latency = 0;
  const double without = clocks();
  CHECK(with > without + 0.75 * device);
  CHECK(with < without + 4 * device);
}

TEST_CASE("a stage is given back behind the next one's first product, a block's last one at once") {
  const EventGraph graph = event_graph(placed("256", "64", "3", "1", "grid"));
  const int control = graph.find("C.control"), ask = graph.find("C.ask"), iterations = 6;
  const auto edge = std::find_if(graph.edges.begin(), graph.edges.end(), [&](const EventEdge& e) {
    return e.from == graph.find("C") && e.to == ask && e.after == EdgeFrom::issued;
  });
  REQUIRE(edge != graph.edges.end());
  CHECK(edge->delay == 2);
  CHECK(edge->ahead == 1);
  const Timeline timeline = run(graph, iterations, 2, true);
  for (int i = 2; i < 2 * iterations; ++i) {
    CAPTURE(i);
    // Iteration i takes the stage of i - 3, which i - 2 gives back, where that is of the same block: its products must
    // be in the queue.
    if ((i - 2) % iterations == 0) continue;
    CHECK(span(timeline, ask, i).start >= span(timeline, control, i - 2).end + edge->latency - 1e-6);
    const TimelineSpan& products = span(timeline, graph.find("C"), i - 2);
    const double queued =
        (products.end - products.start) * (1 - static_cast<double>(graph.tensor_queue) / node(graph, "C").instructions);
    CHECK(span(timeline, ask, i).start >= products.start + queued + edge->latency - 1e-6);
  }
  // The second block's first stages are filled while the first one's result leaves.
  CHECK(span(timeline, ask, iterations + 2).start < span(timeline, graph.find("store C"), 0).end);
}

TEST_CASE("with two stages an iteration takes a copy's whole way; with four the products hide it") {
  const PlacedDiagram two = placed("256", "64", "2", "1", "grid"), four = placed("256", "64", "4", "1", "grid");
  const EventGraph graph = event_graph(two);
  const double bytes = (128 + 256) * 64 * 2;
  const double way = node(graph, "C.ask").clocks + latency(two) + bytes / constant("l2_bandwidth_one_sm");
  CHECK(period(graph).clocks >= way);
  const Period hidden = period(event_graph(four));
  CHECK(hidden.clocks == doctest::Approx(hidden.pipe.clocks));
  CHECK(hidden.pipe.name == "tensor");
}

TEST_CASE("where a tile lies is found out once a block, before it asks; not in the order of the grid") {
  CHECK(event_graph(placed("256", "64", "3", "1", "grid")).find("C.place") < 0);
  const EventGraph graph = event_graph(placed("256", "64", "3", "1", "hilbert"));
  CHECK(node(graph, "C.place").phase == Phase::head);
  const Timeline timeline = run(graph, 4, 2, true);
  const int place = graph.find("C.place"), ask = graph.find("C.ask");
  CHECK(span(timeline, ask, 0).start >= span(timeline, place, 0).end);
  CHECK(span(timeline, ask, 4).start >= span(timeline, place, 1).end);
  CHECK(span(timeline, place, 1).start >= span(timeline, ask, 3).end);
}

TEST_CASE("along the Hilbert curve consumers find where they store beside their last products, and pack behind both") {
  CHECK(event_graph(placed("256", "64", "3", "1", "grouped")).find("C.find") < 0);
  for (const bool deep : {false, true}) {
    const EventGraph graph =
        event_graph(deep ? placed("256", "128", "2", "1", "hilbert") : placed("32", "64", "2", "1", "hilbert"));
    CHECK(node(graph, "C.find").phase == Phase::tail);
    CHECK(node(graph, "C.find").clocks == doctest::Approx(node(graph, "C.place").clocks));
    const Timeline timeline = run(graph, 4, 1, true);
    const TimelineSpan &find = span(timeline, graph.find("C.find"), 0), &last = span(timeline, graph.find("C"), 3);
    CHECK(find.start <= last.start);
    CHECK(find.start < last.end);
    CHECK(span(timeline, graph.find("C.pack"), 0).start >= std::max(find.end, last.end) - 1e-6);
    // with short products most of the latency remains visible
    if (!deep) CHECK(find.end > last.end + node(graph, "C").latency);
  }
}

TEST_CASE(
    "a cluster's blocks meet before their first copy, and behind the last block's end: in the time, not in the "
    "cycles") {
  for (const char* cluster : {"1", "2"}) {
    CAPTURE(cluster);
    const PlacedDiagram p = placed("256", "64", "3", cluster, "grouped");
    const double meeting = std::string(cluster) == "2" ? cluster_latency(*p.machine) : 0;
    CHECK(meeting_of_cluster(p) == meeting);
    CHECK(block_ends(p).start == constant("block_start") + meeting);
    CHECK(block_ends(p).handover == constant("block_handover") + meeting);
    const Prediction said = predict(p);
    CHECK((said.time.value - constant("launch_gap")) * said.clock.value ==
          doctest::Approx(said.cycles.value + meeting));
  }
}

TEST_CASE("launches of what the L2 holds take no energy for device memory") {
  const LaidOut small("matmul_sm90", "h200-sxm", {{"a", 2048}, {"b", 2048}, {"c", 2048}}, DType::bf16);
  CHECK(device_bytes(small.place({})) == 0);
  CHECK(device_bytes(product().place({})) == 3.0 * 4096 * 4096 * 2);
}

}  // namespace test_copies
