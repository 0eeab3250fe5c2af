// The closed forms of the built-in diagrams, derived from their texts alone. (model/README.md, "Worked results (leading
// order)"; errata P2, P13)
#include <doctest/doctest.h>

#include <cmath>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "solver/optimum/report.hpp"

namespace test_optimum_formulas {

using namespace napkin;
using namespace napkin::internal;

namespace {

using Given = std::vector<std::pair<std::string, std::int64_t>>;

struct Golden {
  const char* diagram;
  Given sizes;
  std::int64_t memory;
  const char* optimum;
  const char* transfer;
  const char* memory_rule;
};

const Golden golden[] = {
    {"matmul",
     {{"a", 4096}, {"b", 2048}, {"c", 1024}},
     65536,
     "a c + 2 a b c / M^(1/2)",
     "a b c / g_c + a b c / g_a + a c",
     "g_a s_b + s_b g_c + g_a g_c"},
    {"matmul",
     {{"a", 32}, {"b", 512}, {"c", 4096}},
     4096,
     "a c + b c + a^2 b c / M",
     "a b c / g_c + a b c / g_a + a c",
     "g_a s_b + s_b g_c + g_a g_c"},
    {"attention",
     {{"q", 8192}, {"x", 4096}, {"d", 128}},
     116224,
     "2 q d + 4 q x d^2 / M",
     "2 q d + 2 q x d / g_q",
     "2 g_q d + 2 s_x d"},
    {"attention",
     {{"h", 16}, {"q", 8192}, {"x", 4096}, {"d", 128}},
     116224,
     "2 h q d + 4 h q x d^2 / M",
     "2 h q d + 2 h q x d / g_q",
     "2 g_h g_q d + 2 g_h s_x d"},
    {"attention",
     {{"h", 2}, {"g", 8}, {"q", 8192}, {"x", 4096}, {"d", 128}},
     116224,
     "2 h g q d + 4 h g q x d^2 / M",
     "2 h g q d + 2 h g q x d / (g_g g_q)",
     "2 g_h g_g g_q d + 2 g_h s_x d"},
    {"attention",
     {{"g", 8}, {"q", 1}, {"x", 4096}, {"d", 128}},
     116224,
     "2 g q d + 2 x d",
     "2 g q d + 2 g q x d / (g_g g_q)",
     "2 g_g g_q d + 2 s_x d"},
};

double value_of(const Product& p, const Diagram& d, const Sizes& sizes, double memory) {
  double value = p.coefficient;
  for (const Factor& f : p.factors) {
    const auto axis = d.find_axis(f.base);
    REQUIRE((axis || f.base == "M"));
    value *= std::pow(axis ? static_cast<double>(sizes[static_cast<std::size_t>(*axis)]) : memory, f.power.value());
  }
  return value;
}

}  // namespace

TEST_CASE("built-in diagrams: their closed forms, in axis names and as numbers") {
  for (const Golden& g : golden) {
    const Diagram diagram = load_diagram(g.diagram);
    const Problem problem{resolve_sizes(diagram, g.sizes, "test"), {}, DType::value};
    const OptimumReport r = optimum_of(derive(diagram), problem, Values(g.memory));
    CAPTURE(g.diagram);
    CHECK(r.formula.optimum == g.optimum);
    CHECK(r.formula.transfer == g.transfer);
    CHECK(r.formula.memory == g.memory_rule);
    CHECK(r.exact);
    CHECK(r.ratio >= 1);
    // The formula in names has the same value as the numbers.
    const double memory = static_cast<double>(g.memory);
    for (const PowerTerm& t : r.terms) {
      if (!t.symbol || t.beta == 0) continue;
      CHECK(value_of(*t.symbol, diagram, problem.sizes, memory) ==
            doctest::Approx(t.alpha * std::pow(memory, -t.beta)).epsilon(1e-9));
    }
  }
}

TEST_CASE("figures 18 and 21: the rule at the printed tiles is the printed memory") {
  const Diagram matmul = load_diagram("matmul");
  const Sizes sizes = resolve_sizes(matmul, {{"a", 60}, {"b", 50}, {"c", 40}}, "test");
  const Streamed streamed = derive(matmul);
  CHECK(MemoryRule(streamed, sizes, ColumnView::drawn)(std::vector<Count>{6, 8}, 5) == 118);
  CHECK(transfer_of(integer_problem_of(streamed, {sizes, {}, DType::value}, Values(118)), std::vector<Count>{6, 8}) ==
        37'400);
  const Diagram attention = load_diagram("attention");
  const Sizes heads = resolve_sizes(attention, {{"q", 96}, {"x", 80}, {"d", 16}}, "test");
  const Streamed fused = derive(attention);
  CHECK(MemoryRule(fused, heads, ColumnView::drawn)(std::vector<Count>{1, 1, 1, 12}, 4) == 512);
  CHECK(transfer_of(integer_problem_of(fused, {heads, {}, DType::value}, Values(512)),
                    std::vector<Count>{1, 1, 1, 12}) == 23'552);
}

}  // namespace test_optimum_formulas
