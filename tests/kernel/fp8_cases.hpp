#pragma once
// An Fp8Case is a question of attention_fp8_sm90: odd sizes, masks, grouped heads, rows that see nothing, packed
// sequences, scales of heads and of blocks. A configuration is one compiled variant and runs on a few shapes in turn.

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/reference/attention_fp8_data.hpp"
#include "model/resource/plan.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"

namespace napkin::test {

struct Fp8Case {
  AttentionLayout layout;
  Fp8Scales scales = Fp8Scales::none;
  Knobs tile;
};

inline std::string describe(const Fp8Case& one) {
  const AttentionLayout& l = one.layout;
  std::string out = text_of(l.mask);
  for (const auto& [name, value] : shape_of(l.sizes)) out += " " + name + "=" + std::to_string(value);
  for (const auto& [name, value] : one.tile) out += " " + name + "=" + value;
  if (l.heads_first) out += " heads first";
  out += " gap=" + std::to_string(l.gap) + " deviation=" + std::to_string(l.deviation);
  for (const std::int32_t length : l.q_lengths) out += " " + std::to_string(length);
  return out;
}

inline std::unique_ptr<LaidOut> lay_out(const Fp8Case& one) {
  return std::make_unique<LaidOut>("attention_fp8_sm90", "h200-sxm", shape_of(one.layout.sizes), DType::e4m3,
                                   one.layout.mask);
}

/// The variant that a case runs, without its arrays.
inline LaunchPlan variant_of(const Fp8Case& one, bool counting = false) {
  constexpr std::uint64_t somewhere = 4096;
  AttentionCall call;
  call.q.address = call.k.address = call.v.address = call.o.address = call.ticket = somewhere;
  if (counting) call.cycles = somewhere;
  if (!one.layout.q_lengths.empty()) {
    call.q_starts = call.x_starts = somewhere;
    call.q_rows = call.x_rows = 64;
  }
  return attention_fp8_sm90_plan(lay_out(one)->place(one.tile), call, {3, Bytes(1 << 20)});
}

struct Fp8Configuration {
  std::int64_t d;
  Mask mask;
  Knobs tile;
  bool packed = false;
  double deviation = 1;
};

inline std::vector<Fp8Configuration> fp8_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 70, 0};
  const auto tile = [](const char* warpgroups, const char* g, const char* q, const char* x, const char* stages,
                       const char* q_stages, const char* pingpong, const char* order, const char* scales = "tensor",
                       const char* accumulate = "chunk") {
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
          {64, none, tile("2", "1", "128", "192", "2", "1", "on", "longest_first"), false, 3},
          {64, causal, tile("3", "1", "192", "96", "3", "2", "on", "persistent")},
          {64, window, tile("3", "4", "48", "64", "2", "1", "off", "longest_first", "block"), false, 4},
          {64, none, tile("2", "1", "128", "192", "2", "1", "off", "persistent"), true},
          {256, none, tile("2", "1", "128", "64", "2", "1", "on", "longest_first", "tensor", "running")},
          {256, causal, tile("2", "16", "8", "96", "2", "1", "off", "persistent", "tensor", "running")}};
}

/// The `number`-th shape of a configuration, among them rows that see nothing.
inline Fp8Case fp8_case(const Fp8Configuration& c, std::size_t number) {
  constexpr std::int64_t sizes[] = {1, 7, 65, 200, 1000, 130, 257}, queries[] = {65, 1, 200, 7, 300},
                         heads[] = {1, 5, 2, 8};
  Fp8Case one;
  AttentionLayout& l = one.layout;
  l.sizes = {1, 1, 1, queries[number % 5], sizes[number % 7], c.d, c.d};
  const auto knob = [&](const std::string& name) {
    return std::find_if(c.tile.begin(), c.tile.end(), [&](const auto& pair) { return pair.first == name; })->second;
  };
  if (knob("g") != "1") l.sizes.g = heads[number % 4];
  if (l.sizes.x < 1000 && l.sizes.q * l.sizes.g < 300) {
    l.sizes.h = number % 3 + 1;
    l.sizes.b = number % 5 == 3 ? 2 : 1;
  }
  if (number == 20) l.sizes.q = 3, l.sizes.x = 4097;
  l.mask = c.mask;
  l.deviation = c.deviation;
  l.heads_first = number % 4 == 1;
  l.gap = number % 3 == 2 ? 32 : 0;
  l.log_sum_exp = number % 11 != 10;
  l.seed = number + 1;
  one.tile = c.tile;
  one.scales = knob("scales") == "block" ? Fp8Scales::block : number % 2 == 0 ? Fp8Scales::none : Fp8Scales::head;
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

/// Groups of query heads that a tile's heads do not divide.
inline std::vector<Fp8Case> fp8_cases_of_undivided_groups() {
  std::vector<Fp8Case> out;
  for (const Fp8Configuration& c : fp8_configurations()) {
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
inline std::vector<Fp8Case> fp8_cases(std::size_t count) {
  std::vector<Fp8Case> out;
  for (const Fp8Configuration& c : fp8_configurations()) {
    for (std::size_t made = 0; made < count; ++made) out.push_back(fp8_case(c, made));
  }
  return out;
}

}  // namespace napkin::test
