// select() against ranking every tile in full: shapes, masks, kernels; and bugs planted in what it prunes by.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "model/clock/steps.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/select.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"
#include "tests/rounds.hpp"
#include "tests/unit/select/case.hpp"

namespace test_select_twin {

using namespace napkin;
using napkin::testing::Case;
using napkin::testing::Shape;

namespace {

bool same(const Selection& a, const Selection& b) {
  if (a.candidates != b.candidates || a.ranked.size() != b.ranked.size()) return false;
  if (a.runner_up.has_value() != b.runner_up.has_value()) return false;
  if (a.runner_up && a.runner_up->tile != b.runner_up->tile) return false;
  for (std::size_t i = 0; i < a.ranked.size(); ++i) {
    if (a.ranked[i].tile != b.ranked[i].tile || a.ranked[i].prediction.time != b.ranked[i].prediction.time)
      return false;
    if (a.ranked[i].prediction.bound != b.ranked[i].prediction.bound) return false;
  }
  return true;
}

void check_equal(const Selection& fast, const Selection& full) {
  CHECK(same(fast, full));
  REQUIRE(fast.ranked.size() == full.ranked.size());
  for (std::size_t i = 0; i < fast.ranked.size(); ++i) {
    CAPTURE(i);
    CHECK(fast.ranked[i].tile.values == full.ranked[i].tile.values);
    CHECK(fast.ranked[i].prediction.time == full.ranked[i].prediction.time);
    CHECK(fast.ranked[i].prediction.iteration == full.ranked[i].prediction.iteration);
  }
}

void check_same(const Case& c, int top) {
  const Selection fast = select(c.question(), top);
  const auto [full, counted] = select_exhaustively(c.question(), top);
  const Tally quick = tally(c.question());
  CHECK(quick.legal == counted.legal);
  CHECK(quick.rejected == counted.rejected);
  check_equal(fast, full);
}

/// Smaller domains, so that many shapes can be ranked in full; every kind of knob stays.
void thin(Case& c) {
  if (c.mapping.name != "attention_sm90" && c.mapping.name != "flash_attention_3") return;
  c.restrict("order", {0, 2});
  c.restrict("x", {256, 208, 192, 176, 160, 128, 96, 80, 64, 32, 16, 24});
  c.restrict("stages", {2, 3, 1});
  c.restrict("q", {128, 192, 64, 96, 32, 16, 8, 4, 1});
  c.restrict("g", {1, 2, 8, 16});
}

struct Draw {
  std::mt19937 random;
  std::int64_t of(const std::vector<std::int64_t>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  }
};

Mask any_mask(Draw& draw) {
  switch (draw.of({0, 1, 2})) {
    case 1: return {Mask::Kind::causal, 0, 0};
    case 2: return {Mask::Kind::window, draw.of({0, 1, 100, 4096}), draw.of({0, 64})};
    default: return {};
  }
}

Case any_attention(Draw& draw, const std::string& kernel, const std::string& gpu) {
  const std::int64_t d = draw.of({64, 96, 128, 192, 256});
  const Shape shape{{"b", draw.of({1, 2, 3})},
                    {"h", draw.of({1, 5, 16})},
                    {"g", draw.of({1, 3, 8})},
                    {"q", draw.of({1, 7, 64, 127, 512, 1000, 4096})},
                    {"x", draw.of({1, 65, 100, 512, 4096, 8192})},
                    {"d", d},
                    {"dv", draw.of({d, d, 128})}};
  Case c(kernel, gpu, shape, any_mask(draw));
  thin(c);
  return c;
}

}  // namespace

TEST_CASE("the whole space of attention_sm90 at the questions whose time is measured") {
  int left = test::rounds(10);
  for (const std::int64_t d : {256, 64, 96, 128, 192}) {
    for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
      if (left-- <= 0) return;
      CAPTURE(d);
      const Case c("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", d}},
                   {mask, 0, 0});
      CHECK(tally(c.question()).legal >= Count(900));
      check_same(c, 5);
    }
  }
}

TEST_CASE("attention_sm90 at random shapes, masks and head groups") {
  Draw draw{std::mt19937(20261121)};
  for (int round = 0; round < test::rounds(12); ++round) {
    CAPTURE(round);
    check_same(any_attention(draw, "attention_sm90", draw.of({0, 1}) ? "h200-sxm" : "h100-pcie"),
               static_cast<int>(draw.of({1, 5, 40})));
  }
}

TEST_CASE("every other mapping, registers decided by the plan among them") {
  Draw draw{std::mt19937(7)};
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    if (mapping.algorithm != "attention" && mapping.algorithm != "matmul") continue;
    for (int round = 0; round < test::rounds(2); ++round) {
      CAPTURE(name);
      CAPTURE(round);
      const DType dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
      if (mapping.algorithm == "matmul") {
        const Shape shape{
            {"a", draw.of({100, 1000, 4096})}, {"b", draw.of({40, 512, 4096})}, {"c", draw.of({100, 2048})}};
        check_same(Case(name, "h200-sxm", shape, {}, dtype), 5);
      } else {
        Case c = any_attention(draw, name, "h200-sxm");
        c.problem.dtype = dtype;
        check_same(c, 5);
      }
    }
  }
}

TEST_CASE("a part of the keys shorter than the chunk that walks it clips the chunk") {
  for (const char* name : {"flash_decoding", "split_keys_ordered", "split_keys_grid_sync", "split_keys_cluster"}) {
    for (const std::int64_t d : {64, 128, 256}) {
      CAPTURE(std::string(name));
      CAPTURE(d);
      check_same(Case(name, "h200-sxm", {{"b", 1}, {"h", 5}, {"q", 512}, {"x", 8192}, {"d", d}}), 5);
    }
  }
}

TEST_CASE("the plan's numbers depend on no knob outside what its rules say") {
  const Case c("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  const Rules rules(c.streamed, c.mapping, c.machine, c.problem);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const Space space = space_of(c.question());
  std::mt19937_64 random(3);
  const auto numbers = [](const Plan& p) {
    return std::vector<std::int64_t>{p.shared_total.value.get(), p.registers_per_thread.get(), p.registers_limit.get(),
                                     p.registers_launch.get()};
  };
  for (int round = 0; round < test::rounds(2000); ++round) {
    const Tile tile =
        space.tile(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.candidates.get())));
    const auto before = numbers(plan(placer.place(tile)));
    for (std::size_t k = 0; k < tile.values.size(); ++k) {
      Tile other = tile;
      other.values[k] = space.domains[k][random() % space.domains[k].size()];
      const auto after = numbers(plan(placer.place(other)));
      const KnobSet bit = knob_bit(static_cast<KnobId>(k));
      if ((rules.plan[0].knobs & bit) == 0) CHECK(std::equal(before.begin() + 1, before.end(), after.begin() + 1));
      if ((rules.plan[2].knobs & bit) == 0) CHECK(before[0] == after[0]);
    }
  }
}

TEST_CASE("where a tile stands: tiles that take less time come first, those of one time share a rank") {
  Case c("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  thin(c);
  const auto [full, counted] = select_exhaustively(c.question(), 200);
  REQUIRE(full.ranked.size() == 200);
  for (std::size_t i = 0; i < full.ranked.size(); i += 33) {
    const Standing found = standing(c.question(), full.ranked[i].tile);
    std::int64_t faster = 0;
    for (const Ranked& other : full.ranked) faster += other.prediction.time < full.ranked[i].prediction.time ? 1 : 0;
    CHECK(found.rank == Count(faster + 1));
    CHECK(found.legal == counted.legal);
    CHECK(found.time == full.ranked[i].prediction.time);
    CHECK(found.shortest == full.ranked[0].prediction.time);
  }
}

TEST_CASE(
    "of each size the best: the full ranking with every further tile of the same sizes counted as a tie or dropped") {
  Draw draw{std::mt19937(31)};
  for (int round = 0; round < test::rounds(4); ++round) {
    CAPTURE(round);
    const Case c = any_attention(draw, draw.of({0, 1}) == 0 ? "attention_sm90" : "flash_attention_3", "h200-sxm");
    const auto sizes_of = [&](const Tile& tile) {
      std::vector<std::int64_t> out;
      for (const char* knob : {"warpgroups", "warps", "g", "q", "x"}) {
        if (const auto id = c.mapping.find_knob(knob)) out.push_back(tile.values[static_cast<std::size_t>(*id)]);
      }
      return out;
    };
    std::vector<Ranked> best;
    for (const Ranked& one : select_exhaustively(c.question(), std::numeric_limits<int>::max()).selection.ranked) {
      const auto found = std::find_if(best.begin(), best.end(),
                                      [&](const Ranked& b) { return sizes_of(b.tile) == sizes_of(one.tile); });
      if (found == best.end()) {
        best.push_back(one);
      } else if (found->prediction.time == one.prediction.time) {
        found->ties += 1;
      }
    }
    const Selection fast = select(c.question(), 7, Objective{}, Each::size);
    REQUIRE(fast.ranked.size() == std::min<std::size_t>(best.size(), 7));
    for (std::size_t i = 0; i < fast.ranked.size(); ++i) {
      CAPTURE(i);
      CHECK(fast.ranked[i].tile.values == best[i].tile.values);
      CHECK(fast.ranked[i].prediction.time == best[i].prediction.time);
      CHECK(fast.ranked[i].ties == best[i].ties);
    }
  }
}

TEST_CASE("a selector that has answered other questions answers like one that has not") {
  Draw draw{std::mt19937(29)};
  Selector selector({}, 1);
  std::vector<Case> cases;
  for (const std::string kernel : {"attention_sm90", "flash_attention_3", "triton"}) {
    for (const std::int64_t d : {64, 128}) {
      cases.emplace_back(kernel, "h200-sxm", Shape{{"b", 1}, {"h", 1}, {"q", 1}, {"x", 1}, {"d", d}});
    }
  }
  for (int round = 0; round < test::rounds(300); ++round) {
    CAPTURE(round);
    const Case& c = cases[static_cast<std::size_t>(draw.of({0, 1, 2, 3, 4, 5}))];
    Question question = c.question();
    question.problem.mask = any_mask(draw);
    const auto set = [&](const char* axis, std::int64_t size) {
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis(axis))] = Count(size);
    };
    set("b", draw.of({1, 2, 7}));
    set("h", draw.of({1, 5, 16}));
    set("g", draw.of({1, 3, 8}));
    set("q", draw.of({1, 7, 100, 1000, 4096, 8192}));
    set("x", draw.of({1, 65, 100, 1000, 4096, 8192}));
    set("d", draw.of({64, 96, 128, 192, 256}));
    if (draw.of({0, 0, 0, 1}) == 1) question.fixed = {{*c.mapping.find_knob("x"), 64}};
    CHECK(same(selector.select(question, 5), select(question, 5)));
  }
}

/// The time, by a factor that the placement decides.
template <class Factor>
std::function<Timer(const PlacedDiagram&)> scaled(const Factor& factor) {
  return [factor](const PlacedDiagram& like) -> Timer {
    return [factor, time = first_clock_timer(like)](const PlacedDiagram& placed, Count blocks) {
      return time(placed, blocks) * factor(placed);
    };
  };
}

TEST_CASE("a bound that is too large is caught") {
  int caught = 0;
  Draw draw{std::mt19937(11)};
  for (int round = 0; round < test::rounds(6); ++round) {
    const Case c("attention_sm90", "h200-sxm",
                 {{"b", 1}, {"h", draw.of({16, 24, 40})}, {"q", 4096}, {"x", 4096}, {"d", draw.of({64, 128, 256})}});
    Objective planted;
    planted.bound = scaled([](const PlacedDiagram& placed) { return placed.block().chunk > Count(64) ? 1.0 : 1.05; });
    Objective worse;
    worse.bound = scaled([](const PlacedDiagram& placed) { return placed.block().chunk < Count(100) ? 1.2 : 1.0; });
    const Selection full = select_exhaustively(c.question(), 5).selection;
    if (!same(select(c.question(), 5, planted), full) || !same(select(c.question(), 5, worse), full)) ++caught;
    CHECK(same(select(c.question(), 5), full));
  }
  CHECK(caught > 0);
}

/// What the search by the event graph answers beside ranking every tile by it.
void check_by_graph(const Case& c, int top) {
  const Selection fast = select(c.question(), top, graph_objective());
  const Selection full = select_exhaustively(c.question(), top, graph_objective()).selection;
  check_equal(fast, full);
}

TEST_CASE("by the event graph: the first five are those of ranking every tile by it") {
  int left = test::rounds(10);
  for (const std::int64_t length : {2048, 777}) {
    for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
      for (const std::int64_t d : {64, 128, 256}) {
        if (left-- <= 0) return;
        CAPTURE(d);
        CAPTURE(length);
        Case c("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", length}, {"x", length}, {"d", d}},
               {mask, 0, 0});
        c.restrict("x", {176, 128, 96, 48});
        c.restrict("stages", {2, 3, 1});
        check_by_graph(c, 5);
      }
    }
  }
}

TEST_CASE("by the event graph: other kernels, shapes and machines") {
  Draw draw{std::mt19937(41)};
  for (const std::string kernel :
       {"flash_attention_3", "attention_sm80", "matmul_sm90", "attention_sm90", "flash_attention_2"}) {
    for (int round = 0; round < test::rounds(2); ++round) {
      CAPTURE(kernel);
      CAPTURE(round);
      const bool product = kernel == "matmul_sm90";
      const std::int64_t size = draw.of({512, 1000, 4096});
      const Shape shape =
          product ? Shape{{"a", size}, {"b", draw.of({256, 4096})}, {"c", draw.of({512, 2048})}}
                  : Shape{{"h", draw.of({3, 16})}, {"g", draw.of({1, 4})}, {"q", size}, {"x", size}, {"d", 128}};
      Case c(kernel, draw.of({0, 1}) == 1 ? "h200-sxm" : "h100-pcie", shape, product ? Mask{} : any_mask(draw));
      for (const Knob& knob : std::vector<Knob>(c.mapping.knobs)) {  // every kind of knob, few values
        if (knob.domain.size() > 4)
          c.restrict(knob.name, {knob.domain[0], knob.domain[1], knob.domain[knob.domain.size() / 2]});
      }
      check_by_graph(c, static_cast<int>(draw.of({1, 5, 12})));
    }
  }
}

// The L2 holds those of 1024 and 2048, where energy depends on the order of the blocks, and not those of 4096.
TEST_CASE("by the event graph: products in every order, held by the L2 and not") {
  int left = test::rounds(3);
  for (const std::int64_t size : {2048, 4096, 1024}) {
    if (left-- <= 0) return;
    CAPTURE(size);
    Case c("matmul_sm90", "h200-sxm", {{"a", size}, {"b", size}, {"c", size}});
    c.restrict("c", {256, 128, 64});
    c.restrict("stages", {4, 3, 6});
    check_by_graph(c, 5);
  }
}

TEST_CASE("by the event graph: a selector that has answered other questions answers like one that has not") {
  Draw draw{std::mt19937(47)};
  Selector selector(graph_objective(), 1);
  Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  c.restrict("x", {176, 128, 64});
  for (int round = 0; round < test::rounds(12); ++round) {
    CAPTURE(round);
    Question question = c.question();
    question.problem.mask.kind = draw.of({0, 1}) == 1 ? Mask::Kind::causal : Mask::Kind::none;
    for (const char* axis : {"q", "x"}) {
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis(axis))] =
          Count(draw.of({300, 1024, 4096}));
    }
    question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis("dv"))] = Count(draw.of({64, 128}));
    if (draw.of({0, 1}) == 1) question.fixed = {{static_cast<KnobId>(1), 1}};
    const Selection asked = selector.select(question, 5);
    CHECK(same(asked, select(question, 5, graph_objective())));
    CHECK(same(asked, selector.select(question, 5)));
  }
}

TEST_CASE("each step of the event graph's time is at most the next") {
  Draw draw{std::mt19937(43)};
  const auto periods = std::make_shared<Periods>();
  const auto make = timers(periods);
  for (int round = 0; round < test::rounds(6); ++round) {
    const std::int64_t length = draw.of({200, 1024, 5000});
    const Case c(draw.of({0, 1}) == 1 ? "attention_sm90" : "flash_attention_3", "h200-sxm",
                 {{"h", draw.of({4, 16})}, {"q", length}, {"x", length}, {"d", draw.of({64, 128, 256})}},
                 any_mask(draw));
    const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
    const Space space = space_of(c.question());
    int left = 40;
    for (int i = 0; i < 5000 && left > 0; ++i) {
      Tile tile;
      for (const auto& domain : space.domains) tile.values.push_back(draw.of(domain));
      const PlacedDiagram placed = placer.place(tile);
      if (!violations(placed, plan(placed)).empty()) continue;
      --left;
      const GraphSteps steps(placed, periods);
      const EventGraph graph = event_graph(placed);
      const Count blocks = occupancy(placed).blocks;
      const double rounding = 1 + 1e-9;
      const LaunchShape shape = launch_shape(placed);
      const double joules = steps.energy(placed, graph).of(shape), device = device_bytes(placed);
      const auto by_shape = [&](GraphState& known) {
        return steps
            .by_cycles(GraphSteps::cycles(shape, block_ends(placed), graph.has_cut_work(), known, blocks), joules,
                       device)
            .value;
      };
      GraphState state = GraphSteps::state_of(graph);
      const double cycle_by_shape = by_shape(state);
      const double pipe = steps.by_pipe(placed).value, cycle = steps.bound(placed, graph, state, blocks).value;
      steps.raise(graph, state);
      const double iteration = steps.bound(placed, graph, state, blocks).value, iteration_by_shape = by_shape(state);
      steps.raise(graph, state);
      const double unknown_by_shape = by_shape(state);
      const double block = steps.bound(placed, graph, state, blocks).value, time = make(placed)(placed, blocks).value;
      CAPTURE(round);
      CAPTURE(i);
      CHECK(pipe <= time * rounding);
      CHECK(cycle <= iteration * rounding);
      CHECK(iteration <= block * rounding);
      CHECK(block <= time * rounding);
      CHECK(cycle_by_shape <= time * rounding);
      CHECK(iteration_by_shape <= time * rounding);
      CHECK(unknown_by_shape <= time * rounding);
      CHECK(by_shape(state) == doctest::Approx(block).epsilon(1e-6));  // whose runs are known by now
    }
  }
}

TEST_CASE("a graph turned to other tokens is the one that is made with them") {
  const Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  EventGraph turned = event_graph(placer.place(c.tile({{"stages", 4}, {"q_stages", 2}})));
  for (const std::int64_t stages : {1, 3}) {
    const Tile tile = c.tile({{"stages", stages}, {"q_stages", 1}});
    set_tokens(turned, tile);
    const EventGraph made = event_graph(placer.place(tile));
    REQUIRE(turned.edges.size() == made.edges.size());
    for (std::size_t e = 0; e < made.edges.size(); ++e) {
      CHECK(turned.edges[e].delay == made.edges[e].delay);
      CHECK(turned.edges[e].after == made.edges[e].after);
      CHECK(turned.edges[e].latency == made.edges[e].latency);
    }
  }
}

TEST_CASE("the shortlist: the best of each size by the event graph, its first tile the best of all or within 0.1 %") {
  int left = test::rounds(8), alike = 0, asked = 0;
  for (const std::int64_t length : {8192, 1500}) {
    for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
      for (const std::int64_t d : {64, 128, 256}) {
        if (left-- <= 0) break;
        CAPTURE(d);
        CAPTURE(length);
        const Case c("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", length}, {"x", length}, {"d", d}},
                     {mask, 0, 0});
        const Objective graph = graph_objective();
        const Selection quick = shortlist(c.question(), 5, graph);
        const Selection full = select(c.question(), 5, graph, Each::size);
        REQUIRE(quick.ranked.size() == 5);
        for (std::size_t i = 0; i < quick.ranked.size(); ++i) {
          CAPTURE(i);
          if (i > 0) CHECK(quick.ranked[i - 1].prediction.time <= quick.ranked[i].prediction.time);
          const double lost = quick.ranked[i].prediction.time.value / full.ranked[i].prediction.time.value - 1;
          CHECK(lost >= 0);
          CHECK(lost <= (i == 0 ? 0.001 : 0.02));
          alike += quick.ranked[i].tile == full.ranked[i].tile ? 1 : 0;
          ++asked;
        }
      }
    }
  }
  if (asked >= 20) CHECK(alike >= 0.6 * asked);  // of one question alone, as sanitizers run it, that says little
}

TEST_CASE("the shortlist of short blocks is the ranking itself") {
  for (const Mask::Kind mask : {Mask::Kind::causal, Mask::Kind::none}) {
    if (mask == Mask::Kind::none && test::rounds(2) < 2) continue;
    const Case c("attention_sm90", "h200-sxm", {{"b", 32}, {"h", 8}, {"q", 512}, {"x", 512}, {"d", 256}}, {mask, 0, 0});
    const Objective graph = graph_objective();
    const Selection quick = shortlist(c.question(), 5, graph), full = select(c.question(), 5, graph, Each::size);
    REQUIRE(quick.ranked.size() == 5);
    for (std::size_t i = 0; i < quick.ranked.size(); ++i) CHECK(quick.ranked[i].tile == full.ranked[i].tile);
  }
}

TEST_CASE("another objective: no bound of many by one, and one that reads the edges") {
  const Case c("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 512}, {"x", 512}, {"d", 64}});
  Objective finer;  // ping-pong and buffers matter to it
  finer.reads_edges = true;
  finer.monotone = false;
  finer.time = scaled([](const PlacedDiagram& placed) {
    double factor = 1.2;
    for (const Variable& v : placed.variables) factor -= v.copies > Count(2) ? 0.03 : 0;
    if (value_of(*placed.mapping, placed.tile, "pingpong") == 0) factor -= 0.01;
    return factor;
  });
  finer.predict = [time = finer.time](const PlacedDiagram& placed, const Plan& plan) {
    Prediction out = predict_by_first_clock(placed, plan);
    out.time = time(placed)(placed, plan.blocks_per_sm);
    return out;
  };
  const Selection fast = select(c.question(), 5, finer), full = select_exhaustively(c.question(), 5, finer).selection;
  CHECK(same(fast, full));
  CHECK(fast.ranked.front().prediction.time < select(c.question(), 1).ranked.front().prediction.time * 1.2);
}

}  // namespace test_select_twin
