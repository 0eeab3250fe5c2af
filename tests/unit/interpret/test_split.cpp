// Split axes: partial results of the groups and their combine (eq. 19.1), and levels below the first one.
#include <doctest/doctest.h>

#include "tests/unit/interpret/helpers.hpp"

namespace test_split {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

TEST_CASE("flash-decode: one query, keys split among groups") {
  const Diagram d = load_diagram("attention");
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 5, 0}}) {
    const Problem problem = problem_of(d, {{"h", 2}, {"g", 2}, {"q", 3}, {"x", 23}, {"d", 4}}, mask);
    const Streamed s = streamed_as(d, {"h", "g", "q", "x"}, "");
    REQUIRE(s.stream == d.axis("x"));
    Partition p = make_partition(s, problem.sizes, {{"h", 1}, {"g", 2}, {"q", 2}, {"x", 8}}, "tile");
    p.chunk = 3;
    const Tensors inputs = random_inputs(d, problem.sizes, 2);
    const Run run = run_streamed(s, problem, p, inputs);
    CHECK(gap(run_unfused(d, problem, inputs).outputs, run.outputs) < 1e-14);
    // Three groups along x store an O and a log-sum-exp each; the combine reads them and writes the whole ones.
    CHECK(stored(run, s.diagram, "O") == Count(3 * 2 * 2 * 3 * 4));
    CHECK(stored(run, s.diagram, "lse_P") == Count(3 * 2 * 2 * 3));
    CHECK(run.counts.combine.loaded() == Count(3 * 2 * 2 * 3 * 5));
    CHECK(run.counts.combine.stored() == Count(2 * 2 * 3 * 5));
  }
}

TEST_CASE("split-K: partial products added") {
  const Diagram d = load_diagram("matmul");
  const Problem problem = problem_of(d, {{"a", 5}, {"b", 11}, {"c", 4}});
  const Streamed s = streamed_as(d, {"a", "b", "c"}, "");
  Partition p = make_partition(s, problem.sizes, {{"a", 2}, {"b", 4}, {"c", 3}}, "tile");
  p.chunk = 3;
  const Tensors inputs = random_inputs(d, problem.sizes, 2);
  const Run run = run_streamed(s, problem, p, inputs);
  CHECK(gap(run_unfused(d, problem, inputs).outputs, run.outputs) < 1e-14);
  CHECK(stored(run, d, "C") == Count(3 * 5 * 4));
  CHECK(loaded(run, d, "A") == Count(2 * 5 * 11));
}

TEST_CASE("backward: keys grouped, queries streamed, dQ in parts that are added") {
  const Diagram d = load_diagram("attention_backward");
  const Problem problem = problem_of(d, {{"h", 2}, {"g", 2}, {"q", 7}, {"x", 9}, {"d", 3}}, {Mask::Kind::causal, 0, 0});
  const Streamed s = streamed_as(d, {"h", "x"}, "q");
  const Partition p = make_partition(s, problem.sizes, {{"x", 4}, {"q", 2}}, "tile");
  const Tensors inputs = random_inputs(d, problem.sizes, 2);
  const Run run = run_streamed(s, problem, p, inputs);
  CHECK(gap(run_unfused(d, problem, inputs).outputs, run.outputs) < 1e-13);
  CHECK(stored(run, d, "dK") == Count(2 * 9 * 3));
  // Queries 0 and 1 see keys 0 to 3: two of three groups leave out a part of dQ.
  CHECK(stored(run, d, "dQ") < Count(3 * 2 * 2 * 7 * 3));
}

TEST_CASE("two levels: blocks of 8 queries and 6 keys, agents of 4 queries and 3 keys") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 19}, {"x", 21}, {"d", 4}, {"dv", 5}}, {Mask::Kind::causal, 0, 0});
  const Streamed s = derive(d);
  const Partition block = make_partition(s, problem.sizes, {{"q", 8}, {"x", 6}}, "tile");
  const Partition agent = make_partition(s, problem.sizes, {{"q", 4}, {"x", 3}}, "tile");
  RunOptions options;
  options.level = "block";
  options.nested = {{"agent", agent}};
  const Tensors inputs = random_inputs(d, problem.sizes, 4);
  const Run run = run_streamed(s, problem, block, inputs, options);
  CHECK(gap(run_unfused(d, problem, inputs).outputs, run.outputs) < 1e-14);
  REQUIRE(run.counts.levels.size() == 2);
  // Each level moves as much as a single level with that tile, since the agents' sizes divide the blocks'.
  for (std::size_t level = 0; level < 2; ++level) {
    const Partition& p = level == 0 ? block : agent;
    CHECK(run.counts.levels[level].groups == group_count(s, problem.sizes, p));
    CHECK(run.counts.levels[level].loaded() == transfer(s, problem, p).load.value);
    CHECK(run.counts.levels[level].stored() == transfer(s, problem, p).store.value);
  }
  CHECK(run.counts.levels[1].peak == memory_live(s, agent).value);
  CHECK(run.counts.levels[0].peak == Count(8 * 4 + 6 * 4 + 6 * 5));  // Q, K, V: the scores stay below
}

TEST_CASE("three levels of a matmul") {
  const Diagram d = load_diagram("matmul");
  const Problem problem = problem_of(d, {{"a", 13}, {"b", 10}, {"c", 12}});
  const Streamed s = derive(d);
  RunOptions options;
  options.nested = {{"warp", make_partition(s, problem.sizes, {{"a", 4}, {"c", 2}, {"b", 2}}, "")},
                    {"thread", make_partition(s, problem.sizes, {{"a", 1}, {"c", 2}, {"b", 1}}, "")}};
  const Partition block = make_partition(s, problem.sizes, {{"a", 8}, {"c", 4}, {"b", 4}}, "");
  const Tensors inputs = random_inputs(d, problem.sizes, 4);
  const Run run = run_streamed(s, problem, block, inputs, options);
  CHECK(gap(run_unfused(d, problem, inputs).outputs, run.outputs) < 1e-14);
  CHECK(run.counts.levels[1].loaded() == transfer(s, problem, options.nested[0].partition).load.value);
  CHECK(run.counts.levels[2].loaded() == transfer(s, problem, options.nested[1].partition).load.value);
}

}  // namespace test_split
