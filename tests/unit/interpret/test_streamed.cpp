// Streamed runs compared with unfused ones and with formulas written out by hand.
#include <doctest/doctest.h>

#include "tests/unit/interpret/helpers.hpp"

namespace test_streamed {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

struct Case {
  std::int64_t q, x, g, s;
  Mask mask;
};

const Mask none{}, causal{Mask::Kind::causal, 0, 0};
Mask window(std::int64_t left, std::int64_t right) { return {Mask::Kind::window, left, right}; }

void check_attention(const Case& c) {
  CAPTURE(c.q);
  CAPTURE(c.x);
  CAPTURE(c.g);
  CAPTURE(c.s);
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", c.q}, {"x", c.x}, {"d", 5}, {"dv", 3}}, c.mask);
  const Tensors inputs = random_inputs(d, problem.sizes, 7);
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", c.g}, {"x", c.s}}, "tile");
  const Attention book{c.q, c.x, 5, 3, inputs.at("Q").data, inputs.at("K").data, inputs.at("V").data};
  const Tensor expected{{1, 1, 1, c.q, 3}, book.outputs(c.mask)};
  CHECK(difference(expected, run_unfused(d, problem, inputs).outputs.at("O")) < 1e-14);
  CHECK(difference(expected, run_streamed(s, problem, p, inputs).outputs.at("O")) < 1e-14);
}

}  // namespace

TEST_CASE("attention equals attention by the book, masks and ragged ends included") {
  for (const Mask& mask : {none, causal, window(2, 0), window(0, 3), window(1, 1)}) {
    for (const Case& c :
         {Case{6, 8, 3, 4, mask}, Case{7, 9, 3, 4, mask}, Case{9, 5, 4, 2, mask}, Case{1, 10, 1, 4, mask},
          Case{10, 1, 3, 1, mask}, Case{1, 1, 1, 1, mask}, Case{13, 13, 13, 13, mask}}) {
      check_attention(c);
    }
  }
}

TEST_CASE("each built-in algorithm, streamed, equals itself unfused") {
  struct Built {
    std::string name;
    Given shape, tile;
  };
  for (const Built& b :
       {Built{
            "attention", {{"b", 2}, {"h", 2}, {"g", 3}, {"q", 7}, {"x", 11}, {"d", 4}}, {{"q", 3}, {"g", 2}, {"x", 4}}},
        Built{"attention_backward", {{"b", 2}, {"h", 2}, {"g", 3}, {"q", 7}, {"x", 11}, {"d", 4}}, {}},
        Built{"matmul", {{"a", 7}, {"b", 11}, {"c", 5}}, {{"a", 3}, {"c", 2}, {"b", 4}}},
        Built{"mlp", {{"m", 7}, {"k", 5}, {"h", 11}, {"n", 6}}, {}},
        Built{"softmax_contraction", {{"q", 7}, {"x", 11}, {"d", 4}}, {{"q", 3}, {"x", 4}}}}) {
    CAPTURE(b.name);
    const Diagram d = load_diagram(b.name);
    const Problem problem = problem_of(d, b.shape, causal);
    const Tensors inputs = random_inputs(d, problem.sizes, 3);
    const Streamed s = derive(d);
    const Partition p = make_partition(s, problem.sizes, b.tile, "tile");
    CHECK(gap(run_unfused(d, problem, inputs).outputs, run_streamed(s, problem, p, inputs).outputs) < 1e-13);
  }
}

TEST_CASE("attention counts by hand: 2gd + 2xd a group, P14's memory") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 96}, {"x", 80}, {"d", 16}});
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 12}, {"x", 4}}, "tile");
  const Run run = run_streamed(s, problem, p, random_inputs(d, problem.sizes, 1));
  const LevelCounts& low = run.counts.levels[0];
  CHECK(low.groups == Count(8));
  CHECK(loaded(run, d, "Q") == Count(96 * 16));
  CHECK(loaded(run, d, "K") == Count(8 * 80 * 16));
  CHECK(loaded(run, d, "V") == Count(8 * 80 * 16));
  CHECK(stored(run, d, "O") == Count(96 * 16));
  CHECK(low.loaded() + low.stored() == Count(23552));                                      // Fig. 21
  CHECK(low.peak == Count(2 * 12 * 16 + std::max(2 * 4 * 16, 12 * 4 + 4 * 16) + 3 * 12));  // erratum P14
  CHECK(low.peak_held == low.peak);
}

TEST_CASE("matmul counts by hand: Fig. 18") {
  const Diagram d = load_diagram("matmul");
  const Problem problem = problem_of(d, {{"a", 60}, {"b", 50}, {"c", 40}});
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"a", 6}, {"c", 8}, {"b", 5}}, "tile");
  const Run run = run_streamed(s, problem, p, random_inputs(d, problem.sizes, 1));
  const LevelCounts& low = run.counts.levels[0];
  CHECK(low.groups == Count(50));
  CHECK(low.loaded() + low.stored() == Count(37400));
  CHECK(low.peak == Count(118));
}

TEST_CASE("a causal run loads only the chunks that a group sees") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 8}, {"x", 8}, {"d", 2}}, causal);
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 2}, {"x", 3}}, "tile");
  const Run run = run_streamed(s, problem, p, random_inputs(d, problem.sizes, 1));
  // Rows 0-1 see keys 0-1 (chunk 0), 2-3: 0-3 (chunks 0, 1), 4-5: 0-5, 6-7: all; the last chunk has two keys.
  CHECK(loaded(run, d, "K") == Count((3 + 6 + 6 + 8) * 2));
}

}  // namespace test_streamed
