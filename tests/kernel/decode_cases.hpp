#pragma once
// A DecodeCase is a question of few queries for attention_decode_sm90: pages of every size, sequences of their own
// lengths, parts that end anywhere. A configuration is one compiled variant and runs on a few shapes in turn.

#include <string>
#include <vector>

#include "kernels/plans/attention.hpp"
#include "kernels/reference/reference.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"

namespace napkin::internal::test {

struct DecodeCase {
  AttentionSizes sizes;
  DType type = DType::bf16;
  Mask mask;
  Knobs tile;
  std::int64_t page = 0;              ///< keys of a page; 0: no pages
  std::vector<std::int32_t> lengths;  ///< number of keys of each sequence; empty: all have x
  bool heads_first = false;           ///< true for [page, h, key, d] and [b, head, q, d]
  bool log_sum_exp = true;
  double deviation = 1;
  std::uint64_t seed = 1;
  bool spare = false;  ///< true for an unused head after each row's heads, and an unused row after each head's rows
};

inline std::string describe(const DecodeCase& one) {
  const AttentionSizes& s = one.sizes;
  std::string out = std::string(name_of(one.type)) + " " + text_of(one.mask);
  for (const auto& [name, value] : shape_of(s)) out += " " + name + "=" + std::to_string(value);
  for (const auto& [name, value] : one.tile) out += " " + name + "=" + value;
  out += " page=" + std::to_string(one.page) + (one.heads_first ? " heads first" : "");
  for (const std::int32_t length : one.lengths) out += " " + std::to_string(length);
  return out;
}

inline std::unique_ptr<LaidOut> lay_out(const DecodeCase& one) {
  return std::make_unique<LaidOut>("attention_decode_sm90", "h200-sxm", shape_of(one.sizes), one.type, one.mask);
}

/// Returns the plan of the case's variant, without its arrays.
inline LaunchPlan variant_of(const DecodeCase& one) {
  const auto laid_out = lay_out(one);
  AttentionCall call;
  constexpr std::uint64_t somewhere = 4096;
  call.q.address = call.k.address = call.v.address = call.o.address = call.arrived = call.parts = somewhere;
  return attention_decode_sm90_plan(laid_out->place(one.tile), call, {3, Bytes(1 << 20)});
}

struct DecodeConfiguration {
  std::int64_t d, dv;
  DType type;
  Mask mask;
  Knobs tile;  ///< knobs without shared.x, on which no variant depends
  double deviation = 1;
};

inline std::vector<DecodeConfiguration> decode_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 70, 0};
  const auto tile = [](const char* warpgroups, const char* g, const char* q, const char* x, const char* stages,
                       const char* overlap, const char* rescale) {
    return Knobs{{"warpgroups", warpgroups}, {"g", g}, {"q", q}, {"x", x}, {"stages", stages}, {"overlap", overlap},
                 {"rescale", rescale}};
  };
  return {{64, 64, DType::bf16, none, tile("1", "1", "64", "64", "2", "on", "rarely")},
          {64, 64, DType::f16, none, tile("1", "8", "8", "128", "2", "on", "rarely"), 4},
          {128, 128, DType::bf16, none, tile("1", "8", "8", "64", "3", "on", "rarely")},
          {128, 128, DType::bf16, causal, tile("1", "4", "16", "128", "2", "off", "rarely")},
          {64, 64, DType::bf16, window, tile("1", "2", "32", "64", "3", "on", "always")},
          {64, 64, DType::f16, causal, tile("2", "8", "16", "64", "2", "on", "rarely"), 14},
          {128, 128, DType::f16, none, tile("2", "1", "128", "64", "1", "off", "always")},
          {96, 64, DType::bf16, none, tile("1", "16", "4", "32", "4", "on", "rarely")},
          {192, 128, DType::bf16, causal, tile("1", "16", "4", "64", "2", "on", "rarely")},
          {256, 256, DType::bf16, none, tile("1", "4", "16", "32", "2", "off", "rarely")},
          {40, 56, DType::bf16, none, tile("1", "8", "8", "64", "2", "on", "rarely")},
          {80, 72, DType::f16, causal, tile("1", "4", "16", "64", "2", "off", "rarely")},
          {112, 120, DType::bf16, none, tile("1", "8", "8", "64", "3", "on", "rarely")},
          {160, 104, DType::bf16, causal, tile("1", "16", "4", "64", "2", "on", "rarely")},
          {224, 200, DType::bf16, none, tile("1", "4", "16", "32", "2", "off", "rarely")}};
}

/// Returns the `number`-th shape of a configuration; some have rows that see no key, and pages that no row reads.
inline DecodeCase decode_case(const DecodeConfiguration& c, std::size_t number) {
  constexpr std::int64_t keys[] = {1, 7, 65, 130, 1000, 257, 4097}, queries[] = {1, 1, 3, 7, 1, 17, 65, 2},
                         heads[] = {8, 1, 5, 3, 7}, pages[] = {0, 16, 32, 64, 128, 256, 8};
  constexpr const char* parts[] = {"128", "256", "512", "384", "1024", "128", "4096"};
  DecodeCase one;
  AttentionSizes& s = one.sizes;
  s.x = keys[number % 7];
  s.q = queries[number % 8];
  s.g = heads[number % 5];
  s.b = number % 3 == 2 ? 3 : 1;
  s.h = number % 4 == 1 ? 2 : 1;
  if (s.x > 1000) s.b = s.h = 1;  // sizes that a CPU can repeat in reasonable time
  if (s.q * s.g > 200) s.g = 1;
  s.d = c.d;
  s.dv = c.dv;
  one.type = c.type;
  one.mask = c.mask;
  one.tile = c.tile;
  one.tile.emplace_back("shared.x", parts[number % 7]);
  one.page = pages[number / 2 % 7];
  one.heads_first = number % 5 == 3;
  one.log_sum_exp = number % 11 != 10;
  one.deviation = c.deviation;
  one.seed = number + 1;
  if (number % 3 != 0) {  // a sequence without a key, one of half, one of all
    for (std::int64_t i = 0; i < s.b; ++i)
      one.lengths.push_back(static_cast<std::int32_t>(i == 0 ? s.x : i == 1 ? 0 : (s.x + 1) / 2));
  }
  return one;
}

/// `count` shapes of each configuration whose tile is legal there.
inline std::vector<DecodeCase> decode_cases(std::size_t count) {
  std::vector<DecodeCase> out;
  std::size_t number = 0;
  for (const DecodeConfiguration& c : decode_configurations()) {
    for (std::size_t made = 0; made < count; ++made) out.push_back(decode_case(c, number++));
  }
  return out;
}

/// Groups of query heads that a tile's heads do not divide, in one part and in three, pages among them.
inline std::vector<DecodeCase> cases_of_undivided_groups() {
  std::vector<DecodeCase> out;
  for (const DecodeConfiguration& c : decode_configurations()) {
    for (const std::int64_t g : undivided_groups) {
      if (g % packed_heads(c.tile) == 0) continue;
      const std::size_t number = out.size();
      DecodeCase one = decode_case(c, 0);
      one.sizes = {1, 2, g, static_cast<std::int64_t>(number % 4 + 1), number % 2 == 0 ? 70 : 300, c.d, c.dv};
      one.tile.back() = {"shared.x", "128"};
      one.page = number % 3 == 2 ? 64 : 0;
      one.heads_first = number % 4 == 3;
      one.seed = number + 1;
      one.spare = true;
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// Returns tiles in more parts than a thread of the combining block loads at once, in pages and with a short sequence.
inline std::vector<DecodeCase> cases_of_many_parts() {
  std::vector<DecodeCase> out;
  for (const DecodeConfiguration& c : decode_configurations()) {
    for (const std::int64_t parts : {9, 16, 17, 35}) {
      DecodeCase one = decode_case(c, 0);
      one.sizes.x = 128 * parts - 3;
      one.sizes.g = 2;
      one.tile.back() = {"shared.x", "128"};
      one.page = parts == 16 ? 64 : 0;
      one.seed = static_cast<std::uint64_t>(parts);
      if (c.d == 64 || parts == 35) out.push_back(one);
    }
  }
  return out;
}

}  // namespace napkin::internal::test
