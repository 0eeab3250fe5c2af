#pragma once
// A NapkinCase is a question of napkin_fp8_sm90: odd sizes, masks, groups of heads, rows that see nothing, packed
// sequences. A configuration is one compiled variant and runs on a few shapes in turn.

#include <string>
#include <vector>

#include "kernels/reference/napkin_fp8_data.hpp"
#include "model/resource/plan.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"

namespace napkin::test {

struct NapkinCase {
  AttentionLayout layout;
  Knobs tile;
};

inline std::string describe(const NapkinCase& one) {
  const AttentionLayout& l = one.layout;
  std::string out = text_of(l.mask);
  for (const auto& [name, value] : shape_of(l.sizes)) out += " " + name + "=" + std::to_string(value);
  for (const auto& [name, value] : one.tile) out += " " + name + "=" + value;
  if (l.heads_first) out += " heads first";
  out += " gap=" + std::to_string(l.gap) + " deviation=" + std::to_string(l.deviation);
  for (const std::int32_t length : l.q_lengths) out += " " + std::to_string(length);
  return out;
}

/// Keys whose outputs are summed before they are rounded.
inline std::int64_t summed_keys(const NapkinCase& one) {
  for (const auto& [knob, value] : one.tile) {
    if (knob == "u_x") return std::stoll(value);
  }
  return NapkinArrays::least_subloop;
}

inline std::unique_ptr<LaidOut> lay_out(const NapkinCase& one) {
  return std::make_unique<LaidOut>("napkin_fp8_sm90", "h200-sxm", shape_of(one.layout.sizes), DType::e4m3,
                                   one.layout.mask);
}

/// The variant that a case runs, without its arrays.
inline LaunchPlan variant_of(const NapkinCase& one, bool counting = false) {
  constexpr std::uint64_t somewhere = 4096;
  AttentionCall call;
  call.q.address = call.k.address = call.v.address = call.o.address = somewhere;
  call.halves = true;
  if (counting) call.cycles = somewhere;
  if (!one.layout.q_lengths.empty()) {
    call.q_starts = call.x_starts = somewhere;
    call.q_rows = call.x_rows = 64;
  }
  return napkin_fp8_sm90_plan(lay_out(one)->place(one.tile), call, {3, Bytes(1 << 20)});
}

struct NapkinConfiguration {
  std::int64_t d;
  Mask mask;
  Knobs tile;
  bool packed = false;
  double deviation = 1;
};

inline std::vector<NapkinConfiguration> napkin_configurations() {
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

/// The `number`-th shape of a configuration, among them rows that see nothing.
inline NapkinCase napkin_case(const NapkinConfiguration& c, std::size_t number) {
  constexpr std::int64_t sizes[] = {1, 7, 65, 200, 1000, 130, 257}, queries[] = {65, 1, 200, 7, 500};
  NapkinCase one;
  AttentionLayout& l = one.layout;
  l.sizes = {1, 1, 1, queries[number % 5], sizes[number % 7], c.d, c.d};
  if (l.sizes.x < 1000 && l.sizes.q < 300) {
    l.sizes.h = static_cast<std::int64_t>(number % 3) + 1;
    l.sizes.g = number % 4 == 2 ? 5 : 1;
    l.sizes.b = number % 5 == 3 ? 2 : 1;
  }
  if (number == 13) l.sizes.q = 3, l.sizes.x = 4097;
  l.mask = c.mask;
  l.deviation = c.deviation;
  l.heads_first = number % 4 == 1;
  l.gap = number % 3 == 2 ? 32 : 0;
  l.log_sum_exp = number % 11 != 10;
  l.seed = number + 1;
  one.tile = c.tile;
  if (c.packed) {
    l.heads_first = false;
    const auto first = static_cast<std::int32_t>(l.sizes.q),
               second = static_cast<std::int32_t>(std::min<std::int64_t>(l.sizes.x, 257));
    l.q_lengths = {first, 0, 33, 17};
    l.x_lengths = {second, 7, 0, 129};
    l.sizes.b = 4;
    l.sizes.h = 1;
    l.sizes.q = std::max<std::int64_t>(first, 33);
    l.sizes.x = std::max<std::int64_t>(second, 129);
  }
  return one;
}

/// `count` shapes of each configuration.
inline std::vector<NapkinCase> napkin_cases(std::size_t count) {
  std::vector<NapkinCase> out;
  for (const NapkinConfiguration& c : napkin_configurations()) {
    for (std::size_t made = 0; made < count; ++made) out.push_back(napkin_case(c, made));
  }
  return out;
}

}  // namespace napkin::test
