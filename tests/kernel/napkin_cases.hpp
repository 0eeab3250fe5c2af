#pragma once
// A NapkinCase is a question of napkin_fp8_sm90, and its configurations are those of tests/kernel/bytes_cases.hpp.

#include "kernels/reference/napkin_fp8_data.hpp"
#include "tests/kernel/bytes_cases.hpp"

namespace napkin::internal::test {

struct NapkinCase : BytesCase {};

/// Returns the number of keys whose outputs are summed before they are rounded.
inline std::int64_t summed_keys(const NapkinCase& one) {
  for (const auto& [knob, value] : one.tile) {
    if (knob == "u_x") return std::stoll(value);
  }
  return NapkinArrays::least_subloop;
}

inline std::unique_ptr<LaidOut> lay_out(const NapkinCase& one) { return lay_out(one, "napkin_fp8_sm90"); }
inline NapkinArrays arrays_of(const NapkinCase& one) { return NapkinArrays(one.layout, summed_keys(one)); }

/// Returns the plan of the case's variant, without its arrays.
inline LaunchPlan variant_of(const NapkinCase& one, bool counting = false) {
  AttentionCall call = call_without_arrays(one, counting);
  call.halves = true;
  return napkin_fp8_sm90_plan(lay_out(one)->place(one.tile), call, {3, Bytes(1 << 20)});
}

inline std::vector<BytesConfiguration> napkin_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 70, 0};
  const auto tile = [](const char* warpgroups, const char* q, const char* x, const char* u_x, const char* d_block,
                       const char* d_step, const char* accumulate = "f16") {
    return Knobs{{"warpgroups", warpgroups}, {"q", q}, {"x", x}, {"u_x", u_x}, {"d_block", d_block}, {"d_step", d_step},
                 {"accumulate", accumulate}};
  };
  return {{128, none, tile("3", "384", "64", "64", "32", "8")},
          {128, causal, tile("3", "384", "64", "64", "64", "16")},
          {128, window, tile("3", "384", "64", "32", "32", "32")},
          {128, none, tile("2", "256", "128", "128", "64", "32")},
          {128, causal, tile("2", "256", "64", "32", "128", "8"), true},
          {128, causal, tile("2", "256", "64", "64", "32", "8", "f32"), false, 0.5},
          {128, none, tile("1", "128", "32", "32", "16", "16"), false, 0.5},
          {64, none, tile("3", "384", "64", "16", "16", "8")},
          {64, causal, tile("3", "384", "32", "16", "64", "32"), true},
          {64, window, tile("2", "256", "128", "32", "16", "8", "f32")},
          {64, causal, tile("1", "128", "128", "128", "64", "16", "f32")}};
}

/// Returns the `number`-th shape of a configuration; some have rows that see no key.
inline NapkinCase napkin_case(const BytesConfiguration& c, std::size_t number) {
  NapkinCase one{{numbered_layout(c, number, 500), c.tile}};
  AttentionLayout& l = one.layout;
  add_heads(l, number);
  if (l.sizes.x < 1000 && l.sizes.q < 300 && number % 4 == 2) l.sizes.g = 5;
  if (number == 13) l.sizes.q = 3, l.sizes.x = 4097;
  if (c.packed) pack(l);
  return one;
}

/// `count` shapes of each configuration.
inline std::vector<NapkinCase> napkin_cases(std::size_t count) {
  return cases_of(napkin_configurations(), count, napkin_case);
}

}  // namespace napkin::internal::test
