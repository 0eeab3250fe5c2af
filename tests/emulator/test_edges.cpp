// The kernel waits as its mapping says: each edge between copies and products is found among the waits of a run, with
// any seed.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/backward_problem.hpp"
#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/running.hpp"
#include "tests/emulator/waits.hpp"

namespace test_edges {

namespace {

std::int64_t value_of(const Value& value, const Tile& tile) {
  return value.kind == Value::Kind::knob ? tile.values[static_cast<std::size_t>(value.knob)] : value.literal;
}

std::string text_of(const EdgeMapping& edge) {
  return edge.from + " -> " + edge.to + " distance " + std::to_string(edge.distance) + " agents " +
         std::to_string(edge.agents);
}

std::int64_t knob(const test::Knobs& tile, const std::string& name) {
  for (const auto& [own, value] : tile) {
    if (own == name) return std::stoll(value);
  }
  return 1;
}

/// Returns a variant with some tiles of seven chunks and a rest, for one SM.
std::optional<test::CorrectnessCase> longer(test::CorrectnessCase one) {
  const bool matmul = one.kernel.starts_with("matmul");
  if (knob(one.tile, "cluster") > 1 || one.mask.kind != Mask::Kind::none || !one.attention.q_lengths.empty())
    return std::nullopt;
  one.attention.deviation = 1;
  AttentionSizes& s = one.attention.sizes;
  if (!matmul && (s.g > 1 || knob(one.tile, "x") > 128)) return std::nullopt;
  s.b = s.h = 1;
  s.q = 3 * knob(one.tile, "q");
  s.x = 7 * knob(one.tile, "x") + 3;
  const std::int64_t parts = knob(one.tile, "split");  // parts of the contracted axis: each block has one
  one.matmul.sizes = {3 * knob(one.tile, "a"), 7 * parts * knob(one.tile, "b") + 16, knob(one.tile, "c")};
  one.matmul.gap = one.attention.gap = 0;
  one.shape = matmul ? test::Shape{{"a", one.matmul.sizes.a}, {"b", one.matmul.sizes.b}, {"c", one.matmul.sizes.c}}
                     : test::shape_of(s);
  return one;
}

/// The edges found in runs of several variants.
struct Found {
  std::map<std::string, std::int64_t> looked_for;
  std::set<std::string> within;  // edges that begin or end within a thread's own work
};

/// An array, a product that reads it, and how many copies of the array there are.
struct Buffer {
  std::string array, product;
  std::int64_t copies;
};

/// A question on one SM, and a run of it with a seed that leaves its trace and returns what went wrong.
struct Question {
  const PlacedDiagram& placed;
  std::int64_t chunks;  ///< of a tile
  std::vector<Buffer> buffers;
  std::function<std::string(std::uint64_t, emulator::Trace&)> run;
  std::vector<std::string> written{};  ///< arrays whose writes are recorded as separate events
};

/// Makes an empty trace of a question.
emulator::Trace empty_trace(const Question& question) {
  emulator::Trace out;
  out.reserve(4096);
  const PlacementReader read(question.placed);
  for (const std::string& array : question.written)
    out.arrays.push_back(static_cast<emulator::u32>(read.offset(array)));
  std::sort(out.arrays.begin(), out.arrays.end());
  return out;
}

/// Checks the edges of one question with five seeds.
template <class Named>
void look_for_edges(const Question& question, Found& found) {
  const PlacedDiagram& placed = question.placed;
  const std::string& kernel = placed.mapping->name;
  std::vector<bool> ahead(question.buffers.size());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    emulator::Trace trace = empty_trace(question);
    REQUIRE(question.run(seed, trace) == "");
    Named nodes(placed, trace);
    nodes.fill();
    const Waits waits(nodes, question.chunks);
    for (const EdgeMapping& edge : placed.mapping->edges) {
      if (!holds(edge.when, placed.tile)) continue;
      CAPTURE(seed);
      CAPTURE(text_of(edge));
      std::int64_t wrong = 0;
      const auto pairs = waits.check(edge, value_of(edge.tokens, placed.tile), wrong);
      if (!pairs) {
        found.within.insert(kernel + ": " + edge.from + " -> " + edge.to);
        continue;
      }
      found.looked_for[kernel + ": " + text_of(edge)] += *pairs;
      CHECK(wrong == 0);
    }
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      const Buffer& buffer = question.buffers[i];
      if (waits.runs_ahead(buffer.array, buffer.product, buffer.copies)) ahead[i] = true;
    }
  }
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    CAPTURE(question.buffers[i].array);
    CHECK(ahead[i]);
  }
}

/// Checks the edges of a kernel with one loop of eight chunks a tile; `first` and `second` are each an array and the
/// product that reads it.
template <class Problem>
void look_in_tiles(Problem& problem, const std::pair<const char*, const char*>& first,
                   const std::pair<const char*, const char*>& second, Found& found) {
  const std::int64_t stages = PlacementReader(problem.placed()).knob("stages");
  const auto run = [&](std::uint64_t seed, emulator::Trace& trace) {
    return problem.run(seed, 4, "", &trace).outcome.error;
  };
  look_for_edges<ForwardNodes>(
      {problem.placed(), 8, {{first.first, first.second, stages}, {second.first, second.second, stages}}, run}, found);
}

/// Checks that each edge was found. The others begin or end within a thread's own work, which needs no wait: its
/// instructions are in order, and an accumulator that is read before its product is done is a NaN.
void check_found(const Found& found, std::size_t at_least) {
  for (const auto& edge : found.looked_for) {
    CAPTURE(edge.first);
    CHECK(edge.second > 0);
  }
  for (const std::string& edge : found.within) {
    CAPTURE(edge);
    const bool piece = edge.find('.') != std::string::npos;
    CHECK(piece);
  }
  CHECK(found.looked_for.size() >= at_least);
}

}  // namespace

TEST_CASE("edges of the mappings are waits of the kernels") {
  Found found;
  for (const auto& [expression, variant] : test::variant_cases()) {
    if (variant.kernel == "attention_sm80") continue;
    const auto one = longer(variant);
    if (!one || !test::correctness::is_legal(*one)) continue;
    CAPTURE(test::describe_case(*one).dump());
    test::EmulatedProblem problem(*one, 1);
    if (problem.plan().expression != expression) continue;
    if (one->kernel.starts_with("matmul"))
      look_in_tiles(problem, {"A", "C"}, {"B", "C"}, found);
    else
      look_in_tiles(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 30);
}

TEST_CASE("edges of attention_decode_sm90's mapping are its waits") {
  Found found;
  for (const test::DecodeConfiguration& c : test::decode_configurations()) {
    if (c.mask.kind != Mask::Kind::none) continue;
    test::DecodeCase one = test::decode_case(c, 0);
    one.sizes = {1, 1, 1, knob(c.tile, "q"), 7 * knob(c.tile, "x") + 3, c.d, c.dv};
    one.tile = c.tile;
    one.tile.emplace_back("shared.x", std::to_string(16 * knob(c.tile, "x")));
    one.deviation = 1;
    CAPTURE(test::describe(one));
    test::DecodeProblem problem(one);
    look_in_tiles(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 16);
}

TEST_CASE("edges of attention_fp8_sm90's mapping are its waits") {
  Found found;
  for (const test::BytesConfiguration& c : test::fp8_configurations()) {
    if (c.mask.kind != Mask::Kind::none || c.packed) continue;
    test::Fp8Case one = test::fp8_case(c, 0);
    AttentionSizes& s = one.layout.sizes;
    s = {1, 1, 1, 3 * knob(c.tile, "q"), 7 * knob(c.tile, "x") + 3, c.d, c.d};
    one.layout.deviation = 1;
    CAPTURE(test::describe(one));
    test::Fp8Problem problem(one, 1);
    look_in_tiles(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 16);
  for (const std::string& edge : found.within) {
    CAPTURE(edge);
    const bool turns = edge.find("O.turn") != std::string::npos;
    CHECK(!turns);
  }
}

namespace {

constexpr std::int64_t napkin_chunks = 8;

/// Makes a question of one tile and of seven chunks and a rest, without a mask.
test::NapkinCase longer_napkin(const test::BytesConfiguration& c) {
  test::NapkinCase one = test::napkin_case(c, 0);
  AttentionSizes& s = one.layout.sizes;
  s = {1, 1, 1, knob(c.tile, "q"), (napkin_chunks - 1) * knob(c.tile, "x") + 3, c.d, c.d};
  one.layout.mask = {};
  one.layout.deviation = 1;
  return one;
}

Question question_of(test::NapkinProblem& problem) {
  const bool single = PlacementReader(problem.placed()).word("accumulate") == "f32";
  const auto run = [&problem](std::uint64_t seed, emulator::Trace& trace) {
    return problem.run(seed, 4, "", &trace).outcome.error;
  };
  return {problem.placed(),
          napkin_chunks,
          {{"K", NapkinNodes::of_chunk("S", true), 2}, {"V", NapkinNodes::of_chunk("O", true), 2}},
          run,
          {"Q", "K", "V", "P", single ? "dO_f32" : "dO"}};
}

}  // namespace

TEST_CASE("edges of napkin_fp8_sm90's mapping are its waits") {
  Found found;
  for (const test::BytesConfiguration& c : test::napkin_configurations()) {
    if (c.mask.kind != Mask::Kind::none || c.packed) continue;
    const test::NapkinCase one = longer_napkin(c);
    CAPTURE(test::describe(one));
    test::NapkinProblem problem(one, 1);
    look_for_edges<NapkinNodes>(question_of(problem), found);
  }
  check_found(found, 10);
}

// The first scores do not wait for V, nor a chunk's for the products of the chunk before, and two copies are fewer than
// three.
TEST_CASE("an edge that napkin_fp8_sm90 has not is found out") {
  test::NapkinProblem problem(longer_napkin(test::napkin_configurations().front()), 1);
  const Question question = question_of(problem);
  EdgeMapping early, other;
  early.from = "load V";
  early.to = "S";
  other.from = "O";
  other.to = "S";
  std::int64_t wrong[2] = {0, 0};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    emulator::Trace trace = empty_trace(question);
    REQUIRE(question.run(seed, trace) == "");
    NapkinNodes nodes(problem.placed(), trace);
    nodes.fill();
    const Waits waits(nodes, napkin_chunks);
    CHECK(waits.check(early, 0, wrong[0]).value_or(0) > 0);
    CHECK(waits.check(other, 1, wrong[1]).value_or(0) > 0);
    CHECK(!waits.runs_ahead("K", NapkinNodes::of_chunk("S", true), 3));
  }
  CHECK(wrong[0] > 0);
  CHECK(wrong[1] > 0);
}

namespace {

constexpr std::int64_t backward_chunks = 9;

/// Returns a case of one tile of keys a block, whose loop visits nine tiles of queries. Under a causal mask all queries
/// see the first keys.
test::BackwardCase longer(const test::BackwardConfiguration& c) {
  test::BackwardCase one = test::small_case(c, 0);
  const std::int64_t q = backward_chunks * knob(c.tile, "q");
  one.layout.sizes = {1, 1, 1, q, q + knob(c.tile, "x"), c.d, c.dv};
  return one;
}

}  // namespace

TEST_CASE("edges of attention_backward_sm90's mapping are its waits") {
  Found found;
  for (const test::BackwardConfiguration& c : test::backward_configurations()) {
    if (c.mask.kind == Mask::Kind::window || c.packed || test::is_wide(c)) continue;
    test::BackwardProblem problem(longer(c));
    CAPTURE(problem.plans().gradients.expression);
    const auto run = [&](std::uint64_t seed, emulator::Trace& trace) { return problem.run(seed, "", &trace).error; };
    const std::vector<Buffer> buffers = {{"Q", "dK", knob(c.tile, "stages")}, {"dO", "dV", knob(c.tile, "o_stages")}};
    look_for_edges<BackwardNodes>({problem.placed(), backward_chunks, buffers, run}, found);
  }
  check_found(found, 26);
}

TEST_CASE("edges of attention_backward_wide_sm90's mapping are its waits") {
  Found found;
  for (const test::BackwardConfiguration& c : test::backward_configurations()) {
    if (c.mask.kind == Mask::Kind::window || c.packed || !test::is_wide(c)) continue;
    test::BackwardProblem problem(longer(c));
    CAPTURE(problem.plans().gradients.expression);
    const auto run = [&](std::uint64_t seed, emulator::Trace& trace) { return problem.run(seed, "", &trace).error; };
    const std::vector<Buffer> buffers = {{"Q", "dK", knob(c.tile, "stages")}, {"dO", "dV", knob(c.tile, "o_stages")}};
    look_for_edges<BackwardNodes>(
        {problem.placed(), backward_chunks, buffers, run, {"Q", "K", "V", "dO", "dS", "P_given"}}, found);
  }
  check_found(found, 19);
}

// The first scores do not wait for V, dV does not for the other warpgroup's dS, and two copies are fewer than three.
TEST_CASE("an edge that no wait of the kernel stands for is found out") {
  const test::BackwardConfiguration c = test::backward_configurations().front();
  test::BackwardProblem problem(longer(c));
  EdgeMapping early, other;
  early.from = "load V";
  early.to = "S";
  other.from = "dS.store";
  other.to = "dV";
  other.barrier = true;
  std::int64_t wrong[2] = {0, 0};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    emulator::Trace trace;
    trace.reserve(4096);
    REQUIRE(problem.run(seed, "", &trace).error == "");
    BackwardNodes nodes(problem.placed(), trace);
    nodes.fill();
    const Waits waits(nodes, backward_chunks);
    CHECK(waits.check(early, 0, wrong[0]).value_or(0) > 0);
    CHECK(waits.check(other, 0, wrong[1]).value_or(0) > 0);
    CHECK(!waits.runs_ahead("Q", "dK", 3));
  }
  CHECK(wrong[0] > 0);
  CHECK(wrong[1] > 0);
}

}  // namespace test_edges
