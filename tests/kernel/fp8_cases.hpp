#pragma once
// An Fp8Case is a question of attention_fp8_sm90: a BytesCase, with grouped heads and scales of heads and of blocks.

#include "kernels/reference/attention_fp8_data.hpp"
#include "tests/kernel/bytes_cases.hpp"

namespace napkin::internal::test {

struct Fp8Case : BytesCase {
  Fp8Scales scales = Fp8Scales::none;
};

inline std::unique_ptr<LaidOut> lay_out(const Fp8Case& one) { return lay_out(one, "attention_fp8_sm90"); }
inline Fp8Arrays arrays_of(const Fp8Case& one) { return Fp8Arrays(one.layout, one.scales); }

/// Returns the plan of the case's variant, without its arrays.
inline LaunchPlan variant_of(const Fp8Case& one, bool counting = false) {
  AttentionCall call = call_without_arrays(one, counting);
  if (one.layout.log_sum_exp) call.log_sum_exp = call.q.address;
  return attention_fp8_sm90_plan(lay_out(one)->place(one.tile), call, {3, Bytes(1 << 20)});
}

inline std::vector<BytesConfiguration> fp8_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 70, 0};
  const auto tile = [](const char* warpgroups, const char* g, const char* q, const char* x, const char* stages,
                       const char* q_stages, const char* pingpong, const char* order, const char* scales = "tensor",
                       const char* accumulate = "with_sums") {
    return Knobs{{"warpgroups", warpgroups},
                 {"g", g},
                 {"q", q},
                 {"x", x},
                 {"stages", stages},
                 {"q_stages", q_stages},
                 {"pingpong", pingpong},
                 {"order", order},
                 {"scales", scales},
                 {"accumulate", accumulate}};
  };
  return {{128, none, tile("2", "1", "128", "128", "2", "1", "on", "longest_first")},
          {128, causal, tile("2", "1", "128", "128", "2", "2", "on", "longest_first"), false, 2},
          {128, none, tile("2", "1", "128", "128", "2", "1", "on", "persistent", "block")},
          {128, causal, tile("2", "8", "16", "64", "3", "1", "off", "longest_first", "block")},
          {128, window, tile("2", "2", "64", "96", "2", "1", "on", "persistent")},
          {128, causal, tile("2", "4", "32", "96", "2", "1", "off", "longest_first"), true},
          {128, causal, tile("2", "1", "128", "128", "2", "2", "off", "longest_first", "tensor", "chunk")},
          {64, none, tile("2", "1", "128", "192", "2", "1", "on", "longest_first"), false, 3},
          {64, causal, tile("3", "1", "192", "96", "3", "2", "on", "persistent")},
          {64, window, tile("3", "4", "48", "64", "2", "1", "off", "longest_first", "block"), false, 4},
          {64, window, tile("3", "4", "48", "64", "2", "1", "off", "longest_first", "block", "chunk"), false, 2},
          {64, none, tile("2", "1", "128", "192", "2", "1", "off", "persistent"), true},
          {256, none, tile("2", "1", "128", "64", "2", "1", "on", "longest_first", "tensor", "running")},
          {256, causal, tile("2", "16", "8", "96", "2", "1", "off", "persistent", "tensor", "running")}};
}

/// Returns the `number`-th shape of a configuration; some have rows that see no key.
inline Fp8Case fp8_case(const BytesConfiguration& c, std::size_t number) {
  constexpr std::int64_t heads[] = {1, 5, 2, 8};
  const auto knob = [&](const std::string& name) {
    return std::find_if(c.tile.begin(), c.tile.end(), [&](const auto& pair) { return pair.first == name; })->second;
  };
  Fp8Case one{{numbered_layout(c, number, 300), c.tile}};
  AttentionLayout& l = one.layout;
  if (knob("g") != "1") l.sizes.g = heads[number % 4];
  add_heads(l, number);
  l.log_sum_exp = number % 2 == 1;  // with one P is summed in another way
  if (number == 20) l.sizes.q = 3, l.sizes.x = 4097;
  one.scales = knob("scales") == "block" ? Fp8Scales::block : number % 2 == 0 ? Fp8Scales::none : Fp8Scales::head;
  if (c.packed) pack(l);
  return one;
}

/// Groups of query heads that a tile's heads do not divide.
inline std::vector<Fp8Case> fp8_cases_of_undivided_groups() {
  std::vector<Fp8Case> out;
  for (const BytesConfiguration& c : fp8_configurations()) {
    for (const std::int64_t g : undivided_groups) {
      if (g % packed_heads(c.tile) == 0) continue;
      Fp8Case one = fp8_case(c, out.size());
      one.layout.sizes.h = 2;
      one.layout.sizes.g = g;
      one.layout.log_sum_exp = true;
      if (!c.packed) one.layout.sizes.q = 7, one.layout.sizes.x = 70;
      if (c.packed) one.layout.q_lengths = {5, 0, 33, 17}, one.layout.sizes.q = 33;
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// `count` shapes of each configuration.
inline std::vector<Fp8Case> fp8_cases(std::size_t count) { return cases_of(fp8_configurations(), count, fp8_case); }

}  // namespace napkin::internal::test
