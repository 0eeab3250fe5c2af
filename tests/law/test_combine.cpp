// Results in parts: the launch that combines them computes the whole result; the ways in which blocks exchange parts
// move the bytes that a hand count gives; the time that they wait.

#include <doctest/doctest.h>

#include <random>

#include "model/clock/roofline/combine_cost.hpp"
#include "model/fusion/combine.hpp"
#include "model/interpret/run.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_combine {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Given;
using napkin::internal::testing::Mapped;
using napkin::internal::testing::Text;
using i64 = std::int64_t;

i64 up(i64 a, i64 b) { return (a + b - 1) / b; }

/// Returns a tensor's range along one of its axes.
Tensor slice(const Tensor& from, std::size_t axis, i64 first, i64 last) {
  Tensor out{from.shape, {}};
  out.shape[axis] = last - first;
  i64 inner = 1;
  for (std::size_t a = axis + 1; a < from.shape.size(); ++a) inner *= from.shape[a];
  for (std::size_t i = 0; i < from.data.size(); ++i) {
    const i64 at = static_cast<i64>(i) / inner % from.shape[axis];
    if (first <= at && at < last) out.data.push_back(from.data[i]);
  }
  return out;
}

/// Returns the results of the parts of `axis` as inputs of the combine, computed unfused, part by part.
Tensors parts_of(const Streamed& s, const Problem& problem, const Tensors& inputs, AxisId axis, i64 part) {
  const i64 size = problem.sizes[static_cast<std::size_t>(axis)].get();
  Tensors parts;
  for (i64 first = 0; first < size; first += part) {
    const i64 last = std::min(first + part, size);
    Problem one = problem;
    one.sizes[static_cast<std::size_t>(axis)] = last - first;
    Tensors own = inputs;
    for (const ArrayId in : s.diagram.inputs) {
      const Array& array = s.diagram.arrays[static_cast<std::size_t>(in)];
      const auto at = std::find(array.axes.begin(), array.axes.end(), axis);
      if (at == array.axes.end()) continue;
      own[array.name] = slice(inputs.at(array.name), static_cast<std::size_t>(at - array.axes.begin()), first, last);
    }
    for (const auto& [name, tensor] : run_unfused(s.diagram, one, own).outputs) {
      if (s.combine_of(s.diagram.array(name)) == nullptr) continue;
      Tensor& all = parts[name + ".parts"];
      if (all.shape.empty()) {
        all.shape = tensor.shape;
        all.shape.insert(all.shape.begin(), 0);
      }
      all.shape[0] += 1;
      all.data.insert(all.data.end(), tensor.data.begin(), tensor.data.end());
    }
  }
  return parts;
}

void check_combine(const std::string& algorithm, const std::vector<std::string>& grouped, const char* streamed,
                   const Given& shape, const char* split, i64 part) {
  CAPTURE(algorithm);
  const Diagram d = load_diagram(algorithm);
  const Streamed s = derive(d, roles_of(d, grouped, streamed));
  const Problem problem{resolve_sizes(d, shape, "shape"), {}, DType::value};
  const Tensors inputs = random_inputs(s.diagram, problem.sizes, 7);
  const auto launch = combine_launch(s);
  REQUIRE(launch);
  Partition groups = make_partition(s, problem.sizes, {{split, part}}, "tile");
  const Problem combining = combine_problem(*launch, problem, groups.group);
  const Tensors parts = parts_of(s, problem, inputs, d.axis(split), part);
  const Tensors whole = run_unfused(s.diagram, problem, inputs).outputs;
  const Partition all = make_partition(launch->streamed, combining.sizes, {}, "tile");
  for (const Run& run : {run_unfused(launch->streamed.diagram, combining, parts),
                         run_streamed(launch->streamed, combining, all, parts)}) {
    CHECK_FALSE(run.outputs.empty());
    for (const auto& [name, tensor] : run.outputs) CHECK(difference(whole.at(name), tensor) < 1e-13);
  }
}

TEST_CASE("the combine's own diagram makes the whole out of the parts") {
  check_combine("attention", {"h", "g", "q", "x"}, "", {{"h", 2}, {"g", 2}, {"q", 3}, {"x", 23}, {"d", 4}}, "x", 8);
  check_combine("attention", {"h", "x"}, "", {{"q", 1}, {"x", 5}, {"d", 3}}, "x", 1);
  check_combine("matmul", {"a", "b", "c"}, "", {{"a", 5}, {"b", 11}, {"c", 4}}, "b", 4);
  check_combine("attention_backward", {"h", "x"}, "q", {{"h", 2}, {"g", 2}, {"q", 7}, {"x", 9}, {"d", 3}}, "x", 4);
}

TEST_CASE("rows that no part sees: output 0, log-sum-exp -infinity, and no NaN") {
  const Diagram d = load_diagram("attention");
  const Streamed s = derive(d, roles_of(d, {"q", "x"}, ""));
  const CombineLaunch launch = combine_launch(s).value();
  const Problem problem{resolve_sizes(d, {{"q", 2}, {"x", 6}, {"d", 3}}, "shape"), {}, DType::value};
  const Problem combining = combine_problem(launch, problem, make_partition(s, problem.sizes, {{"x", 2}}, "t").group);
  Tensors parts = random_inputs(launch.streamed.diagram, combining.sizes, 3);
  const std::string lse = s.diagram.arrays[static_cast<std::size_t>(s.statistics.at(0))].name;
  for (double& v : parts.at(lse + ".parts").data) v = -std::numeric_limits<double>::infinity();
  for (const auto& [name, tensor] : run_unfused(launch.streamed.diagram, combining, parts).outputs) {
    for (const double v : tensor.data) CHECK(v == (name == lse ? -std::numeric_limits<double>::infinity() : 0.0));
  }
}

// The three ways of seeds 000, and flash-decoding: what their authors would count
// --------------------------------------

struct Question {
  i64 h, g, q, x, d, dv;  // sizes
  i64 rows, chunk, part;  // tile
  [[nodiscard]] i64 parts() const { return up(x, part); }
  [[nodiscard]] i64 all_rows() const { return h * g * q; }
  /// Returns the bytes that all blocks read of Q, K and V in 16 bits: Q once a part, K and V once for each block of
  /// queries of each head.
  [[nodiscard]] i64 inputs() const { return 2 * (all_rows() * d * parts() + h * x * (d + dv) * g * up(q, rows)); }
};

Question random_question(std::mt19937& random) {
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  return {pick(1, 3),  pick(1, 3),  pick(1, 90), pick(1, 300), pick(1, 40),
          pick(1, 40), pick(1, 70), pick(1, 20), pick(20, 120)};
}

struct Placed {
  Mapped mapped;
  PlacedDiagram placed;
  Placed(const char* kernel, const Question& k, i64 cluster = 0)
      : mapped("attention", kernel, "h200-sxm",
               {{"h", k.h}, {"g", k.g}, {"q", k.q}, {"x", k.x}, {"d", k.d}, {"dv", k.dv}}),
        placed(mapped.place(tile(k, cluster))) {}
  static Text tile(const Question& k, i64 cluster) {
    Text text = {{"q", std::to_string(k.rows)}, {"x", std::to_string(k.chunk)}, {"shared.x", std::to_string(k.part)}};
    if (cluster > 0) text.emplace_back("cluster", std::to_string(cluster));
    return text;
  }
  [[nodiscard]] LevelTransfer at(const char* level) const {
    for (const LevelTransfer& t : transfers(placed)) {
      if (t.level == mapped.machine.level(level)) return t;
    }
    FAIL("no level " << level);
    return {};
  }
  [[nodiscard]] CombineMoved moved() const { return combine_moved(placed).value(); }
  [[nodiscard]] double latency(const char* pipe) const { return mapped.machine.find_pipe(pipe)->latency->value; }
};

constexpr Hertz one_clock{1e9};

TEST_CASE("ordered atomics: m, l and O are read and written again for every block of keys") {
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    const Question k = random_question(random);
    CAPTURE(round);
    const Placed p("split_keys_ordered", k);
    const i64 state = 4 * k.all_rows() * (k.dv + 2) * k.parts();  // (m, l, O) per block of keys
    CHECK(p.at("shared").load.value == k.inputs() + state);
    CHECK(p.at("shared").store.value == state);
    CHECK(p.at("l2").store.value == 4 * k.all_rows() * k.dv);  // device memory has a single O
    CHECK(p.at("l2").load.value == 2 * (k.all_rows() * k.d + k.h * k.x * (k.d + k.dv)));
    CHECK(p.moved().stored.value == state);
    CHECK(p.moved().loaded.value == state);
    // A turn: the counter there and back, and the state of one block's rows both ways.
    const Synchronisation sync = synchronisation(p.placed, one_clock);
    CHECK(sync.steps == k.parts());
    const double blocks = static_cast<double>(k.h * k.g * up(k.q, k.rows) * k.parts());
    const double moving =
        2.0 * static_cast<double>(state) / blocks / p.mapped.machine.find_pipe("l2")->per_node_clock.best().value;
    CHECK(sync.clocks == doctest::Approx(static_cast<double>(k.parts()) * (2 * p.latency("l2") + moving)));
  }
}

TEST_CASE("grid-synchronised reductions: m, l and O are added once a block, m and l read back, three barriers") {
  std::mt19937 random(2);
  for (int round = 0; round < 30; ++round) {
    const Question k = random_question(random);
    CAPTURE(round);
    const Placed p("split_keys_grid_sync", k);
    const i64 row = 4 * k.all_rows() * k.parts();
    CHECK(p.at("shared").load.value == k.inputs() + 2 * row);
    CHECK(p.at("shared").store.value == (k.dv + 2) * row);
    CHECK(p.at("l2").store.value == 4 * k.all_rows() * k.dv);
    CHECK(p.moved().loaded.value == 2 * row);
    const Synchronisation sync = synchronisation(p.placed, one_clock);
    CHECK(sync.steps == 3);
    CHECK(sync.clocks == 3 * 2 * p.latency("l2"));
  }
}

TEST_CASE("cluster reductions: parts cross between the blocks of a cluster, one result leaves it") {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    const Question k = random_question(random);
    const i64 cluster = i64{1} << (round % 5);
    CAPTURE(round);
    const Placed p("split_keys_cluster", k, cluster);
    const i64 row = 4 * k.all_rows() * k.parts();
    CHECK(p.at("shared").load.value == k.inputs() + 2 * row);
    CHECK(p.at("shared").store.value == (k.dv + 2) * row);
    CHECK(p.at("cluster").load.value == k.inputs());
    CHECK(p.at("cluster").store.value == 4 * k.all_rows() * k.dv * up(k.parts(), cluster));
    CHECK(p.moved().parts == up(k.parts(), up(k.parts(), cluster)));
    const Synchronisation sync = synchronisation(p.placed, one_clock);
    CHECK(sync.steps == 3);
    CHECK(sync.clocks == 3 * 2 * p.latency("cluster"));
  }
}

TEST_CASE("flash-decoding: parts and log-sum-exps to device memory, read once by the second launch, as counted") {
  std::mt19937 random(4);
  for (int round = 0; round < 30; ++round) {
    const Question k = random_question(random);
    CAPTURE(round);
    const Placed p("flash_decoding", k);
    const i64 parts = 4 * k.all_rows() * (k.dv + 1) * k.parts();
    CHECK(p.at("shared").store.value == parts);
    CHECK(p.at("l2").store.value == parts);
    CHECK(p.at("shared").load.value == k.inputs());
    const CombineMoved moved = p.moved();
    CHECK(moved.stored.value == parts);
    const i64 launched = k.parts() > 1 ? 1 : 0;  // a single part is the result itself
    CHECK(moved.loaded.value == launched * parts);
    CHECK(moved.whole.value == launched * (2 * k.all_rows() * k.dv + 4 * k.all_rows()));
    // The interpreter's combine, in values: all parts are fp32.
    Partition partition =
        make_partition(p.mapped.streamed, p.mapped.problem.sizes, {{"q", k.rows}, {"x", k.part}}, "tile");
    if (round % 5 != 0 || launched == 0) continue;  // only every fifth, as runs are slow
    partition.chunk = k.chunk;
    const Tensors inputs = random_inputs(p.mapped.streamed.diagram, p.mapped.problem.sizes, 1);
    Problem problem = p.mapped.problem;
    const LevelCounts counted = run_streamed(p.mapped.streamed, problem, partition, inputs).counts.combine;
    CHECK(moved.loaded.value == Count(4) * counted.loaded());
    CHECK(counted.stored() == k.all_rows() * (k.dv + 1));
  }
}

TEST_CASE("one block of keys: one part, and what is exchanged still crosses") {
  const Question k{1, 1, 64, 64, 32, 32, 64, 16, 64};
  const Placed p("split_keys_ordered", k);
  CHECK(p.moved().parts == 1);
  CHECK(p.at("shared").store.value == 4 * 64 * 34);
}

std::vector<Violation> violations_of(const Placed& p) { return violations(p.placed, plan(p.placed)); }

const Violation* find(const std::vector<Violation>& all, const std::string& name) {
  for (const Violation& v : all) {
    if (v.constraint == name) return &v;
  }
  return nullptr;
}

TEST_CASE("what the ways demand: all blocks at once for a grid barrier, all parts in one cluster") {
  const Question small{1, 1, 128, 1024, 64, 64, 64, 64, 256}, large{16, 1, 4096, 1024, 64, 64, 64, 64, 256};
  CHECK(find(violations_of(Placed("split_keys_grid_sync", small)), "resident blocks") == nullptr);
  const auto many = violations_of(Placed("split_keys_grid_sync", large));
  REQUIRE(find(many, "resident blocks") != nullptr);
  CHECK(find(many, "resident blocks")->needed == 16 * 64 * 4);
  CHECK(find(many, "resident blocks")->available == 132);
  CHECK(find(violations_of(Placed("split_keys_cluster", small, 4)), "parts") == nullptr);
  const auto outside = violations_of(Placed("split_keys_cluster", small, 2));
  REQUIRE(find(outside, "parts") != nullptr);
  CHECK(find(outside, "parts")->needed == 2);
  CHECK(find(outside, "parts")->available == 1);
  CHECK(find(violations_of(Placed("split_keys_ordered", large)), "resident blocks") == nullptr);
}

}  // namespace

}  // namespace test_combine
