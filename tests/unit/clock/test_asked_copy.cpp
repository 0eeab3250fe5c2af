// Copies that a thread asks for box by box: who waits for what in matmul_sm90, and what boxes and rows cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/asked_copy.hpp"
#include "model/clock/period.hpp"
#include "model/clock/power.hpp"
#include "model/clock/timeline.hpp"
#include "tests/laid_out.hpp"

namespace test_asked_copy {

using namespace napkin;
using namespace napkin::test;

namespace {

const LaidOut& product() {
  static const LaidOut out("matmul_sm90", "h200-sxm", {{"a", 4096}, {"b", 4096}, {"c", 4096}}, DType::bf16);
  return out;
}

PlacedDiagram placed(const std::string& c, const std::string& b, const std::string& stages, const std::string& cluster, const std::string& order) {
  return product().place({{"a", "128"}, {"c", c}, {"b", b}, {"warpgroups", "2"}, {"stages", stages}, {"cluster", cluster}, {"order", order}});
}

const EventNode& node(const EventGraph& graph, const std::string& name) {
  REQUIRE(graph.find(name) >= 0);
  return graph.node(graph.find(name));
}

double constant(const char* name) { return product().machine.constant(name); }

const TimelineSpan& span(const Timeline& timeline, int node, int iteration) {
  const auto found = std::find_if(timeline.spans.begin(), timeline.spans.end(),
                                  [&](const TimelineSpan& s) { return s.node == node && s.iteration == iteration && s.instance == 0; });
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
    const EventGraph alone = event_graph(placed(row.c, row.b, "2", "1", "grid")), pair = event_graph(placed(row.c, row.b, "2", "2", "grid"));
    CHECK(node(alone, "C.ask.boxes").clocks == doctest::Approx((row.boxes_of_a + row.boxes_of_b) * constant("tma_box")));
    CHECK(node(pair, "C.ask.boxes").clocks ==
          doctest::Approx(row.boxes_of_a * constant("tma_box") + row.boxes_of_b * constant("tma_box_multicast")));
    CHECK(node(alone, "C.ask").clocks == constant("tma_ask"));
    CHECK(node(pair, "C.ask").clocks == constant("tma_ask_cluster"));
  }
}

TEST_CASE("rows of 32 bytes come at half the rate, those of 64 do not; a cluster reads its share and receives all") {
  const double tiles = constant("l2_bandwidth_tiles");
  CHECK(node(event_graph(placed("256", "64", "2", "1", "grid")), "load B").clocks == doctest::Approx(256 * 64 * 2 / tiles));
  CHECK(node(event_graph(placed("224", "64", "2", "1", "grid")), "load B").clocks == doctest::Approx(224 * 64 * 2 / tiles));
  CHECK(node(event_graph(placed("240", "64", "2", "1", "grid")), "load B").clocks == doctest::Approx(2 * 240 * 64 * 2 / tiles));
  const EventNode alone = node(event_graph(placed("256", "64", "2", "1", "grid")), "load B");
  const EventNode pair = node(event_graph(placed("256", "64", "2", "2", "grid")), "load B");
  CHECK(pair.clocks == doctest::Approx(alone.clocks / 2));
  CHECK(pair.clocks + pair.latency == doctest::Approx(alone.clocks + alone.latency));
}

TEST_CASE("a stage is given back behind the next one's first product, a block's last one at once") {
  const EventGraph graph = event_graph(placed("256", "64", "3", "1", "grid"));
  const int control = graph.find("C.control"), ask = graph.find("C.ask"), iterations = 6;
  const auto edge = std::find_if(graph.edges.begin(), graph.edges.end(), [&](const EventEdge& e) { return e.from == control && e.to == ask; });
  REQUIRE(edge != graph.edges.end());
  CHECK(edge->delay == 2);
  CHECK(edge->ahead == 1);
  const Timeline timeline = run(graph, iterations, 2, true);
  for (int i = 2; i < 2 * iterations; ++i) {
    CAPTURE(i);
    // Iteration i takes the stage of i - 3, which i - 2 gives back, where that is of the same block.
    if ((i - 2) % iterations == 0) continue;
    CHECK(span(timeline, ask, i).start >= span(timeline, control, i - 2).end + edge->latency - 1e-6);
  }
  // The second block's first stages are filled while the first one's result leaves.
  CHECK(span(timeline, ask, iterations + 2).start < span(timeline, graph.find("store C"), 0).end);
}

TEST_CASE("with two stages an iteration takes a copy's whole way; with four the products hide it") {
  const PlacedDiagram two = placed("256", "64", "2", "1", "grid"), four = placed("256", "64", "4", "1", "grid");
  const EventGraph graph = event_graph(two);
  const double way = node(graph, "C.ask").clocks + node(graph, "load A").clocks + node(graph, "load B").clocks + node(graph, "load B").latency;
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

TEST_CASE("launches of what the L2 holds take no energy for device memory") {
  const LaidOut small("matmul_sm90", "h200-sxm", {{"a", 2048}, {"b", 2048}, {"c", 2048}}, DType::bf16);
  CHECK(device_bytes(small.place({})) == 0);
  CHECK(device_bytes(product().place({})) == 3.0 * 4096 * 4096 * 2);
}

}  // namespace test_asked_copy
