// The assignment of blocks of unequal length to nodes, compared with a simple simulation; edges, ports and control code
// of mappings.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "model/clock/launch/launch.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/timeline.hpp"
#include "model/diagram/visits.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_waves {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

/// Returns the chunks that some row of each tile sees, counted pair by pair; causal, bottom-right aligned.
std::vector<int> lengths(std::int64_t q, std::int64_t x, std::int64_t rows, std::int64_t chunk) {
  std::vector<int> out;
  for (std::int64_t first = 0; first < q; first += rows) {
    int seen = 0;
    for (std::int64_t j = 0; j < x; j += chunk) {
      bool any = false;
      for (std::int64_t i = first; i < std::min(first + rows, q); ++i) any = any || j <= i + x - q;
      seen += any ? 1 : 0;
    }
    out.push_back(seen);
  }
  return out;
}

/// Returns the busiest node's time, simulated block by block.
double acted_out(std::vector<int> row, int heads, int nodes, const std::string& order, double iteration, double block) {
  std::vector<int> all;
  if (order == "longest_first") {
    std::sort(row.rbegin(), row.rend());
    for (const int length : row) all.insert(all.end(), static_cast<std::size_t>(heads), length);
  } else {
    for (int head = 0; head < heads; ++head) all.insert(all.end(), row.begin(), row.end());
  }
  std::vector<double> busy(static_cast<std::size_t>(nodes), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto next = order == "persistent" ? busy.begin() + static_cast<std::ptrdiff_t>(i % busy.size())
                                            : std::min_element(busy.begin(), busy.end());
    *next += all[i] * iteration + block;
  }
  return *std::max_element(busy.begin(), busy.end());
}

const EventEdge& edge_of(const EventGraph& graph, const char* from, const char* to, int delay) {
  const auto found = std::find_if(graph.edges.begin(), graph.edges.end(), [&](const EventEdge& e) {
    return e.from == graph.find(from) && e.to == graph.find(to) && e.delay == delay;
  });
  REQUIRE(found != graph.edges.end());
  return *found;
}

}  // namespace

TEST_CASE("causal blocks go onto nodes in the kernel's order") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  struct Sizes {
    int q, x, h;
  };
  for (const Sizes s :
       {Sizes{4096, 4096, 16}, {1000, 3000, 40}, {16384, 16384, 2}, {200000, 700, 1}, {40000, 3000, 3}}) {
    const int q = s.q, x = s.x, h = s.h;
    const LaidOut l("attention_sm90", "h200-sxm", {{"h", h}, {"q", q}, {"x", x}, {"d", 128}}, DType::bf16, causal);
    std::vector<double> busiest;
    for (const std::string order : {"grid", "persistent", "longest_first"}) {
      CAPTURE(order);
      CAPTURE(q);
      const PlacedDiagram placed = l.place({{"q", "128"}, {"x", "128"}, {"order", order}});
      const EventGraph graph = event_graph(placed);
      const Period p = period(graph);
      const std::vector<int> row = lengths(q, x, 128, 128);
      double mean = 0;
      for (const int length : row) mean += length / static_cast<double>(row.size());
      BlockClocks block = block_clocks(graph, p, mean, cut_chunks(placed));
      block.first += 680;  // until its threads do anything
      const double handover = order == "grid" ? 450 : 0, each = (order == "grid" ? block.first : block.next) + handover;
      const double right = block.first - each + acted_out(row, h, 132, order, p.clocks, each - mean * p.clocks);
      CHECK(launch_clocks(placed, graph, p).busiest == doctest::Approx(right).epsilon(1e-9));
      busiest.push_back(right);
    }
    CHECK(busiest[2] <= busiest[1]);  // the longest first ends earlier than dealing out in turn
  }
}

TEST_CASE("runs of blocks are those that block by block see as many chunks, found without looking at each") {
  std::mt19937 random(11);
  const auto of = [&](int least, int most) { return std::uniform_int_distribution<>(least, most)(random); };
  for (int round = 0; round < test::rounds(150); ++round) {
    const int q = of(1, of(0, 1) == 0 ? 300 : 20000), x = of(0, 3) == 0 ? q : of(1, 3000);
    const Mask mask =
        of(0, 2) == 0 ? Mask{Mask::Kind::causal, 0, 0} : Mask{Mask::Kind::window, of(0, 4000), of(0, 1) * of(0, 500)};
    CAPTURE(q);
    CAPTURE(x);
    CAPTURE(text_of(mask));
    const LaidOut l("attention_sm90", "h200-sxm", {{"h", 1}, {"q", q}, {"x", x}, {"d", 64}}, DType::bf16, mask);
    const PlacedDiagram placed = l.place({{"q", "128"}, {"x", std::to_string(16 * of(1, 16))}});
    const std::int64_t rows = placed.walk.across.get(), chunk = placed.block().chunk.get();
    std::vector<double> right;
    for (std::int64_t first = 0; first < q; first += rows)
      right.push_back(static_cast<double>(
          visited_chunks(mask, first, std::min<std::int64_t>(first + rows, q), q, x, chunk).size()));
    CHECK(block_lengths(placed) == right);
    const std::vector<EqualBlocks> runs = block_runs(placed);
    for (std::size_t i = 1; i < runs.size(); ++i) CHECK(runs[i].iterations != runs[i - 1].iterations);
  }
}

TEST_CASE(
    "without a mask nothing tells the orders of blocks that persist apart: a draw is hidden behind the tile before") {
  const LaidOut l("attention_sm90", "h200-sxm", {{"b", 16}, {"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16, {});
  const auto busiest = [&](const char* order) {
    const PlacedDiagram placed = l.place({{"q", "128"}, {"x", "96"}, {"q_stages", "1"}, {"order", order}});
    const EventGraph graph = event_graph(placed);
    return launch_clocks(placed, graph, period(graph)).busiest;
  };
  CHECK(busiest("longest_first") == doctest::Approx(busiest("persistent")).epsilon(1e-6));
}

TEST_CASE("tiles that are drawn row by row go to the first free node, and one block a node takes them") {
  const LaidOut l("cudnn_attention_sm90", "h200-sxm", {{"h", 24}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16,
                  Mask{Mask::Kind::causal, 0, 0});
  const PlacedDiagram placed = l.place({{"q", "128"}, {"x", "128"}, {"stages", "2"}, {"order", "drawn"}});
  CHECK(block_order(placed) == BlockOrder::grid);
  CHECK(blocks_persist(placed));
  std::vector<int> row;
  for (const double iterations : block_lengths(placed)) row.push_back(static_cast<int>(iterations));
  CHECK(row.front() == 1);
  BlockLengths known = block_lengths(placed, launch_shape(placed));
  CHECK(known.busiest(BlockOrder::grid, 1000, 3000) ==
        doctest::Approx(acted_out(row, 24, 132, "grid", 1000, 3000)).epsilon(1e-9));
}

TEST_CASE("what is known of blocks put onto nodes is exact between the e / c at which they would go another way") {
  std::mt19937 random(5);
  std::size_t known_before = 0, asked = 0;
  for (const Mask mask : {Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 500, 100}}) {
    for (const int length : {1000, 4096, 9000}) {
      const LaidOut l("attention_sm90", "h200-sxm", {{"h", 24}, {"q", length}, {"x", length}, {"d", 128}}, DType::bf16,
                      mask);
      const PlacedDiagram placed = l.place({{"q", "128"}, {"x", "96"}});
      std::vector<int> row;
      for (const double iterations : block_lengths(placed)) row.push_back(static_cast<int>(iterations));
      BlockLengths known = block_lengths(placed, launch_shape(placed));
      for (const auto& way : {std::pair{BlockOrder::grid, "grid"},
                              {BlockOrder::longest_first, "longest_first"},
                              {BlockOrder::persistent, "persistent"}}) {
        const BlockOrder order = way.first;
        const char* const name = way.second;
        CAPTURE(length);
        CAPTURE(name);
        CHECK(known.busiest_at_least(order, 1000, 3000) == 0);
        for (int round = 0; round < 200; ++round) {
          const double iteration = std::uniform_real_distribution<>(500, 2000)(random),
                       beyond = iteration * std::uniform_real_distribution<>(-0.5, 4)(random);
          const double right = acted_out(row, 24, 132, name, iteration, beyond);
          const double before = known.busiest_at_least(order, iteration, beyond);
          known_before += before > 0 ? 1 : 0;
          ++asked;
          if (before > 0) CHECK(before == doctest::Approx(right).epsilon(1e-9));
          CHECK(known.busiest(order, iteration, beyond) == doctest::Approx(right).epsilon(1e-9));
          CHECK(known.busiest_at_least(order, iteration, beyond) == known.busiest(order, iteration, beyond));
        }
      }
    }
  }
  CHECK(known_before > asked * 2 / 3);
}

TEST_CASE("of very many planes most are added as each node's share: the busiest node ends within half a percent") {
  for (const Mask mask : {Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 500, 100}}) {
    for (const int length : {700, 4096, 9000}) {
      const int planes = 1767;
      const LaidOut l("attention_sm90", "h200-sxm", {{"h", planes}, {"q", length}, {"x", length}, {"d", 128}},
                      DType::bf16, mask);
      const PlacedDiagram placed = l.place({{"q", "128"}, {"x", "96"}});
      std::vector<int> row;
      for (const double iterations : block_lengths(placed)) row.push_back(static_cast<int>(iterations));
      for (const double beyond : {300.0, 3000.0}) {
        CAPTURE(length);
        BlockLengths known = block_lengths(placed, launch_shape(placed));
        CHECK(known.busiest(BlockOrder::grid, 1000, beyond) ==
              doctest::Approx(acted_out(row, planes, 132, "grid", 1000, beyond)).epsilon(0.005));
      }
    }
  }
}

TEST_CASE(
    "what attention_sm90's edges ask for: copies in one order, softmax once P V is handed over or has ended, control "
    "code alone") {
  const LaidOut l("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
  const Knobs tile{{"q", "128"}, {"x", "128"}, {"overlap", "on"}, {"pingpong", "on"}, {"rescale", "always"}};
  const EventGraph graph = event_graph(l.place(tile));
  CHECK(edge_of(graph, "load K", "load V", -1).after == EdgeFrom::issued);
  CHECK(edge_of(graph, "load V", "load K", 2).after == EdgeFrom::issued);
  CHECK(edge_of(graph, "O", "P.exp", 1).after ==
        EdgeFrom::done);  // the assembler waits for P V before the second row's maximum
  CHECK(edge_of(graph, "S", "P.max", 0).after == EdgeFrom::done);
  CHECK(edge_of(graph, "S", "S.wait", 0).after == EdgeFrom::issued);
  CHECK(edge_of(graph, "O", "load K", 3).after == EdgeFrom::issued);  // the warps release K once P V has been issued
  // With 90 instructions a row, 64 rows on 4 warps of 32 threads are 45 instructions a warp.
  CHECK(graph.node(graph.find("S.control")).serial == doctest::Approx(45 * l.machine.constant("issue.serial")));
  CHECK(graph.node(graph.find("S.control")).clocks == graph.node(graph.find("S.control")).serial);

  // Without a maximum the exponentials follow the scores, and K is released once P has been checked.
  Knobs rarely = tile;
  rarely.back().second = "rarely";
  const EventGraph kept = event_graph(l.place(rarely));
  CHECK(kept.find("P.max") == -1);
  CHECK(kept.find("O.rescale") == -1);
  CHECK(edge_of(kept, "S", "P.exp", 0).after == EdgeFrom::done);
  CHECK(edge_of(kept, "O", "P.exp", 1).after == EdgeFrom::issued);
  CHECK(edge_of(kept, "P.test", "load K", 2).after == EdgeFrom::done);
  CHECK(edge_of(kept, "P.exp", "load V", 1).after ==
        EdgeFrom::done);  // V is released after the exponentials, one iteration back: two copies less one

  Knobs cluster = tile;
  cluster.emplace_back("cluster", "2");
  const EventGraph pair = event_graph(l.place(cluster));
  const double apart = l.machine.constant("cluster_handover");
  CHECK(edge_of(pair, "S", "load K", 2).latency == doctest::Approx(edge_of(graph, "S", "load K", 2).latency + apart));
}

TEST_CASE("shared memory's port is left to threads by the operands of the tensor operation that runs") {
  EventNode tensor;
  tensor.port = 0.75;
  CHECK(VectorPipe{"shared_port", 1, true, 0.04}.left_by(&tensor, 3) == doctest::Approx(0.25));
  CHECK(VectorPipe{"shuffle", 0.2, true, 0.04}.left_by(&tensor, 3) == doctest::Approx(0.2));
  tensor.port = 1;
  CHECK(VectorPipe{"shared_port", 1, true, 0.04}.left_by(&tensor, 3) == doctest::Approx(0.04));
  CHECK(VectorPipe{"special", 0.75, false, 0}.left_by(&tensor, 3) == doctest::Approx(0.75));
}

TEST_CASE("work ahead of a block, of cut chunks where the walk meets them, and behind it") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  const Knobs tile{{"q", "128"}, {"x", "128"}};
  const LaidOut whole("attention_sm90", "h200-sxm", {{"h", 1}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
  const LaidOut ragged("attention_sm90", "h200-sxm", {{"h", 1}, {"q", 4096}, {"x", 4097}, {"d", 128}}, DType::bf16);
  const LaidOut masked("attention_sm90", "h200-sxm", {{"h", 1}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16,
                       causal);
  const LaidOut window("attention_sm90", "h200-sxm", {{"h", 1}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16,
                       {Mask::Kind::window, 1024, 0});
  const auto cut = [](const LaidOut& l, const Knobs& knobs) {
    const CutChunks chunks = cut_chunks(l.place(knobs));
    return std::pair(chunks.first, chunks.last);
  };
  using Ends = std::pair<double, double>;
  CHECK(cut(whole, tile) == Ends(0, 0));
  CHECK(cut(ragged, tile) == Ends(1, 0));  // the kernel begins at the last keys
  CHECK(cut(masked, tile) == Ends(1, 0));  // the diagonal's
  CHECK(cut(masked, {{"q", "128"}, {"x", "64"}}) == Ends(2, 0));
  CHECK(cut(window, tile) == Ends(1, 1 - 8 / 32.0));  // the first eight blocks see from key 0 on
  const EventGraph graph = event_graph(masked.place(tile));
  CHECK(graph.find("P.mask") < 0);  // within the softmax
  CHECK(graph.node(graph.find("O.epilogue")).phase == Phase::tail);
  static_cast<void>(edge_of(graph, "O.epilogue", "S.tile", 1));
}

TEST_CASE("cut chunks are those that some rows of a block see and not all in full, block by block") {
  std::mt19937 random(7);
  const auto of = [&](int least, int most) { return std::uniform_int_distribution<>(least, most)(random); };
  for (int round = 0; round < test::rounds(150); ++round) {
    const int q = of(0, 3) == 0 ? of(1, 300) : of(300, 9000), x = of(0, 3) == 0   ? of(1, 300)
                                                                  : of(0, 1) == 0 ? q
                                                                                  : of(300, 9000);
    const int kind = of(0, 3);
    const Mask mask = kind == 0   ? Mask{Mask::Kind::causal, 0, 0}
                      : kind == 1 ? Mask{Mask::Kind::prefix, of(1, 5000), 0}
                                  : Mask{Mask::Kind::window, of(0, 2000), of(0, 1) * of(0, 500)};
    const int group = 64 * of(1, 3), chunk = 16 * of(1, 16);
    CAPTURE(q);
    CAPTURE(x);
    CAPTURE(text_of(mask));
    CAPTURE(group);
    CAPTURE(chunk);
    const LaidOut l("attention_sm90", "h200-sxm", {{"h", 1}, {"q", q}, {"x", x}, {"d", 64}}, DType::bf16, mask);
    const PlacedDiagram placed = l.place(
        {{"warpgroups", std::to_string(group / 64)}, {"q", std::to_string(group)}, {"x", std::to_string(chunk)}});
    const std::int64_t rows = placed.walk.across.get(), columns = placed.block().chunk.get();
    double low = 0, high = 0, groups = 0;
    for (std::int64_t first = 0; first < q; first += rows, ++groups) {
      const std::int64_t last = std::min<std::int64_t>(first + rows, q);
      const Span any = visible(mask, first, last, q, x);
      const Span top = visible(mask, first, first + 1, q, x), bottom = visible(mask, last - 1, last, q, x);
      for (std::int64_t c = any.first / columns; any.size() > 0 && c * columns < any.last; ++c) {
        if (std::max(top.first, bottom.first) > c * columns)
          low += 1;
        else if (std::min(top.last, bottom.last) < (c + 1) * columns)
          high += 1;
      }
    }
    const CutChunks found = cut_chunks(placed);
    CHECK(found.first * groups == doctest::Approx(high));  // the kernel begins at the last keys
    CHECK(found.last * groups == doctest::Approx(low));
  }
}

TEST_CASE(
    "cut chunks cost their work, in their own iterations alone: graph and period are those of any mask and length that "
    "the L2 keeps") {
  for (const std::string rescale : {"always", "rarely"}) {
    const Knobs tile{{"q", "128"}, {"x", "64"}, {"rescale", rescale}};
    Periods periods;
    const Period* first = nullptr;
    for (const int s : {1000, 4096, 16384}) {
      for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 512, 0}}) {
        const std::int64_t heads = std::max(4, 132 / (s / 128) + 1);  // blocks for all nodes
        const LaidOut l("attention_sm90", "h200-sxm", {{"h", heads}, {"q", s}, {"x", s}, {"d", 64}}, DType::bf16, mask);
        const EventGraph graph = event_graph(l.place(tile));
        REQUIRE(graph.has_cut_work());
        const Period& here = periods.of(graph);
        if (first == nullptr) first = &here;
        CHECK(&here == first);  // one of all: it depends on the tile alone
      }
    }
    const LaidOut l("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}}, DType::bf16);
    const EventGraph graph = event_graph(l.place(tile));
    const auto clocks = [&](double iterations, CutChunks cut) {
      return block_clocks(graph, *first, iterations, cut).next;
    };
    const EventNode& softmax = graph.node(graph.find(rescale == "always" ? "P.max" : "P.exp"));
    CHECK(softmax.cut_clocks > softmax.clocks);
    // Each cut chunk's maximum goes through 8 shuffles a row where it is not looked for anyway: 64 rows on 4 warps of
    // 32 threads.
    CHECK(softmax.cut_serial == doctest::Approx(rescale == "rarely" ? 4 * l.machine.constant("shuffle.latency") : 0));
    for (const double iterations : {4.0, 40.0}) {
      const double none = clocks(iterations, {}), one = clocks(iterations, {1, 0}), two = clocks(iterations, {2, 0});
      const double all = clocks(iterations, {iterations, 0});
      CHECK(all > 1.02 * none);  // a single one hides behind the beginning of a block, all of them do not
      CHECK(one - none <= graph.instances[static_cast<std::size_t>(graph.find("S"))] * softmax.cut_clocks);
      CHECK(clocks(iterations, {1.25, 0}) == doctest::Approx(one + (two - one) / 4));
    }
    CHECK(clocks(100, {2, 0}) - clocks(60, {2, 0}) == doctest::Approx(40 * first->clocks));
    CHECK(clocks(2, {2, 0}) == doctest::Approx(clocks(2, {5, 0})));  // no more than all of them
  }
}

namespace {

/// Makes two agents that each issue `instructions` of 10 clk at once, over and over, and wait for nothing else.
EventGraph two_issuers(int instructions, int queue, bool round_robin) {
  EventGraph g;
  g.tensor_queue = queue;
  g.pipes = {{"tensor"}, {"issue"}};
  EventNode product{"C", NodeKind::tensor, Phase::loop, 0, 10.0 * instructions, 0, {0, 0}};
  product.instructions = instructions;
  product.round_robin = round_robin;
  g.nodes = {product, {"then", NodeKind::thread, Phase::loop, 0, 0, 0, {0, 0}}};
  g.edges = {{0, 1, 0, 0, EdgeFrom::issued, 0}};
  g.instances = {2, 2};
  return g;
}

std::vector<double> ends_of(const EventGraph& graph, int node) {
  std::vector<double> out;
  for (const TimelineSpan& span : run(graph, 1, 1, true).spans) {
    if (span.node == node) out.push_back(span.end);
  }
  return out;
}

}  // namespace

TEST_CASE(
    "the tensor unit takes so many instructions ahead; behind them agents' instructions run in turn or as they came") {
  // With a queue of any length, instructions run in order of arrival, and issuing waits for nothing.
  CHECK(ends_of(two_issuers(8, 0, true), 0) == std::vector<double>{80, 160});
  CHECK(ends_of(two_issuers(8, 0, true), 1) == std::vector<double>{0, 0});
  // With three queued, five of the first agent's remain, and the second's run between these.
  const std::vector<double> turned = ends_of(two_issuers(8, 3, true), 0);
  CHECK(turned == std::vector<double>{130, 160});
  // In order of arrival the first agent has issued all when 5 of its 8 have run, the second when 13 of all 16 have.
  CHECK(ends_of(two_issuers(8, 3, false), 0) == std::vector<double>{80, 160});
  CHECK(ends_of(two_issuers(8, 3, false), 1) == std::vector<double>{50, 130});
}

}  // namespace test_waves
