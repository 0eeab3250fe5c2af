// Ties of time, beside every tile timed by itself: a tile that moves fewer bytes is shown.
#include <doctest/doctest.h>

#include <algorithm>

#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"
#include "tests/support/gpu_of_mapping.hpp"
#include "tests/support/setup.hpp"
#include "tests/unit/select/case.hpp"

namespace test_ties {

namespace {

using namespace napkin;
using namespace napkin::internal;
using testing::Case;
using testing::Shape;

/// A question to the ideal mapping, which owns what it points to.
struct Ideal {
  Machine machine = load_machine("h200-sxm", "test");
  Streamed streamed;
  Problem problem;
  Mapping mapping;

  Ideal(const std::string& algorithm, const Shape& shape, Mask mask = {}) {
    const Diagram diagram = load_diagram(algorithm);
    streamed = derive(diagram);
    problem = {resolve_sizes(diagram, shape, "test"), mask, DType::bf16};
    mapping = ideal_mapping(streamed, machine, problem.sizes);
  }
  [[nodiscard]] Setup setup() const { return test::setup_of(*this); }
};

Selection select(const Setup& setup, int top) {
  Tables tables;
  return Selector(setup, tables).rank(top);
}

}  // namespace

TEST_CASE("ties are broken by the bytes into blocks, then by the order of preference") {
  const Case c("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}});
  const std::vector<Exhausted::Timed> all = select_exhaustively(c.setup()).all;
  const Selection selection = select(c.setup(), 5);
  const Space space = space_of(c.setup());
  const auto rank_of = [&](const Tile& tile) {
    std::int64_t rank = 0;
    for (std::size_t k = 0; k < tile.values.size(); ++k) {
      const auto& domain = space.domains[k];
      rank += space.strides[k] * (std::find(domain.begin(), domain.end(), tile.values[k]) - domain.begin());
    }
    return rank;
  };
  std::size_t ties = 0;
  for (const Exhausted::Timed& one : all) {
    if (one.prediction.time != all.front().prediction.time) break;
    ++ties;
    CHECK(all.front().into_blocks <= one.into_blocks);
    if (all.front().into_blocks == one.into_blocks) CHECK(rank_of(all.front().tile) <= rank_of(one.tile));
  }
  CHECK(ties > 1);
  CHECK(selection.ranked.front().tile == all.front().tile);
}

TEST_CASE("of the ideal mapping the tile that moves least is selected, as the exhaustive twin has it") {
  Mask causal;
  causal.kind = Mask::Kind::causal;
  const Shape heads = {{"h", 2}, {"g", 4}, {"q", 512}, {"x", 512}, {"d", 64}};
  const Ideal asked[] = {{"swiglu", {{"m", 512}, {"k", 64}, {"h", 256}}},
                         {"matmul", {{"a", 512}, {"b", 512}, {"c", 512}}},
                         {"soft_capped_attention", heads, causal},
                         {"softmax_contraction", {{"q", 256}, {"x", 256}, {"d", 64}}}};
  int moved = 0;
  for (const Ideal& one : asked) {
    CAPTURE(one.streamed.diagram.axes.front().name);
    const std::vector<Exhausted::Timed> all = select_exhaustively(one.setup()).all;
    REQUIRE(all.size() > 1);
    const auto less = [](const auto& a, const auto& b) { return a.into_blocks < b.into_blocks; };
    CHECK(all.front().into_blocks == std::min_element(all.begin(), all.end(), less)->into_blocks);
    CHECK(select(one.setup(), 1).ranked.front().tile == all.front().tile);
    CHECK_FALSE(select(one.setup(), 3).runner_up.has_value());
    const auto sooner = [](const auto& a, const auto& b) { return a.prediction.time < b.prediction.time; };
    moved += std::min_element(all.begin(), all.end(), sooner)->into_blocks > all.front().into_blocks ? 1 : 0;
  }
  CHECK(moved > 0);  // the roofline of the tile itself would have another one
}

TEST_CASE("every product's kernel takes one column, one row and sizes that eight does not divide") {
  int asked = 0;
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    const std::string gpu = test::home_gpu(mapping);
    if (mapping.algorithm != "matmul" || gpu.empty()) continue;
    CAPTURE(name);
    for (const Shape& shape : {Shape{{"a", 4096}, {"b", 4096}, {"c", 1}}, Shape{{"a", 1}, {"b", 4096}, {"c", 4096}},
                               Shape{{"a", 333}, {"b", 777}, {"c", 1001}}, Shape{{"a", 7}, {"b", 7}, {"c", 7}}}) {
      CAPTURE(shape[2].second);
      const Case one(name, gpu, shape, {}, parse_dtype(mapping.dtypes.front(), "test"));
      const Setup setup = one.setup();
      Tables of_its_own;
      CHECK(Selector(setup, of_its_own).any_legal());
      ++asked;
    }
  }
  CHECK(asked >= 24);
}

}  // namespace test_ties
