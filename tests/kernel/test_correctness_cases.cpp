// Checks, without a GPU, of the list of cases for every bundled kernel.
#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <set>

#include "tests/emulator/backward_cases.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/decode_cases.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/picks.hpp"
#include "tests/kernel/product_cases.hpp"

namespace test_correctness_cases {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("the list is the same on every run, alone and among the others, with 200 cases of each kernel") {
  std::map<std::string, std::vector<std::string>> together;
  for (const auto& one : test::correctness_cases()) together[one.kernel].push_back(test::describe_case(one).dump());
  for (const char* kernel : {"attention_sm90", "attention_sm80", "attention_wide_sm90", "matmul_sm90"}) {
    CAPTURE(kernel);
    std::vector<std::string> alone;
    for (const auto& one : test::correctness_cases(kernel)) alone.push_back(test::describe_case(one).dump());
    CHECK(alone.size() >= 200);
    CHECK(alone == together[kernel]);
  }
}

namespace {

/// What the lists hold each kernel to: how many cases have a knob that does not divide its axis, and the pairs of the
/// tile's heads and the group's.
struct Held {
  std::map<std::string, int> undivided;
  std::set<std::pair<std::int64_t, std::int64_t>> heads;

  void add(const test::Shape& shape, const test::Knobs& tile) {
    for (const std::string& knob : test::undivided(shape, tile)) ++undivided[knob];
    for (const auto& [axis, size] : shape) {
      if (axis == "g") heads.emplace(test::packed_heads(tile), size);
    }
  }
};

std::map<std::string, Held> hold_all() {
  std::map<std::string, Held> out;
  for (const auto& one : test::correctness_cases()) out[one.kernel].add(one.shape, one.tile);
  for (const auto& one : test::product_cases()) out[one.kernel].add(one.shape, one.tile);
  const auto add = [&](const std::string& kernel, const auto& cases, const auto& sizes_of) {
    for (const auto& one : cases) out[kernel].add(test::shape_of(sizes_of(one)), one.tile);
  };
  const auto sizes = [](const test::DecodeCase& one) { return one.sizes; };
  const auto layout = [](const auto& one) { return one.layout.sizes; };
  add("attention_decode_sm90", test::decode_cases(22), sizes);
  add("attention_decode_sm90", test::cases_of_undivided_groups(), sizes);
  add("attention_fp8_sm90", test::fp8_cases(21), layout);
  add("attention_fp8_sm90", test::fp8_cases_of_undivided_groups(), layout);
  add("attention_backward_sm90", test::backward_cases_of_groups(), layout);
  std::size_t number = 0;
  for (const auto& c : test::backward_configurations()) {
    for (int i = 0; i < 12; ++i, number += 5) {
      const test::BackwardCase one = test::small_case(c, number);
      out["attention_backward_sm90"].add(test::shape_of(one.layout.sizes), one.tile);
    }
  }
  return out;
}

const std::map<std::string, Held>& all_held() {
  static const std::map<std::string, Held> all = hold_all();
  return all;
}

}  // namespace

TEST_CASE("each kernel has cases of every knob that does not divide its axis") {
  const std::map<std::string, std::vector<std::string>> knobs = {
      {"attention_sm90", {"g", "q", "x"}},     {"attention_wide_sm90", {"g", "q", "x"}},
      {"attention_sm80", {"q", "x"}},          {"attention_decode_sm90", {"g", "q", "x", "shared.x"}},
      {"attention_fp8_sm90", {"g", "q", "x"}}, {"attention_backward_sm90", {"q", "x"}},
      {"matmul_sm90", {"a", "b", "c"}},        {"matmul_fp8_sm90", {"a", "b", "c"}}};
  const std::map<std::string, Held>& held = all_held();
  for (const auto& [kernel, names] : knobs) {
    for (const std::string& knob : names) {
      const auto found = held.at(kernel).undivided.find(knob);
      const int count = found == held.at(kernel).undivided.end() ? 0 : found->second;
      std::printf("%s: %d cases of a tile whose %s does not divide\n", kernel.c_str(), count, knob.c_str());
      CHECK_MESSAGE(count >= 20, kernel << " " << knob);
    }
    if (kernel.starts_with("matmul")) continue;
    for (const std::int64_t g : test::undivided_groups) {
      const bool any = std::any_of(held.at(kernel).heads.begin(), held.at(kernel).heads.end(),
                                   [&](const auto& pair) { return pair.second == g; });
      CHECK_MESSAGE(any, kernel << " in groups of " << g);
    }
  }
}

TEST_CASE("the tiles that select answers for groups of heads are among the cases") {
  const std::map<std::string, Held>& held = all_held();
  const auto asked = [&](std::int64_t g, std::int64_t rows, std::int64_t d, const Mask& mask) {
    Ask ask;
    ask.algorithm = "attention";
    ask.gpu = "h100-sxm";
    ask.kernel = "attention_sm90";
    ask.shape = test::shape_of({2, 2, g, rows, 2 * rows, d, d});
    ask.mask = mask;
    for (const test::Pick& pick : test::ranked(ask, 1)) {
      CAPTURE(d);
      CAPTURE(rows);
      const auto pair = std::pair(test::packed_heads(pick.tile), g);
      // A tile of one head divides every group.
      CHECK_MESSAGE((pair.first == 1 || held.at("attention_sm90").heads.contains(pair)),
                    pair.first << " heads of " << g << " query heads");
    }
  };
  for (const std::int64_t g : test::undivided_groups) {
    for (const std::int64_t d : {64, 128, 256}) {
      asked(g, 113, d, {});
      asked(g, 512, d, {Mask::Kind::causal, 0, 0});
    }
  }
}

TEST_CASE("the draws are the standard's, which every library has to make alike") {
  test::correctness::Draws draws(std::mt19937_64::default_seed);
  std::int64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = draws.below(1'000'000'007);
  CHECK(last == 9981545732273789042ULL % 1'000'000'007);  // [rand.predef]: the 10000th of mt19937_64
}

}  // namespace test_correctness_cases
