// A Selector's answers against select_exhaustively, which places and times every tile by itself: equal in the first
// five, in the runner-up and in the count of rejections, at any question.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "model/clock/run/period.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/select/case.hpp"

namespace test_select_twin {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;
using napkin::internal::testing::Shape;

namespace {

void check_equal(const Selection& fast, const Selection& full) {
  CHECK(fast.candidates == full.candidates);
  REQUIRE(fast.ranked.size() == full.ranked.size());
  for (std::size_t i = 0; i < fast.ranked.size(); ++i) {
    CAPTURE(i);
    CHECK(fast.ranked[i].tile.values == full.ranked[i].tile.values);
    CHECK(fast.ranked[i].prediction.time.value == full.ranked[i].prediction.time.value);
    CHECK(fast.ranked[i].prediction.cycles.value == full.ranked[i].prediction.cycles.value);
    CHECK(fast.ranked[i].prediction.bound == full.ranked[i].prediction.bound);
    CHECK(fast.ranked[i].prediction.iteration == full.ranked[i].prediction.iteration);
  }
  REQUIRE(fast.runner_up.has_value() == full.runner_up.has_value());
  if (fast.runner_up) CHECK(fast.runner_up->tile.values == full.runner_up->tile.values);
}

void check_twin(const Setup& setup, Tables& tables, Periods& periods) {
  Selector selector(setup, tables);
  const Exhausted all = select_exhaustively(setup, &periods);
  check_equal(selector.rank(5), selection_of(setup, all, 5));
  Selector again(setup, tables);
  (void)again.rank(1, false);  // where the best tile alone was sought, a further search goes on
  check_equal(again.rank(5), selection_of(setup, all, 5));
  const Rejections counted = selector.count_rejections();
  CHECK(counted.legal == all.rejections.legal);
  CHECK(counted.legal == Count(static_cast<std::int64_t>(all.all.size())));
  CHECK(counted.rejected == all.rejections.rejected);
}

struct Draw {
  std::mt19937 random;
  std::int64_t of(const std::vector<std::int64_t>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  }
  /// Returns a length, each power of two equally likely.
  std::int64_t length(std::int64_t most) {
    const double exponent = std::uniform_real_distribution<double>(0, std::log2(static_cast<double>(most)))(random);
    return std::clamp<std::int64_t>(std::llround(std::exp2(exponent)), 1, most);
  }
};

/// Checks that a question with all knobs fixed to a legal tile, larger than the axis or not, has the time of a run of
/// the tile's graph. Returns how many of some drawn tiles are legal.
int check_given(Draw& draw, const Setup& setup, Tables& tables, Periods& periods) {
  const Space space = space_of_kind(setup);
  const Rules rules(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  const Placer placer(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    const Tile tile =
        space.tile(static_cast<std::int64_t>(draw.random() % static_cast<std::uint64_t>(space.candidates.get())));
    const auto broken = [&](const TileRule& rule) { return rule.check(tile).has_value(); };
    if (std::any_of(rules.tile.begin(), rules.tile.end(), broken)) continue;
    const PlacedDiagram placed = placer.place(tile);
    const Plan needs = plan(placed);
    if (!violations(placed, needs).empty()) continue;
    Setup given = setup;
    given.fixed.clear();
    for (std::size_t k = 0; k < tile.values.size(); ++k)
      given.fixed.emplace_back(static_cast<KnobId>(k), tile.values[k]);
    const Selection known = Selector(given, tables).rank(1);
    REQUIRE(known.ranked.size() == 1);
    ++found;
    const Prediction run = predict(placed, {.periods = &periods});
    CHECK(known.ranked.front().tile == tile);
    CHECK(known.ranked.front().prediction.time.value == run.time.value);
    CHECK(known.ranked.front().prediction.iteration == run.iteration);
    CHECK(known.ranked.front().prediction.ends == run.ends);
  }
  return found;
}

Mask any_mask(Draw& draw) {
  switch (draw.of({0, 1, 2})) {
    case 1: return {Mask::Kind::causal, 0, 0};
    case 2: return {Mask::Kind::window, draw.of({0, 1, 100, 700, 4096}), draw.of({0, 64})};
    default: return {};
  }
}

/// Leaves few values of every knob, so that every tile can be timed by itself at hundreds of questions.
void thin(Case& c) {
  const auto keep = [&](const char* name, const std::vector<std::int64_t>& wanted) {
    const auto id = c.mapping.find_knob(name);
    if (!id) return;
    std::vector<std::int64_t> kept = c.mapping.knobs[static_cast<std::size_t>(*id)].domain;
    std::erase_if(kept, [&](std::int64_t v) { return std::find(wanted.begin(), wanted.end(), v) == wanted.end(); });
    if (!kept.empty()) c.restrict(name, kept);
  };
  keep("stages", {4, 2, 1});
  if (c.mapping.algorithm == "attention") {
    keep("x", {176, 128, 96, 64});
    keep("q", {128, 192, 64, 32});
    keep("g", {1, 2});
  }
  for (const Knob& knob : std::vector<Knob>(c.mapping.knobs)) {
    if (knob.domain.size() > 5)
      c.restrict(knob.name, {knob.domain[0], knob.domain[1], knob.domain[knob.domain.size() / 2], knob.domain.back()});
  }
}

/// A mapping with its tables, which many questions share.
struct Kernel {
  Case c;
  Tables tables;
  Periods periods;
};

/// Returns true if sequences of the diagram may have lengths of their own: they share no array.
bool takes_lengths(const Diagram& diagram) {
  const auto batch = diagram.find_axis("b");
  const auto apart = [&](ArrayId id) { return batch && diagram.arrays[static_cast<std::size_t>(id)].has(*batch); };
  return std::all_of(diagram.inputs.begin(), diagram.inputs.end(), apart) &&
         std::all_of(diagram.outputs.begin(), diagram.outputs.end(), apart);
}

Setup any_question(Draw& draw, const Case& c) {
  Setup setup = c.setup();
  const auto set = [&](const char* axis, std::int64_t size) {
    const auto id = c.streamed.diagram.find_axis(axis);
    if (id) setup.problem.sizes[static_cast<std::size_t>(*id)] = Count(size);
  };
  if (c.mapping.algorithm == "matmul") {
    for (const char* axis : {"a", "b", "c"}) set(axis, draw.length(1 << 14));
    return setup;
  }
  setup.problem.mask = any_mask(draw);
  const std::int64_t keys = draw.length(1'000'000), queries = draw.of({0, 1}) == 1 ? keys : draw.length(1'000'000);
  set("b", draw.of({1, 2, 7}));
  set("h", draw.of({1, 5, 16}));
  set("g", draw.of({1, 1, 8}));
  set("q", queries);
  set("x", keys);
  if (draw.of({0, 0, 0, 1}) == 1 && takes_lengths(c.streamed.diagram)) {
    setup.problem.packing = packing_axes(c.streamed.diagram, "test");
    auto& sequences = setup.problem.packing.sequences;
    for (std::int64_t n = draw.of({1, 3, 8}); n > 0; --n) {
      const std::int64_t length = draw.length(3000);
      sequences.push_back({draw.of({0, 1}) == 1 ? length : draw.length(300), length});
    }
    const SequenceLengths longest = longest_of(sequences, "test");
    set("b", static_cast<std::int64_t>(sequences.size()));
    set("q", longest.q);
    set("x", longest.x);
  }
  return setup;
}

}  // namespace

namespace {

/// Returns a machine that has the levels of that kernel.
const char* machine_of(const std::string& kernel) {
  return load_mapping(kernel, "test").runs_on.front().starts_with("gfx") ? "mi300x" : "h200-sxm";
}

/// Returns the least shape with that head size; without a head size, with sizes that the kernel takes.
Shape smallest_shape(const Mapping& mapping, std::int64_t d) {
  if (mapping.algorithm == "matmul") return {{"a", 1}, {"b", 1}, {"c", 1}};
  Shape out{{"h", 1}, {"q", 1}, {"x", 1}};
  if (load_diagram(mapping.algorithm).find_axis("d")) {
    out.emplace_back("d", d);
    return out;
  }
  for (const auto& [axis, sizes] : mapping.head_sizes) out.emplace_back(axis, sizes.front());
  return out;
}

/// Asks about every mapping, head sizes, masks, windows, packed lengths, 1 to 10^6 queries and keys.
void check_random_questions(int rounds, unsigned seed) {
  Draw draw{std::mt19937(seed)};
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<Kernel>> kernels;
  std::vector<std::string> names = builtin_mappings();
  const Machine machine = load_machine("h200-sxm", "test");
  std::erase_if(names, [&](const std::string& name) { return !runs_on(load_mapping(name, "test"), machine); });
  const std::vector<std::string> often{"attention_sm90", "attention_sm80", "matmul_sm90", "flash_attention_3"};
  int found = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const std::string name = round % 2 == 0 ? often[static_cast<std::size_t>(draw.of({0, 0, 0, 1, 2, 3}))]
                                            : names[static_cast<std::size_t>(draw.random() % names.size())];
    const std::int64_t d = draw.of({64, 128, 128, 256});
    CAPTURE(name);
    CAPTURE(d);
    auto& kernel = kernels[{name, d}];
    if (kernel == nullptr) {
      const Mapping mapping = load_mapping(name, "test");
      const DType dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
      kernel.reset(new Kernel{Case(name, machine_of(name), smallest_shape(mapping, d), {}, dtype), Tables(), {}});
      thin(kernel->c);
    }
    const Setup setup = any_question(draw, kernel->c);
    check_twin(setup, kernel->tables, kernel->periods);
    found += check_given(draw, setup, kernel->tables, kernel->periods);
  }
  CHECK(found > rounds);
}

}  // namespace

TEST_CASE("the first five are those of timing every tile, at random questions of every kernel") {
  const int share = test::rounds(160);  // a hundred at least, but for the sanitizers' tenth
  check_random_questions(share < 40 ? share : std::max(share, 100), 20261123);
}

TEST_SUITE("slow") {
  TEST_CASE("the first five are those of timing every tile, at two thousand random questions") {
    check_random_questions(test::rounds(2000), 20261128);
  }
}

// Blocks that share a node, each on half of its schedulers: the fourth tile starts its longest blocks first.
TEST_CASE("attention_sm80 under a window: the tile whose two blocks have half of the schedulers each") {
  Case c("attention_sm80", "h200-sxm", {{"h", 1}, {"q", 294163}, {"x", 294163}, {"d", 256}},
         {Mask::Kind::window, 4096, 64});
  thin(c);
  Tables tables;
  Periods periods;
  check_twin(c.setup(), tables, periods);
}

TEST_CASE("products whose nodes share iterations evenly, which are timed one by one") {
  for (const std::string name : {"vendor_matmul_sm90", "vendor_matmul_sm80"}) {
    for (const std::int64_t n : {4096, 1000}) {
      CAPTURE(name);
      CAPTURE(n);
      const Case c(name, name == "vendor_matmul_sm90" ? "h200-sxm" : "a100-sxm-80",
                   {{"a", n}, {"b", 2 * n}, {"c", 65}});
      Tables tables;
      Periods periods;
      check_twin(c.setup(), tables, periods);
    }
  }
}

TEST_CASE("the whole space of attention_sm90") {
  int left = test::rounds(3);
  for (const std::int64_t d : {256, 128, 64}) {
    if (left-- <= 0) return;
    CAPTURE(d);
    const Case c("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 2048}, {"x", 2048}, {"d", d}},
                 {d == 128 ? Mask::Kind::none : Mask::Kind::causal, 0, 0});
    Tables tables;
    Periods periods;
    check_twin(c.setup(), tables, periods);
  }
}

TEST_CASE("machines without times of tensor instructions are ranked by the roofline") {
  Draw draw{std::mt19937(7)};
  for (const std::string gpu : {"a100-sxm-80", "rtx-4090"}) {
    for (const std::string name : {"flash_attention_2", "attention_sm80", "flash_decoding", "split_keys_grid_sync"}) {
      CAPTURE(gpu);
      CAPTURE(name);
      Case c(name, gpu, {{"h", 1}, {"q", 1}, {"x", 1}, {"d", 128}});
      Tables tables;
      Periods periods;
      for (int round = 0; round < test::rounds(2); ++round) check_twin(any_question(draw, c), tables, periods);
    }
  }
}

TEST_CASE("other products of one architecture, of other power limits, and one whose energies are not known") {
  Draw draw{std::mt19937(13)};
  for (const std::string gpu : {"h100-sxm", "h100-pcie", "h20", "without energies"}) {
    CAPTURE(gpu);
    const bool known = gpu != "without energies";
    Case c("attention_sm90", known ? gpu : "h100-sxm", {{"h", 1}, {"q", 1}, {"x", 1}, {"d", 128}});
    if (!known) {
      for (auto* numbers : {&c.machine.constants, &c.machine.fitted}) numbers->erase("energy_tensor_16bit");
    }
    thin(c);
    Tables tables;
    Periods periods;
    for (int round = 0; round < test::rounds(8); ++round) check_twin(any_question(draw, c), tables, periods);
  }
}

TEST_CASE("fixed knobs: the best tile that has them, and the count of what is left") {
  Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1500}, {"x", 1500}, {"d", 128}});
  thin(c);
  Tables tables;
  Periods periods;
  const std::vector<std::vector<std::pair<const char*, std::int64_t>>> fixes{
      {{"x", 64}}, {{"stages", 1}}, {{"x", 128}, {"overlap", 1}}, {{"x", 80}}, {{"warpgroups", 3}, {"order", 1}}};
  for (const auto& fix : fixes) {
    Setup setup = c.setup();
    for (const auto& [knob, value] : fix) setup.fixed.emplace_back(*c.mapping.find_knob(knob), value);
    CAPTURE(fix.front().first);
    CAPTURE(fix.front().second);
    check_twin(setup, tables, periods);
  }
}

TEST_CASE("a length answers as itself, whatever lengths the table met before") {
  Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1500}, {"x", 1500}, {"d", 128}}, {Mask::Kind::causal, 0, 0});
  thin(c);
  Setup setup = c.setup();
  const auto ask = [&](const std::shared_ptr<Table>& table, std::int64_t length) {
    for (const char* axis : {"q", "x"})
      setup.problem.sizes[static_cast<std::size_t>(*c.streamed.diagram.find_axis(axis))] = Count(length);
    return Selector(table, setup).rank(5);
  };
  const auto met = std::make_shared<Table>(setup);
  for (int turn = 0; turn < 2; ++turn) {
    for (std::int64_t length = 64; length < 6400; length += 576)
      check_equal(ask(met, length), ask(std::make_shared<Table>(setup), length));
  }
}

TEST_CASE("a wrong number in a table is caught by the twin") {
  Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}});
  thin(c);
  const Setup setup = c.setup();
  const auto table = std::make_shared<Table>(setup);
  const Ranked best = Selector(table, setup).rank(1).ranked.front();
  std::size_t found = 0;
  for (TablePart& part : table->parts()) {
    if (part.rows.empty()) continue;
    for (PartRow& row : part.rows) {
      if (table->candidates().space().tile(table->candidates().legal()[row.legal]) != best.tile) continue;
      row.graph->pipe *= 10;
      row.graph->period = nullptr;
      ++found;
    }
    part.finish();
  }
  REQUIRE(found > 0);
  CHECK(Selector(table, setup).rank(1).ranked.front().tile != best.tile);
}

TEST_CASE("the plan's numbers depend on no knob outside what its rules say") {
  const Case c("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  const Rules rules(c.streamed, c.mapping, c.machine, c.problem);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const Space space = space_of(c.setup());
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

}  // namespace test_select_twin
