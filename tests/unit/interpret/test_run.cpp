// Inputs and results of a run: whole algorithms compared with independent formulas, observations, bad input, npy files,
// checks.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/interpret/check.hpp"
#include "model/interpret/dump.hpp"
#include "tests/unit/interpret/helpers.hpp"

namespace test_run {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

Tensor slice(const Tensor& t, std::int64_t first, std::int64_t count) {
  const auto begin = t.data.begin() + static_cast<std::ptrdiff_t>(first);
  return {{count}, std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count))};
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
  return sum;
}

}  // namespace

TEST_CASE("grouped queries: each group of heads is attention by the book on the shared keys") {
  const Diagram d = load_diagram("attention");
  const std::int64_t b = 2, h = 2, g = 3, q = 5, x = 7, w = 4, v = 3;
  const Mask causal{Mask::Kind::causal, 0, 0};
  const Problem problem =
      problem_of(d, {{"b", b}, {"h", h}, {"g", g}, {"q", q}, {"x", x}, {"d", w}, {"dv", v}}, causal);
  const Tensors inputs = random_inputs(d, problem.sizes, 9);
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"g", 2}, {"q", 2}, {"x", 3}}, "tile");
  const Tensor found = run_streamed(s, problem, p, inputs).outputs.at("O");
  for (std::int64_t bh = 0; bh < b * h; ++bh) {
    for (std::int64_t i = 0; i < g; ++i) {
      const std::int64_t head = bh * g + i;
      const Attention book{q,
                           x,
                           w,
                           v,
                           slice(inputs.at("Q"), head * q * w, q * w).data,
                           slice(inputs.at("K"), bh * x * w, x * w).data,
                           slice(inputs.at("V"), bh * x * v, x * v).data};
      CHECK(difference({{q * v}, book.outputs(causal)}, slice(found, head * q * v, q * v)) < 1e-14);
    }
  }
}

TEST_CASE("matmul and mlp by the book") {
  const Diagram d = load_diagram("mlp");
  const std::int64_t m = 5, k = 4, h = 9, n = 3;
  const Problem problem = problem_of(d, {{"m", m}, {"k", k}, {"h", h}, {"n", n}});
  const Tensors in = random_inputs(d, problem.sizes, 1);
  const auto at = [&](const char* name, std::int64_t i, std::int64_t j) {
    const Tensor& t = in.at(name);
    return t.data[static_cast<std::size_t>(i * t.shape[1] + j)];
  };
  Tensor expected = filled({m, n}, 0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < h; ++j) {
      double hidden = 0;
      for (std::int64_t l = 0; l < k; ++l) hidden += at("X", i, l) * at("W1", l, j);
      const double active = 0.5 * hidden * (1 + std::erf(hidden / std::sqrt(2.0)));
      for (std::int64_t o = 0; o < n; ++o)
        expected.data[static_cast<std::size_t>(i * n + o)] += active * at("W2", j, o);
    }
  }
  CHECK(difference(expected, run_unfused(d, problem, in).outputs.at("Y")) < 1e-14);
  const Streamed s = derive(d);
  CHECK(difference(expected, run_streamed(s, problem, make_partition(s, problem.sizes, {}, ""), in).outputs.at("Y")) <
        1e-14);
}

TEST_CASE("backward equals finite differences of forward") {
  const Diagram forward = load_diagram("attention"), backward = load_diagram("attention_backward");
  const Given shape{{"h", 2}, {"g", 2}, {"q", 4}, {"x", 5}, {"d", 3}, {"dv", 2}};
  const Mask causal{Mask::Kind::causal, 0, 0};
  const Problem problem = problem_of(forward, shape, causal), problem_back = problem_of(backward, shape, causal);
  Tensors in = random_inputs(forward, problem.sizes, 21);
  const Tensor dO = random_inputs(backward, problem_back.sizes, 22).at("dO");
  const auto loss = [&](const Tensors& t) { return dot(run_unfused(forward, problem, t).outputs.at("O"), dO); };
  // O and the log-sum-exp, as the forward kernel leaves them.
  Diagram with_state = forward;
  with_state.arrays.push_back(
      {"L", {with_state.axis("b"), with_state.axis("h"), with_state.axis("g"), with_state.axis("q")}, {}});
  with_state.operations[1].outputs.push_back(with_state.array("L"));
  with_state.outputs.push_back(with_state.array("L"));
  Tensors state = run_unfused(with_state, problem, in).outputs;
  for (double& l : state.at("L").data) l = std::max(l, -1e3);  // rows that see nothing
  const Tensors back = {{"Q", in.at("Q")}, {"K", in.at("K")},    {"V", in.at("V")},
                        {"dO", dO},        {"O", state.at("O")}, {"L", state.at("L")}};
  const Streamed s = derive(backward);
  const Run run = run_streamed(s, problem_back, make_partition(s, problem_back.sizes, {}, ""), back);
  for (const std::string name : {"Q", "K", "V"}) {
    CAPTURE(name);
    Tensor numeric = in.at(name);
    for (std::size_t i = 0; i < numeric.data.size(); ++i) {
      constexpr double step = 1e-5;
      double& value = in.at(name).data[i];
      const double before = value;
      value = before + step;
      const double up = loss(in);
      value = before - step;
      numeric.data[i] = (up - loss(in)) / (2 * step);
      value = before;
    }
    CHECK(difference(numeric, run.outputs.at("d" + name)) < 1e-8);
  }
}

TEST_CASE("linear attention streams and equals the quadratic form") {
  const Diagram d = parse_diagram(R"(
algorithm: linear_attention
axes: {h: 1, q: , x: , d: , e: }
inputs: ["Q[h,q,d]", "K[h,x,d]", "V[h,x,e]"]
operations:
  - F[h,x,d] = map sigmoid (K)
  - M[h,d,e] = contract over x (F, V)
  - O[h,q,e] = contract over d (Q, M)
outputs: [O]
)",
                                  "test");
  const Problem problem = problem_of(d, {{"h", 2}, {"q", 5}, {"x", 11}, {"d", 3}, {"e", 4}});
  const Tensors in = random_inputs(d, problem.sizes, 6);
  const Streamed s = streamed_as(d, {"h"}, "x");
  const Run run = run_streamed(s, problem, make_partition(s, problem.sizes, {{"x", 4}}, ""), in);
  Tensor expected = filled({2, 5, 4}, 0);
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t q = 0; q < 5; ++q) {
      for (std::size_t x = 0; x < 11; ++x) {
        double weight = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          weight += in.at("Q").data[(h * 5 + q) * 3 + k] / (1 + std::exp(-in.at("K").data[(h * 11 + x) * 3 + k]));
        }
        for (std::size_t e = 0; e < 4; ++e) {
          expected.data[(h * 5 + q) * 4 + e] += weight * in.at("V").data[(h * 11 + x) * 4 + e];
        }
      }
    }
  }
  CHECK(difference(expected, run.outputs.at("O")) < 1e-13);
  CHECK(run.counts.levels[0].loaded() == Count(2 * (5 * 3 + 11 * 3 + 11 * 4)));
}

TEST_CASE("the observer sees scores, probabilities, outputs and state, tile by tile") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 5}, {"x", 7}, {"d", 2}});
  const Tensors in = random_inputs(d, problem.sizes, 8);
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 3}, {"x", 4}}, "");
  Tensor scores = filled({5, 7}, -99);
  std::map<std::string, int> seen;
  RunOptions options;
  int done = 0;
  options.progress = [&](std::int64_t now, std::int64_t total) {
    CHECK(total == 2);
    CHECK(now == ++done);
  };
  options.observer = [&](const Observation& o) {
    ++seen[std::string(o.name)];
    if (o.name != "S") return;
    CHECK(o.group.back() * 3 == o.first[3]);
    CHECK(o.iteration * 4 == o.first[4]);
    for (std::int64_t i = 0; i < o.tensor.shape[3]; ++i) {
      for (std::int64_t j = 0; j < o.tensor.shape[4]; ++j) {
        scores.data[static_cast<std::size_t>((o.first[3] + i) * 7 + o.first[4] + j)] =
            o.tensor.data[static_cast<std::size_t>(i * o.tensor.shape[4] + j)];
      }
    }
  };
  (void)run_streamed(s, problem, p, in, options);
  CHECK(done == 2);
  CHECK(seen == std::map<std::string, int>{{"S", 4}, {"P", 4}, {"mu", 4}, {"delta", 4}, {"z", 4}, {"O", 4 + 2}});
  Diagram with_scores = d;
  with_scores.outputs.push_back(d.array("S"));
  Tensor expected = run_unfused(with_scores, problem, in).outputs.at("S");
  expected.shape = {5, 7};
  CHECK(difference(expected, scores) < 1e-15);
  seen.clear();
  options.progress = nullptr;
  options.observed = {"mu", "z"};
  (void)run_streamed(s, problem, p, in, options);
  CHECK(seen == std::map<std::string, int>{{"mu", 4}, {"z", 4}});
}

TEST_CASE("what an iteration adds to O is O without what was there before, times delta") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 5}, {"x", 7}, {"d", 2}});
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 3}, {"x", 4}}, "");
  std::map<std::string, Tensor> seen;  // of the first group: "O0", "pv1", ...
  RunOptions options;
  options.parts = {{"pv", "O"}};
  options.observed = {"O", "pv", "delta"};
  options.observer = [&](const Observation& o) {
    if (o.phase == Phase::loop && o.group.back() == 0)
      seen[std::string(o.name) + std::to_string(o.iteration)] = o.tensor;
  };
  (void)run_streamed(s, problem, p, random_inputs(d, problem.sizes, 8), options);
  REQUIRE(seen.size() == 6);
  CHECK(difference(seen["pv0"], seen["O0"]) == 0);
  for (std::size_t i = 0; i < 3 * 2; ++i) {
    const double before = seen["O0"].data[i] * seen["delta1"].data[i / 2];
    CHECK(seen["O1"].data[i] == doctest::Approx(before + seen["pv1"].data[i]).epsilon(1e-14));
  }
}

TEST_CASE("inputs and partitions that do not fit are refused, with the right shape") {
  const Diagram d = load_diagram("matmul");
  const Problem problem = problem_of(d, {{"a", 3}, {"b", 4}, {"c", 5}});
  Tensors in = random_inputs(d, problem.sizes, 8);
  const Streamed s = derive(d);
  Partition p = make_partition(s, problem.sizes, {}, "");
  CHECK_NOTHROW((void)run_streamed(s, problem, p, in));
  RunOptions nested;
  nested.nested = {{"agent", p}};
  nested.nested[0].partition.group[0] = 2;
  CHECK_THROWS_WITH_AS((void)run_streamed(s, problem, p, in, nested), "agent.a: a group of 2: from 1 to 1", Error);
  p.group[0] = 4;
  CHECK_THROWS_WITH_AS((void)run_streamed(s, problem, p, in), "low.a: a group of 4: from 1 to 3", Error);
  p.group[0] = 1;
  p.group[1] = 2;
  CHECK_THROWS_AS((void)run_streamed(s, problem, p, in), Error);
  in.at("A").shape = {4, 3};
  CHECK_THROWS_WITH_AS((void)run_unfused(d, problem, in), "input A: shape [4,3]: [3,4]", Error);
  in.erase("A");
  CHECK_THROWS_AS((void)run_unfused(d, problem, in), Error);
}

TEST_CASE("npy: the bytes of NumPy's format, and back") {
  const Tensor t{{2, 3}, {1, -2, 0.5, infinity, -infinity, 3e-310}};
  std::stringstream file;
  write_npy(file, t);
  const std::string bytes = file.str();
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK((bytes.size() - 6 * 8) % 64 == 0);
  CHECK(bytes.substr(10, 59) == "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
  CHECK(bytes.substr(bytes.size() - 48, 8) == std::string("\0\0\0\0\0\0\xF0\x3F", 8));  // 1.0
  CHECK(read_npy(file, "file") == t);
  for (const Tensor& other : {Tensor{{}, {7}}, Tensor{{3}, {1, 2, 3}}, Tensor{{2, 0}, {}}}) {
    std::stringstream again;
    write_npy(again, other, NpyType::f4);
    CHECK(read_npy(again, "again") == other);
  }
  std::stringstream one;
  write_npy(one, {{3}, {1, 2, 3}});
  CHECK(one.str().find("'shape': (3,), }") != std::string::npos);
  for (const std::string& broken :
       {std::string(), bytes.substr(0, 9), bytes.substr(0, 40), bytes.substr(0, bytes.size() - 1), "X" + bytes}) {
    std::istringstream in(broken);
    CHECK_THROWS_AS((void)read_npy(in, "broken"), Error);
  }
}

TEST_CASE("npy: a file appears whole or not at all") {
  const auto folder = std::filesystem::temp_directory_path() / "napkin_test_npy";
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(save_npy((folder / "t.npy").string(), filled({2}, 1)), Error);
  std::filesystem::create_directories(folder);
  save_npy((folder / "t.npy").string(), filled({2}, 1));
  save_npy((folder / "t.npy").string(), filled({3}, 2));
  std::ifstream in(folder / "t.npy", std::ios::binary);
  CHECK(read_npy(in, "t") == filled({3}, 2));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("dumps: one file for each tile of each iteration") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 5}, {"x", 7}, {"d", 2}});
  const Streamed s = derive(d);
  const auto folder = std::filesystem::temp_directory_path() / "napkin_test_dump";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  RunOptions options;
  options.observer = dump_into(folder.string());
  options.observed = {"P", "O"};
  const Partition p = make_partition(s, problem.sizes, {{"q", 3}, {"x", 4}}, "");
  const Run run = run_streamed(s, problem, p, random_inputs(d, problem.sizes, 8), options);
  CHECK(std::filesystem::exists(folder / "P.g0_0_0_1.i1.npy"));
  std::ifstream in(folder / "O.g0_0_0_1.tail.npy", std::ios::binary);
  const Tensor last = read_npy(in, "O");
  CHECK(last.shape == std::vector<std::int64_t>{1, 1, 1, 2, 2});
  CHECK(slice(last, 0, 4) == slice(run.outputs.at("O"), 6, 4));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 4 + 4 + 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("backward: the last chunk comes first, under its own number; results and counts stay") {
  const Diagram d = load_diagram("attention");
  const Streamed s = derive(d);
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}}) {
    const Problem problem = problem_of(d, {{"h", 2}, {"q", 5}, {"x", 11}, {"d", 2}}, mask);
    const Tensors inputs = random_inputs(d, problem.sizes, 8);
    const Partition p = make_partition(s, problem.sizes, {{"q", 3}, {"x", 4}}, "");
    RunOptions options;
    options.nested = {{"inner", make_partition(s, problem.sizes, {{"q", 2}, {"x", 3}}, "")}};
    const Run forward = run_streamed(s, problem, p, inputs, options);
    options.backward = true;
    const Run backward = run_streamed(s, problem, p, inputs, options);
    CHECK(difference(forward.outputs.at("O"), backward.outputs.at("O")) < 1e-14);
    CHECK(forward.counts.levels[0].loaded() == backward.counts.levels[0].loaded());
    CHECK(forward.counts.levels[1].peak == backward.counts.levels[1].peak);
  }
  // One row, three keys in chunks of one: mu of chunk 0 is the largest score, mu of chunk 2 the last one's.
  const Problem problem = problem_of(d, {{"q", 1}, {"x", 3}, {"d", 1}});
  const Tensors inputs{
      {"Q", filled({1, 1, 1, 1, 1}, 1)}, {"K", {{1, 1, 3, 1}, {7, 5, 3}}}, {"V", filled({1, 1, 3, 1}, 1)}};
  std::vector<double> mu(3);
  RunOptions options;
  options.backward = true;
  options.observed = {"mu"};
  options.observer = [&](const Observation& seen) {
    mu[static_cast<std::size_t>(seen.iteration)] = seen.tensor.data[0];
  };
  static_cast<void>(
      run_streamed(s, problem, make_partition(s, problem.sizes, {{"q", 1}, {"x", 1}}, ""), inputs, options));
  CHECK(mu == std::vector<double>{7, 5, 3});  // and not {7, 7, 7}
}

TEST_CASE("a check keeps the tile, the ragged ends and the mask, and shrinks the rest") {
  const Diagram d = load_diagram("attention");
  const Streamed s = derive(d);
  const Problem problem =
      problem_of(d, {{"b", 4}, {"h", 16}, {"q", 16384}, {"x", 16384}, {"d", 128}}, {Mask::Kind::causal, 0, 0});
  const Partition p = make_partition(s, problem.sizes, {{"q", 128}, {"x", 176}}, "");
  const CheckResult result = check(s, problem, p);
  CHECK(result.partition.chunk == Count(176));
  CHECK(result.partition.group[static_cast<std::size_t>(d.axis("q"))] == Count(128));
  const auto size = [&](const char* name) { return result.problem.sizes[static_cast<std::size_t>(d.axis(name))]; };
  CHECK(size("q") == Count(3 * 128));
  // one chunk more than asked for, as there must be as many keys as queries
  CHECK(size("x") == Count(3 * 176 + 16384 % 176));
  CHECK(size("h") == Count(3));
  CHECK(result.outputs_agree);
  const LevelCounts& low = result.counts.levels[0];
  CHECK(low.peak == memory_live(s, result.partition).value);
  CHECK(low.loaded() + low.stored() == transfer(s, result.problem, result.partition).total().value);
}

namespace {

constexpr const char* joined_arrays = R"yaml(algorithm: joined
axes: {y: , a: 512, n: , d: }
inputs: ["A[a: y, d]", "B[n: y - 512, d]"]
operations: ["J[y,d] = add (A, B)"]
outputs: [J]
)yaml";

}  // namespace

TEST_CASE("arrays that are joined along an axis lie behind one another, and their rows move once") {
  const Diagram d = parse_diagram(joined_arrays, "joined.yaml");
  const std::int64_t rows = 520, width = 3;
  const Problem problem = problem_of(d, {{"y", rows}, {"n", rows - 512}, {"d", width}});
  const Tensors inputs = random_inputs(d, problem.sizes, 3);
  std::vector<double> both = inputs.at("A").data;
  const std::vector<double>& behind = inputs.at("B").data;
  both.insert(both.end(), behind.begin(), behind.end());
  const Streamed s = derive(d);
  for (const std::int64_t chunk : {1, 100, 512, 520}) {
    const Partition p = make_partition(s, problem.sizes, {{"y", chunk}, {"d", width}}, "");
    const Run run = run_streamed(s, problem, p, inputs);
    CHECK(run.outputs.at("J").data == both);
    CHECK(run.counts.levels[0].loaded() == Count(rows * width));
    CHECK(transfer(s, problem, p).load.value == Count(rows * width));
  }
}

TEST_CASE("a check keeps an axis so long that it reaches the second of two joined arrays, if that is little work") {
  const Diagram d = parse_diagram(joined_arrays, "joined.yaml");
  const Streamed s = derive(d);
  const Problem problem = problem_of(d, {{"y", 4096}, {"n", 4096 - 512}, {"d", 64}});
  const Partition p = make_partition(s, problem.sizes, {{"y", 16}, {"d", 8}}, "");
  const auto y = static_cast<std::size_t>(d.axis("y"));
  const CheckResult result = check(s, problem, p);
  CHECK(result.outputs_agree);
  CHECK(result.problem.sizes[y] > Count(512));
  CHECK(result.counts.levels[0].loaded() == transfer(s, result.problem, result.partition).load.value);
  CHECK(scaled_down(s, problem, p, {1e4, 3}).first.sizes[y] < Count(512));
}

TEST_CASE("a check of something enormous stays small; windows shrink with it") {
  const Diagram d = load_diagram("attention");
  const Streamed s = derive(d);
  const Problem problem =
      problem_of(d, {{"q", 1 << 20}, {"x", 1 << 20}, {"d", 4096}}, {Mask::Kind::window, 1 << 17, INT64_MAX});
  const Partition p = make_partition(s, problem.sizes, {{"q", 1 << 18}, {"x", 1 << 15}}, "");
  const auto [small, tile] = scaled_down(s, problem, p, {1e7, 3});
  double values = 1;
  for (const char* name : {"q", "x", "d"})
    values *= static_cast<double>(small.sizes[static_cast<std::size_t>(d.axis(name))]);
  CHECK(values < 4e7);
  CHECK(small.mask.left < (1 << 17));
  const CheckResult result = check(s, problem, p, {1e7, 3});
  CHECK(result.outputs_agree);
  CHECK(result.counts.levels[0].peak == memory_live(s, result.partition).value);
  CHECK(result.counts.levels[0].loaded() == transfer(s, result.problem, result.partition).load.value);
}

}  // namespace test_run
