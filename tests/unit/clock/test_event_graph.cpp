#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <tuple>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "tests/support/layout.hpp"
#include "tests/unit/clock/small_graph.hpp"

namespace test_event_graph {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const Shape shape{{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};
const Knobs tile{{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", "1"}};

Knobs with(Knobs knobs, const std::string& name, const std::string& value) {
  knobs.emplace_back(name, value);
  return knobs;
}

// Returns the largest ratio over all simple cycles, one by one.
double enumerated_ratio(const EventGraph& g) {
  double best = 0;
  std::vector<bool> on_path(g.nodes.size());
  for (int start = 0; start < static_cast<int>(g.nodes.size()); ++start) {
    const std::function<void(int, double, int)> walk = [&](int at, double clocks, int tokens) {
      for (const EventEdge& e : g.edges) {
        if (e.from != at || e.to < start) continue;
        const double through = clocks + g.node(at).clocks;
        if (e.to == start) best = std::max(best, tokens + e.delay > 0 ? through / (tokens + e.delay) : 0);
        if (e.to == start || on_path[static_cast<std::size_t>(e.to)]) continue;
        on_path[static_cast<std::size_t>(e.to)] = true;
        walk(e.to, through, tokens + e.delay);
        on_path[static_cast<std::size_t>(e.to)] = false;
      }
    };
    on_path.assign(g.nodes.size(), false);
    on_path[static_cast<std::size_t>(start)] = true;
    walk(start, 0, 0);
  }
  return best;
}

// Returns true if a cycle of the loop's instances takes more than `ratio` clocks a token: the longest paths by Bellman
// and Ford then grow without end.
bool has_longer_cycle(const EventGraph& g, double ratio) {
  std::vector<int> first;
  int vertices = 0;
  for (const int instances : g.instances) {
    first.push_back(vertices);
    vertices += instances;
  }
  const auto first_of = [&](int node) { return first[static_cast<std::size_t>(node)]; };
  const auto instances_of = [&](int node) { return g.instances[static_cast<std::size_t>(node)]; };
  std::vector<double> way(static_cast<std::size_t>(vertices), 0.0);
  for (int round = 0; round <= vertices; ++round) {
    bool any = false;
    for (const EventEdge& e : g.edges) {
      const EventNode& from = g.node(e.from);
      if (from.phase != Phase::loop || g.node(e.to).phase != Phase::loop) continue;
      const double clocks = (e.after == EdgeFrom::done ? from.clocks + from.latency : 0) + e.latency;
      const int here = instances_of(e.from), there = instances_of(e.to);
      for (int i = 0; i < here; ++i) {
        for (int j = 0; j < there; ++j) {
          const bool alike = here == there && !e.barrier;
          if (alike && j != (i + e.agents) % there) continue;
          const int tokens = e.delay + (alike ? (i + e.agents) / there : 0);
          double& to = way[static_cast<std::size_t>(first_of(e.to) + j)];
          const double through = way[static_cast<std::size_t>(first_of(e.from) + i)] + clocks - ratio * tokens;
          if (through <= to + 1e-9) continue;
          to = through;
          any = true;
        }
      }
    }
    if (!any) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the graph of attention: nodes of the mapping, clocks from its counts") {
  const LaidOut l("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const EventGraph g = event_graph(l.place(tile));
  CHECK(g.node(g.find("S")).kind == NodeKind::tensor);
  CHECK(g.node(g.find("S")).clocks == doctest::Approx(8 * 64));  // 8 steps of k, n = 128: 64 clk each
  CHECK(g.node(g.find("P.max")).clocks == doctest::Approx(64 * 128 / 63.5));
  CHECK(g.node(g.find("P.exp")).clocks == doctest::Approx(0.75 * 64 * 128 / 16 + 64 / 16));  // and one delta a row
  CHECK(g.instances[static_cast<std::size_t>(g.find("S"))] == 2);
  CHECK(g.node(g.find("load K")).clocks ==
        doctest::Approx(128 * 128 * 2 / l.machine.constant("l2_bandwidth_shared_tile")));
  CHECK(g.find("P.scale") == -1);  // no edge names it: part of the piece before
  CHECK_THROWS_AS((void)run(g, 0), Error);
}

TEST_CASE("a run keeps every order that the edges ask for, and no pipe does more than it can") {
  const LaidOut l("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const EventGraph g = event_graph(l.place(tile));
  const int iterations = 12;
  const Timeline t = run(g, iterations, 1, true);
  const auto span = [&](int node, int instance, int iteration) -> const TimelineSpan* {
    for (const TimelineSpan& s : t.spans) {
      if (s.node == node && s.instance == instance && s.iteration == iteration) return &s;
    }
    return nullptr;
  };
  std::size_t all = 0;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const bool loops = g.nodes[n].phase == Phase::loop;
    all += static_cast<std::size_t>(g.instances[n]) * static_cast<std::size_t>(loops ? iterations : 1);
  }
  CHECK(t.spans.size() == all);
  int checked = 0;
  for (const TimelineSpan& to : t.spans) {
    for (const EventEdge& e : g.edges) {
      if (e.to != to.node || e.agents != 0 || e.after != EdgeFrom::done) continue;
      if (g.node(e.from).phase != Phase::loop || g.node(e.to).phase != Phase::loop) continue;
      const int here = g.instances[static_cast<std::size_t>(e.from)];
      const TimelineSpan* from = span(e.from, here == 1 ? 0 : to.instance, to.iteration - e.delay);
      if (from == nullptr || (here != 1 && g.instances[static_cast<std::size_t>(e.to)] == 1)) continue;
      CHECK(to.start >= from->end + g.node(e.from).latency - 1e-6);
      ++checked;
    }
  }
  CHECK(checked > 100);
  // Instructions of several operations take turns on the tensor unit, so that operations overlap; their work does not.
  std::vector<TimelineSpan> tensor;
  for (const TimelineSpan& s : t.spans) {
    if (g.node(s.node).kind == NodeKind::tensor) tensor.push_back(s);
  }
  for (const TimelineSpan& from : tensor) {
    for (const TimelineSpan& to : tensor) {
      double work = 0;
      for (const TimelineSpan& s : tensor) {
        if (s.start >= from.start && s.end <= to.end) work += g.node(s.node).clocks;
      }
      if (to.end > from.start) CHECK(work <= to.end - from.start + 1e-6);
    }
  }
}

TEST_CASE("cycle ratio: Howard's algorithm and every cycle one by one agree") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    Small s;
    const int nodes = 2 + static_cast<int>(random() % 5U);
    for (int n = 0; n < nodes; ++n)
      s.add(std::string(1, static_cast<char>('a' + n)), static_cast<double>(1 + random() % 100U));
    for (int n = 0; n + 1 < nodes; ++n) s.edge(n, n + 1);
    s.edge(nodes - 1, 0, 1 + static_cast<int>(random() % 3U));
    for (int extra = 0; extra < 4; ++extra) {
      const int from = static_cast<int>(random() % static_cast<unsigned>(nodes));
      const int to = static_cast<int>(random() % static_cast<unsigned>(nodes));
      s.edge(from, to, from < to ? static_cast<int>(random() % 2U) : 1 + static_cast<int>(random() % 3U));
    }
    CHECK(cycle_ratio(s.graph).clocks == doctest::Approx(enumerated_ratio(s.graph)).epsilon(1e-9));
    // Nothing is shared, so nothing is contended: the run reaches the ratio.
    CHECK(period(s.graph).clocks == doctest::Approx(cycle_ratio(s.graph).clocks).epsilon(0.02));
  }
}

TEST_CASE("cycle ratio: the search ends whatever the numbers, within rounding of the longest cycle") {
  std::mt19937 random(9);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    Small s;
    const int nodes = 2 + below(5);
    const double scale =
        std::pow(10.0, below(200) - 100);  // rounding is far beyond any tolerance in clocks, or below it
    for (int n = 0; n < nodes; ++n) s.add(std::string(1, static_cast<char>('a' + n)), scale * (1 + below(1000)) / 7);
    for (int n = 0; n < nodes; ++n) s.edge(n, (n + 1) % nodes, n + 1 < nodes ? 0 : 1 + below(7));
    for (int extra = 0; extra < 6; ++extra) s.edge(below(nodes), below(nodes), 1 + below(7));
    // If all numbers are as small as the tolerance, any cycle counts as the critical one.
    if (scale >= 1) CHECK(cycle_ratio(s.graph).clocks == doctest::Approx(enumerated_ratio(s.graph)).epsilon(1e-6));
    CHECK(cycle_clocks(s.graph) <= enumerated_ratio(s.graph) * (1 + 1e-9));
  }
  for (const double clocks : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Small s;
    s.edge(s.add("a", clocks), s.add("b", 1));
    s.edge(1, 0, 1);
    CHECK_THROWS_AS((void)cycle_ratio(s.graph), Error);
  }
}

TEST_CASE("cycle ratio of bundled kernels: no cycle of waits is longer, and one is as long") {
  for (const char* kernel : {"attention_sm90", "flash_attention_3", "attention_sm80", "matmul_sm90"}) {
    const bool product = std::string(kernel) == "matmul_sm90";
    const LaidOut l(kernel, "h200-sxm", product ? Shape{{"a", 4096}, {"b", 4096}, {"c", 4096}} : shape, DType::bf16);
    for (const char* stages : {"1", "2", "3"}) {
      if (product && std::string(stages) == "1")
        continue;  // a stage is released after the next one, so that there are at least two
      for (const char* warpgroups : {"1", "2", "3"}) {
        CAPTURE(kernel);
        CAPTURE(stages);
        CAPTURE(warpgroups);
        Knobs knobs;
        for (const auto& [name, value] : Knobs{{"stages", stages}, {"warpgroups", warpgroups}, {"x", "32"}}) {
          if (l.mapping.find_knob(name)) knobs.emplace_back(name, value);
        }
        const EventGraph g = event_graph(l.place(knobs));
        const double ratio = cycle_ratio(g).clocks;
        CHECK(cycle_clocks(g) <= ratio);
        const bool inside = std::any_of(g.edges.begin(), g.edges.end(), [](const EventEdge& e) { return e.ahead > 0; });
        if (!inside) CHECK(cycle_clocks(g) == ratio);
        CHECK_FALSE(has_longer_cycle(g, ratio * (1 + 1e-6)));
        CHECK(has_longer_cycle(g, ratio * (1 - 1e-6)));
        CHECK(ratio <= period(g).clocks * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("a chain's own cycle is critical, and named in its order") {
  Small s;
  const int a = s.add("a", 10), b = s.add("b", 20), c = s.add("c", 5);
  s.edge(a, b);
  s.edge(b, c);
  s.edge(c, a, 1);
  s.edge(b, b, 1);
  const CycleRatio ratio = cycle_ratio(s.graph);
  CHECK(ratio.clocks == doctest::Approx(35));
  REQUIRE(ratio.nodes.size() == 3);
  const auto first = std::find(ratio.nodes.begin(), ratio.nodes.end(), "a") - ratio.nodes.begin();
  CHECK(ratio.nodes[static_cast<std::size_t>(first + 1) % 3] == "b");
  s.graph.edges[2].delay = 2;                                 // two buffers: half
  CHECK(cycle_ratio(s.graph).clocks == doctest::Approx(20));  // b after itself
}

TEST_CASE("a cycle without tokens cannot run, and is refused") {
  Small s;
  const int a = s.add("a", 10), b = s.add("b", 20);
  s.edge(a, b);
  s.edge(b, a);
  CHECK_THROWS_AS((void)run(s.graph, 3), Error);
}

TEST_CASE("a mapping's cycle without tokens is named with its line") {
  LaidOut l("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const auto buffer = [](const EdgeMapping& e) { return e.to == "load K" && e.tokens.kind == Value::Kind::knob; };
  const auto back = std::find_if(l.mapping.edges.begin(), l.mapping.edges.end(), buffer);
  REQUIRE(back != l.mapping.edges.end());
  back->tokens = {};
  back->distance = 0;
  const PlacedDiagram placed = l.place(tile);
  const auto there = std::find_if(l.mapping.edges.begin(), l.mapping.edges.end(),
                                  [](const EdgeMapping& e) { return e.from == "load K" && e.to == "S"; });
  REQUIRE(there != l.mapping.edges.end());
  const std::string line = there->location.text();  // the first edge of the cycle
  CHECK_THROWS_WITH_AS((void)event_graph(placed), doctest::Contains(line.c_str()), Error);
  CHECK_THROWS_WITH_AS((void)event_graph(placed), doctest::Contains("a cycle of waits without tokens: "), Error);
}

TEST_CASE(
    "without overlap the instructions between products run beside them; exponentials in steps are there a while after "
    "the last") {
  const LaidOut l("attention_sm90", "h200-sxm", shape, DType::bf16);
  const Knobs off = with(with(tile, "overlap", "off"), "rescale", "rarely");
  EventGraph g = event_graph(l.place(off));
  CHECK(g.node(g.find("S.products")).serial == 0);
  CHECK(g.node(g.find("P.exp")).latency == l.machine.constant("special.latency"));
  const auto clocks = [&] { return period(g).clocks; };
  const double beside = clocks();
  for (double& each : g.nodes[static_cast<std::size_t>(g.find("S.products"))].demand) each = 0;
  g.nodes[static_cast<std::size_t>(g.find("S.products"))].clocks = 0;
  CHECK(clocks() == doctest::Approx(beside).epsilon(0.02));
  CHECK(event_graph(l.place(with(off, "rescale", "always"))).node(g.find("P.exp")).latency == 0);
}

TEST_CASE("rows that are moved by agent wait for their own agent alone, and agents start apart") {
  const LaidOut l("attention_sm90", "h200-sxm", shape, DType::bf16);
  const EventGraph g = event_graph(l.place(with(with(tile, "q_stages", "1"), "p_in", "registers")));
  const auto load = static_cast<std::size_t>(g.find("load Q")), store = static_cast<std::size_t>(g.find("store O"));
  CHECK(g.instances[load] == 2);
  CHECK(g.instances[store] == 2);
  double first[2] = {0, 0};
  for (const TimelineSpan& span : run(g, 2, 1, true).spans) {
    if (span.node == static_cast<int>(load)) first[span.instance] = span.end;
  }
  CHECK(first[1] - first[0] == doctest::Approx(g.nodes[load].clocks));
}

TEST_CASE("threads go on behind a fence and a barrier where they have stored for the tensor unit") {
  const LaidOut l("attention_sm90", "h200-sxm", shape, DType::bf16);
  for (const char* rescale : {"rarely", "always"}) {
    const EventGraph g = event_graph(l.place(with(with(tile, "p_in", "shared"), "rescale", rescale)));
    const int store = g.find(std::string(rescale) == "rarely" ? "P.store" : "P.exp");
    REQUIRE(store >= 0);
    const double fence = l.machine.constant("store_fence_barrier");
    CHECK(std::any_of(g.edges.begin(), g.edges.end(), [&](const EventEdge& e) {
      return e.from == store && g.node(e.to).kind == NodeKind::thread && g.node(e.to).agent == g.node(store).agent &&
             e.latency == fence;
    }));
  }
}

TEST_CASE("while threads wait for each product by itself, the unit rests: its own work is what other blocks leave") {
  const LaidOut l("triton", "h200-sxm", shape, DType::bf16);
  const auto graph = [&](const char* release) {
    return event_graph(l.place({{"q", "64"}, {"x", "64"}, {"warps", "4"}, {"stages", "3"}, {"release", release}}));
  };
  const EventGraph each = graph("v3.0"), together = graph("v3.6");
  const auto work = [](const EventGraph& g) {
    double sum = 0;
    for (const EventNode& node : g.nodes) sum += node.kind == NodeKind::tensor ? node.clocks - node.idle : 0;
    return sum;
  };
  const EventNode &waiting = each.node(each.find("S")), &running = together.node(together.find("S"));
  CHECK(running.idle == 0);
  // A product for every sixteen of d, each but the last with its tail between it and the next.
  CHECK(waiting.idle == doctest::Approx((128.0 / 16 - 1) * waiting.latency));
  CHECK(waiting.clocks == doctest::Approx(running.clocks + waiting.idle));
  CHECK(work(each) == doctest::Approx(work(together)));
  CHECK(busiest_pipe(each).clocks < period(each).clocks - waiting.idle);
  CHECK(period(each).clocks > period(together).clocks + waiting.idle);
}

TEST_CASE("stalls take a warp's time and no slot") {
  const Shape one{{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}};
  LaidOut l("triton_encoder", "l40s", one, DType::bf16);
  const EventGraph with = event_graph(l.place({}));
  for (OperationMapping& op : l.mapping.operations)
    std::erase_if(op.work, [](const WorkMapping& work) { return work.stalls; });
  const Placer without_stalls(l.streamed, l.mapping, l.machine, l.problem);
  const EventGraph without = event_graph(without_stalls.place(l.tile({})));
  REQUIRE(with.nodes.size() == without.nodes.size());
  // The table's s_stall, p_stall and o_stall of 64 x 64 and four warps: each warp waits so long.
  const std::vector<std::pair<std::string, double>> said{{"S.ask", 95}, {"P.max", 321}, {"O", 90}};
  for (const auto& each : said) {
    const std::string& name = each.first;
    const double clocks = each.second;
    const EventNode &stalled = with.node(with.find(name)), &plain = without.node(without.find(name));
    CAPTURE(name);
    CHECK(stalled.stalled == doctest::Approx(clocks));
    CHECK(plain.stalled == 0);
    CHECK(stalled.demand == plain.demand);
    CHECK(stalled.clocks >= plain.clocks);  // P V's products take an L40S longer than a warp's instructions and stalls
    CHECK(stalled.clocks <= plain.clocks + clocks + 1e-9);
  }
  CHECK(with.node(with.find("P.max")).clocks > without.node(without.find("P.max")).clocks);
}

TEST_CASE("every bundled mapping that has edges has a graph that runs, above its bounds") {
  for (const char* kernel :
       {"attention_sm90", "attention_sm80", "flash_attention_2", "flash_attention_3", "flashinfer", "triton"}) {
    CAPTURE(kernel);
    const LaidOut l(kernel, "h200-sxm", shape, DType::bf16);
    const EventGraph g = event_graph(l.place({}));
    const Period p = period(g);
    CHECK(p.clocks > 0);
    CHECK(std::isfinite(p.clocks));
    CHECK(p.contention >= 0);
    CHECK(p.clocks < 20 * p.pipe.clocks);
    std::set<std::tuple<int, int, int>> once;
    for (const TimelineSpan& s : run(g, 5, 2, true).spans)
      CHECK_MESSAGE(once.emplace(s.node, s.instance, s.iteration).second, g.node(s.node).name << " runs twice");
  }
}

TEST_CASE("what runs and graphs share changes no number: one memory for many graphs, and each alone") {
  const LaidOut l("attention_sm90", "h200-sxm", shape, DType::bf16);
  Periods shared;
  for (const char* x : {"128", "64"}) {
    for (const char* stages : {"3", "2", "1"}) {
      for (const char* q_stages : {"2", "1"}) {
        for (const char* cluster : {"1", "2"}) {
          CAPTURE(stages);
          CAPTURE(q_stages);
          CAPTURE(cluster);
          const EventGraph g =
              event_graph(l.place({{"x", x}, {"stages", stages}, {"q_stages", q_stages}, {"cluster", cluster}}));
          const Period alone = period(g, false);
          const Period& one = shared.of(g);
          CHECK(one.clocks == alone.clocks);
          CHECK(ends_of_blocks(g, one) == ends_of_blocks(g, alone));
          CHECK(one.settled == alone.settled);
          CHECK(&shared.of(g) == &one);
          CHECK(shared.steady(g).settled == alone.settled);
          CHECK(block_clocks(g, one, 3.5).next == block_clocks(g, alone, 3.5).next);
        }
      }
    }
  }
}

TEST_CASE("turning overlap off, or taking buffers away, never makes an iteration shorter") {
  const LaidOut l("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const double on = period(event_graph(l.place(tile))).clocks;
  const double off = period(event_graph(l.place(with(tile, "overlap", "off")))).clocks;
  CHECK(off > on * 0.999);
  const LaidOut own("attention_sm90", "h200-sxm", shape, DType::bf16);
  const double two = period(event_graph(own.place(with(tile, "stages", "2")))).clocks;
  const double one = period(event_graph(own.place(with(tile, "stages", "1")))).clocks;
  CHECK(one > two);
}

TEST_CASE("a period and a block's clocks, found from a few iterations, are those of hundreds") {
  for (const char* kernel : {"attention_sm90", "flash_attention_3", "flash_attention_2", "triton"}) {
    for (const char* overlap : {"on", "off"}) {
      CAPTURE(kernel);
      CAPTURE(overlap);
      const LaidOut l(kernel, "h200-sxm", shape, DType::bf16);
      const bool knows = l.mapping.find_knob("overlap").has_value();
      const EventGraph g = event_graph(l.place(knows ? with({}, "overlap", overlap) : Knobs{}));
      const Period p = period(g);
      const double one = run(g, 120).clocks, long_run = run(g, 480).clocks;
      CHECK(p.clocks == doctest::Approx((long_run - one) / 360).epsilon(1e-3));
      CHECK(block_clocks(g, p, 480).first == doctest::Approx(long_run).epsilon(1e-3));
      // Triton's warps wait for each other at every barrier: two blocks settle apart from one by another 0.12 %.
      CHECK(block_clocks(g, p, 480).next ==
            doctest::Approx(run(g, 480, 3).clocks - run(g, 480, 2).clocks).epsilon(1.5e-3));
      CHECK(block_clocks(g, p, 2).first == doctest::Approx(run(g, 2).clocks));
      CHECK(period(g, false).clocks == p.clocks);
    }
  }
}

}  // namespace test_event_graph
