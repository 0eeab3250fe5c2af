// Selection: the answer, and what is said when nothing fits.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "solver/select/selector.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/select/case.hpp"

namespace test_select {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;

namespace {

/// Each made once, with tables of its own.
const Case& attention(std::int64_t d) {
  static std::map<std::int64_t, Case> made;
  const auto found = made.find(d);
  if (found != made.end()) return found->second;
  return made.emplace(d, Case("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", d}}))
      .first->second;
}

/// Of what attention() returns, for all test cases that do not ask how a table is made: most of their time is its.
Tables& shared_tables() {
  static Tables tables;
  return tables;
}

Selection select(const Setup& setup, int top, Tables& tables = shared_tables()) {
  return Selector(setup, tables).rank(top);
}

Rejections count(const Setup& setup) { return Selector(setup, shared_tables()).count_rejections(); }

}  // namespace

TEST_CASE("at least a thousand legal tiles at each head size, and every candidate is accounted for") {
  int left = test::rounds(5);
  for (const std::int64_t d : {256, 64, 96, 128, 192}) {
    if (left-- <= 0) return;
    const Case& c = attention(d);
    const Selection selection = select(c.setup(), 5);
    const Rejections counted = count(c.setup());
    CAPTURE(d);
    CHECK(counted.legal >= Count(1000));
    Count sum = counted.legal;
    for (const auto& [name, count] : counted.rejected) sum += count;
    CHECK(sum == selection.candidates);
    CHECK(selection.ranked.size() == 5);
  }
}

TEST_CASE("types that differ in their names alone share a table, whose answers are those of a table of their own") {
  Case c = attention(256);
  CHECK(c.machine.cost_alike(DType::bf16, DType::f16));
  CHECK_FALSE(c.machine.cost_alike(DType::bf16, DType::e4m3));
  Tables tables;
  const Setup setup = c.setup();
  Setup other = setup;
  other.problem.dtype = DType::f16;
  Tables own;
  const Selection alone = select(other, 3, own);
  Selector first(setup, tables), second(other, tables);
  CHECK(tables.of(setup) == tables.of(other));
  for (Selector* selector : {&first, &second, &first}) {  // in turn: each keeps its own placements
    const Selection shared = selector->rank(3);
    REQUIRE(shared.ranked.size() == alone.ranked.size());
    for (std::size_t i = 0; i < alone.ranked.size(); ++i) {
      CHECK(shared.ranked[i].tile.values == alone.ranked[i].tile.values);
      CHECK(shared.ranked[i].prediction.time == alone.ranked[i].prediction.time);
    }
  }
  for (TensorInstruction& one : c.machine.tensor) one.flop_per_clock *= one.type == DType::f16 ? 2 : 1;
  CHECK_FALSE(c.machine.cost_alike(DType::bf16, DType::f16));
  CHECK(tables.of(setup) != tables.of(other));
}

TEST_CASE("nothing fits: no tile, and the nearest constraint") {
  Case c = attention(128);
  c.restrict("x", {256});
  c.restrict("stages", {4});
  const Setup setup = c.setup();
  Tables tables;
  Selector selector(setup, tables);
  const Selection selection = selector.rank(5);
  CHECK(selection.ranked.empty());
  const Rejections counted = selector.count_rejections();
  CHECK(counted.legal == Count(0));
  CHECK(nearest_constraint(counted) == "shared memory");  // most candidates fail for rows, the others there
  CHECK_FALSE(selector.any_legal());
  CHECK_FALSE(selection.runner_up);
}

TEST_CASE("a fixed knob stays, in the domain or not") {
  const Case& c = attention(128);
  Setup setup = c.setup();
  setup.fixed = {{*c.mapping.find_knob("x"), 80}, {*c.mapping.find_knob("stages"), 1}};
  for (const Ranked& one : select(setup, 4).ranked) {
    CHECK(value_of(c.mapping, one.tile, "x") == 80);
    CHECK(value_of(c.mapping, one.tile, "stages") == 1);
  }
  setup.fixed = {{*c.mapping.find_knob("x"), 100}};
  CHECK(select(setup, 4).ranked.empty());
  CHECK(count(setup).legal == Count(0));
}

TEST_CASE("no graph of a size takes less than what bounds the size before any is made") {
  for (const auto& [name, gpu] : {std::pair("attention_sm90", "h200-sxm"), std::pair("flash_attention_3", "h100-sxm"),
                                  std::pair("attention_sm80", "a100-sxm-80")}) {
    const std::string kernel = name;
    CAPTURE(kernel);
    const Case c(name, gpu, {{"h", 16}, {"q", 2048}, {"x", 2048}, {"d", 128}});
    const Setup setup = c.setup();
    const auto table = std::make_shared<Table>(setup);
    Selector selector(table, setup);
    REQUIRE(table->sizes() > 0);
    for (std::uint32_t size = 0; size < table->sizes(); size += 5) {
      TablePart& part = selector.part_of(size);
      const double clocks = part.least.pipe, energy = part.least.energy;
      REQUIRE(part.rows.empty());
      REQUIRE(clocks > 0);
      selector.add_rows(part);
      CHECK(part.least.pipe >= rounded_down * clocks);
      CHECK(part.least.energy == doctest::Approx(energy).epsilon(1e-9));
    }
  }
}

TEST_CASE("no run of a block is shorter than what bounds blocks whose runs are not known") {
  for (const Mask::Kind kind : {Mask::Kind::none, Mask::Kind::causal}) {
    Mask mask;
    mask.kind = kind;
    const Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}}, mask);
    const Setup setup = c.setup();
    const auto table = std::make_shared<Table>(setup);
    Selector selector(table, setup);
    REQUIRE_FALSE(selector.rank(5).ranked.empty());
    std::size_t runs = 0;
    for (const TablePart& part : table->parts()) {
      for (const PartRow& row : part.rows) {
        if (row.graph->period == nullptr) continue;
        CHECK(row.graph->period->clocks >= rounded_down * std::max(row.graph->pipe, row.graph->cycle));
        for (const BlockRuns::Kept& kept : row.graph->period->run->all()) {
          const double shortest = std::min(kept.run.clocks.first, kept.run.clocks.next);
          for (const Period& bound : {*row.graph->period, TablePart::least_period(row)})
            CHECK(shortest >= block_clocks_at_least(bound, kept.run.iterations, kept.cut.all()) * rounded_down);
          ++runs;
        }
      }
    }
    CHECK(runs > 20);
  }
}

TEST_CASE("questions of one kind share a table, and those of another do not") {
  const Case& c = attention(128);
  Tables tables;
  Setup setup = c.setup();
  const auto first = tables.of(setup);
  setup.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis("q"))] = Count(777);
  CHECK(tables.of(setup) == first);
  setup.problem.mask.kind = Mask::Kind::causal;
  CHECK(tables.of(setup) != first);
  setup.problem.mask.kind = Mask::Kind::none;
  setup.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis("dv"))] = Count(64);
  CHECK(tables.of(setup) != first);
}

TEST_CASE("tables of several mappings share a memory, in which those used longest ago make room") {
  Case product("matmul_sm90", "h200-sxm", {{"a", 512}, {"b", 512}, {"c", 512}}), heads = attention(128);
  product.restrict("c", {64});
  product.restrict("b", {64});
  for (Case* one : {&product, &heads}) one->restrict("stages", {2});
  heads.restrict("x", {64});
  const auto memory = make_table_memory(std::size_t{2} << 20U);
  Tables of_heads(memory), of_products(memory);
  (void)select(product.setup(), 1, of_products);
  const auto ask = [&](std::int64_t dv) {  // a kind each
    Setup setup = heads.setup();
    setup.problem.sizes[static_cast<std::size_t>(heads.streamed.diagram.axis("dv"))] = Count(dv);
    (void)select(setup, 1, of_heads);
    return std::weak_ptr<Table>(of_heads.of(setup));
  };
  const std::weak_ptr<Table> first = ask(8), used = of_products.of(product.setup());
  REQUIRE(first.lock() != nullptr);
  CHECK(first.lock()->bytes() > std::size_t{1} << 18U);
  for (std::int64_t dv = 16; dv <= 256; dv += 8) {
    CHECK(of_products.of(product.setup()) == used.lock());  // used again and again
    CHECK(ask(dv).lock() != nullptr);
  }
  CHECK(first.expired());
  Tables alone(make_table_memory(1));  // keeps the table used last, however large
  (void)select(product.setup(), 1, alone);
  const std::weak_ptr<Table> kept = alone.of(product.setup());
  (void)select(product.setup(), 1, alone);
  CHECK_FALSE(kept.expired());
}

}  // namespace test_select
