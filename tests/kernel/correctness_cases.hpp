#pragma once
// A CorrectnessCase is a case on which a bundled kernel is compared with float64: awkward sizes, masks, strides, packed
// lengths, types, tiles. The list is equal on every machine. A configuration is one compiled variant, with a random
// legal tile, and has a few shapes.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/bundled.hpp"
#include "kernels/reference/matmul_data.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"
#include "tests/support/setup.hpp"

namespace napkin::internal::test {

struct CorrectnessCase {
  std::string kernel;
  DType type = DType::bf16;
  Mask mask;
  Shape shape;
  Knobs tile;
  AttentionLayout attention;  ///< layout for the attention kernels
  MatmulLayout matmul;        ///< layout for the other kernels
};

namespace correctness {

/// Random numbers that are equal with every compiler, as std::uniform_int_distribution's are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }

 private:
  std::mt19937_64 engine_;
};

inline std::unique_ptr<LaidOut> lay_out(const CorrectnessCase& one) {
  return std::make_unique<LaidOut>(one.kernel, "h200-sxm", one.shape, one.type, one.mask);
}

/// Returns a random legal tile of the question with the values of the knobs in `fixed`.
inline Knobs legal_tile(const CorrectnessCase& one, const Knobs& fixed, Draws& draws) {
  const auto laid_out = lay_out(one);
  const Mapping& mapping = laid_out->mapping;
  Setup setup = setup_of(*laid_out);
  for (const auto& [name, value] : fixed) {
    const KnobId id = *mapping.find_knob(name);
    setup.fixed.emplace_back(id, parse_knob(mapping.knobs[static_cast<std::size_t>(id)], value, name));
  }
  const Space space = space_of(setup);
  const Rules rules(laid_out->streamed, mapping, laid_out->machine, laid_out->problem);
  for (int attempt = 0; attempt < 200000; ++attempt) {
    const Tile tile = space.tile(draws.below(space.candidates.get()));
    if (std::any_of(rules.tile.begin(), rules.tile.end(),
                    [&](const TileRule& rule) { return rule.check(tile).has_value(); }))
      continue;
    const PlacedDiagram placed = laid_out->placer->place(tile);
    if (violations(rules, placed, plan(placed)).empty()) return describe(mapping, tile);
  }
  throw Error(one.kernel, "has no legal tile for a correctness case");
}

/// Returns the plan of the case's variant, without its arrays.
inline LaunchPlan variant_of(const CorrectnessCase& one) {
  const auto laid_out = lay_out(one);
  const PlacedDiagram placed = laid_out->place(one.tile);
  const LaunchDevice device = launch_device(laid_out->machine);
  if (one.kernel.starts_with("matmul")) return find_bundled(one.kernel)->variant(placed, false, device);
  AttentionCall call;
  constexpr std::uint64_t somewhere = 4096;
  call.q.address = call.k.address = call.v.address = call.o.address = call.ticket = somewhere;
  if (one.attention.log_sum_exp) call.log_sum_exp = somewhere;
  if (!one.attention.q_lengths.empty()) {
    call.q_starts = call.x_starts = somewhere;
    call.q_rows = one.attention.sizes.q;
    call.x_rows = one.attention.sizes.x;
  }
  return attention_plan(placed, call, device);
}

/// Returns false if the number of blocks is no multiple of the cluster.
inline bool is_legal(const CorrectnessCase& one) {
  const auto laid_out = lay_out(one);
  const PlacedDiagram placed = laid_out->place(one.tile);
  return violations(placed, plan(placed)).empty();
}

/// Lists sizes with one row, parts of an instruction, parts of a tile, more and fewer keys than queries, and grouped
/// heads.
inline std::vector<AttentionSizes> attention_sizes() {
  std::vector<AttentionSizes> out;
  for (const std::int64_t q : {1, 7, 65, 1000, 4097}) {
    for (const std::int64_t x : {1, 7, 65, 1000, 4097}) out.push_back({1, q * x < 100000 ? 3 : 1, 1, q, x});
  }
  for (const auto& [q, x] : {std::pair{1, 1000}, {65, 300}, {500, 500}, {7, 65}, {1000, 4097}})
    out.push_back({2, 1, 8, q, x});
  return out;
}

struct AttentionConfiguration {
  std::int64_t d = 64, dv = 64;
  DType type = DType::bf16;
  Mask mask;
  bool packed = false, log_sum_exp = true;
  std::int64_t g = 1;  ///< query heads a key head in its shapes; 0: as in attention_sizes()
  Knobs fixed;
  double deviation =
      /// Standard deviation of the inputs: from 4 on maxima outgrow kept ones in each chunk, at 14 by more than exp2
      /// can represent.
      1;
};

/// Lists configurations of the kernel whose warpgroups divide O's columns: heads beyond 256, whole and padded.
inline std::vector<AttentionConfiguration> wide_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 30, 70};
  std::vector<AttentionConfiguration> out{{512, 512, DType::bf16, none, false, true, 0, {{"order", "persistent"}}},
                                          {512, 512, DType::bf16, causal, false, true, 0, {{"order", "longest_first"}}},
                                          {512, 512, DType::f16, window, false, false, 0, {{"order", "grid"}}},
                                          {512, 512, DType::bf16, none, true, true, 0, {{"overlap", "on"}}},
                                          {512, 512, DType::f16, causal, true, true, 0, {{"overlap", "off"}}},
                                          {512, 512, DType::bf16, causal, false, true, 8, {{"g", "8"}}},
                                          {512, 512, DType::bf16, none, false, true, 3, {{"g", "2"}}},
                                          {512, 512, DType::bf16, causal, false, true, 0, {{"rescale", "always"}}},
                                          {512, 512, DType::bf16, none, false, true, 0, {{"rescale", "rarely"}}, 14},
                                          {576, 512, DType::bf16, causal, false, true, 0, {{"x", "32"}}},
                                          {384, 384, DType::f16, none, false, true, 0, {{"stages", "3"}}},
                                          {512, 384, DType::bf16, none, false, true, 0, {{"stages", "1"}}},
                                          {320, 264, DType::bf16, causal, false, true, 0, {{"pingpong", "off"}}},
                                          {448, 400, DType::bf16, window, true, true, 0, {}},
                                          {520, 504, DType::f16, none, false, true, 0, {}},
                                          {512, 512, DType::f16, causal, false, true, 6, {{"g", "4"}}}};
  return out;
}

inline std::vector<AttentionConfiguration> attention_configurations(const std::string& kernel) {
  if (kernel == "attention_wide_sm90") return wide_configurations();
  const std::vector<std::pair<std::int64_t, std::int64_t>> heads{{64, 64},   {128, 128}, {96, 96},   {256, 256},
                                                                 {192, 128}, {64, 256},  {192, 192}, {128, 64}};
  const std::vector<Mask> masks{
      {}, {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 100, 0}, {Mask::Kind::window, 30, 70},
      {}, {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 0, 0}};
  std::vector<AttentionConfiguration> out;
  for (std::size_t i = 0; i < 42; ++i) {
    const auto& [d, dv] = heads[i % heads.size()];
    const bool packed = i % 5 == 4, sm90 = kernel == "attention_sm90";
    out.push_back({d, dv, i % 3 == 2 ? DType::f16 : DType::bf16, masks[i % masks.size()], packed, i % 11 != 10, 0, {}});
    if (packed && sm90) out.back().fixed = {{"cluster", "1"}};  // clusters need sequences of one length
  }
  if (kernel == "attention_sm90") {
    for (const char* g : {"2", "4", "8"}) out.push_back({128, 128, DType::bf16, masks[1], false, true, 8, {{"g", g}}});
    out.push_back({64, 64, DType::bf16, masks[0], false, true, 8, {{"g", "8"}}});
    for (const char* order : {"grid", "persistent", "longest_first"})
      out.push_back({64, 64, DType::f16, masks[1], false, true, 0, {{"order", order}}});
    for (const char* order : {"grid", "persistent"})
      out.push_back({128, 128, DType::bf16, masks[0], false, true, 0, {{"cluster", "2"}, {"order", order}}});
    for (const std::int64_t d : {64, 128, 256})
      out.push_back({d, d, DType::bf16, masks[d == 128 ? 1 : 0], false, true, 0, {{"rescale", "always"}}});
    for (const double deviation : {4., 14.}) {
      for (const DType type : {DType::bf16, DType::f16})
        out.push_back({64, 64, type, masks[0], false, true, 0, {{"rescale", "rarely"}}, deviation});
      for (const std::int64_t d : {128, 256})
        out.push_back({d, d, DType::bf16, masks[1], false, true, 0, {{"rescale", "rarely"}}, deviation});
      out.push_back(
          {96, 96, DType::bf16, masks[3], true, true, 0, {{"rescale", "rarely"}, {"cluster", "1"}}, deviation});
      for (const char* p_in : {"registers", "shared"})
        out.push_back({128, 128, DType::bf16, masks[0], false, true, 0, {{"p_in", p_in}, {"cluster", "1"}}, deviation});
    }
  } else {
    for (const char* d : {"32"})
      out.push_back({std::stoll(d), std::stoll(d), DType::bf16, masks[1], false, true, 0, {}});
    for (const char* order : {"grid", "longest_first"})
      out.push_back({128, 128, DType::bf16, masks[1], false, true, 0, {{"order", order}, {"swizzle", "off"}}});
    for (const char* q_in : {"shared", "registers"})
      out.push_back({64, 64, DType::f16, masks[0], false, true, 0, {{"q_in", q_in}, {"rescale", "always"}}});
  }
  return out;
}

inline void pack(AttentionLayout& layout, std::int64_t i) {
  const std::vector<std::vector<std::int32_t>> q{{100, 0, 300, 1, 129}, {1000, 7, 65, 1, 0}, {0, 4097}},
      x{{100, 7, 500, 1, 0}, {500, 30, 0, 65, 4097}, {65, 1000}};
  const auto at = static_cast<std::size_t>(i) % q.size();
  layout.q_lengths = q[at];
  layout.x_lengths = x[at];
  AttentionSizes& s = layout.sizes;
  s.b = static_cast<std::int64_t>(q[at].size());
  s.q = *std::max_element(q[at].begin(), q[at].end());
  s.x = *std::max_element(x[at].begin(), x[at].end());
}

/// Adds one configuration with `shapes` shapes, which it takes from the list from `next` on.
inline void add(const std::string& kernel, const AttentionConfiguration& c, int shapes, Draws& draws, std::size_t& next,
                std::vector<CorrectnessCase>& out) {
  static const std::vector<AttentionSizes> sizes = attention_sizes();
  const auto case_of = [&](AttentionLayout layout) {
    layout.sizes.d = c.d;
    layout.sizes.dv = c.dv;
    layout.type = c.type;
    layout.mask = c.mask;
    layout.log_sum_exp = c.log_sum_exp;
    layout.deviation = c.deviation;
    return CorrectnessCase{kernel, c.type, c.mask, shape_of(layout.sizes), {}, layout, {}};
  };
  AttentionLayout large;
  large.sizes = {1, 1, std::max<std::int64_t>(c.g, 1), 4097, 4097};
  const Knobs tile = legal_tile(case_of(large), c.fixed, draws);
  for (int made = 0, tried = 0; made < shapes && tried < 60; ++tried) {
    AttentionLayout layout;
    layout.sizes = sizes[next % sizes.size()];
    layout.heads_first = next % 4 == 1;
    layout.gap = next % 3 == 2 ? 24 : 0;
    layout.seed = next + 1;
    if (c.g > 0) layout.sizes.g = c.g;
    if (c.packed) pack(layout, static_cast<std::int64_t>(next));
    if (c.packed) layout.heads_first = false;  // packed rows follow each other
    ++next;
    CorrectnessCase one = case_of(layout);
    one.tile = tile;
    if (!is_legal(one)) continue;
    out.push_back(std::move(one));
    ++made;
  }
}

/// Lists configurations whose tiles do not divide the group of query heads, each with a question in which a faulty
/// kernel overwrote the next key head's log-sum-exp.
inline std::vector<std::pair<AttentionConfiguration, AttentionSizes>> undivided_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 60, 0};
  return {{{64, 64, DType::bf16, causal, false, true, 3, {{"g", "2"}}}, {2, 2, 3, 113, 211}},
          {{64, 64, DType::bf16, window, false, true, 3, {{"g", "2"}}}, {2, 2, 3, 1023, 1024}},
          {{96, 96, DType::bf16, causal, false, true, 6, {{"g", "4"}}}, {2, 1, 6, 300, 300}},
          {{64, 64, DType::bf16, none, true, true, 6, {{"g", "4"}, {"cluster", "1"}}}, {3, 1, 6, 1, 147}},
          {{128, 128, DType::f16, causal, true, true, 3, {{"g", "2"}, {"cluster", "1"}}}, {3, 2, 3, 1, 147}},
          {{256, 256, DType::f16, causal, false, true, 3, {{"g", "2"}}}, {2, 2, 3, 108, 256}},
          {{192, 128, DType::bf16, none, false, true, 5, {{"g", "4"}, {"cluster", "1"}}}, {2, 2, 5, 128, 217}}};
}

/// Returns the case with few rows and keys, and `g` query heads a key head.
inline CorrectnessCase regrouped(CorrectnessCase one, std::int64_t g, std::size_t number) {
  constexpr std::pair<std::int64_t, std::int64_t> rows[] = {{5, 70}, {7, 33}, {3, 65}, {9, 20}};
  AttentionLayout& layout = one.attention;
  layout.sizes.b = number % 3 == 2 ? 2 : 1;
  layout.sizes.h = 2;
  layout.sizes.g = g;
  layout.log_sum_exp = true;
  layout.gap = number % 2 == 0 ? 24 : 0;
  layout.seed = number + 1;
  const auto& [q, x] = rows[number % std::size(rows)];
  layout.sizes.q = q;
  layout.sizes.x = x;
  if (!layout.q_lengths.empty()) {
    layout.q_lengths = {static_cast<std::int32_t>(q), 0, 1};
    layout.x_lengths = {static_cast<std::int32_t>(x), 7, 30};
    layout.sizes.b = 3;
  }
  one.shape = shape_of(layout.sizes);
  return one;
}

/// Adds questions of groups of 3 to 12 query heads: of each tile of several heads, few of which divide them, and of a
/// dozen in the kernel whose tiles have one head.
inline void add_undivided(const std::string& kernel, Draws& draws, std::size_t& next,
                          std::vector<CorrectnessCase>& out) {
  const bool sm90 = kernel == "attention_sm90";
  for (const auto& [c, sizes] : undivided_configurations()) {
    if (!sm90) continue;
    add(kernel, c, 3, draws, next, out);
    CorrectnessCase one = out.back();
    AttentionLayout& layout = one.attention;
    layout.sizes = sizes;
    layout.sizes.d = c.d;
    layout.sizes.dv = c.dv;
    layout.heads_first = false;
    if (c.packed) layout.q_lengths = {1, 1, 1}, layout.x_lengths = {147, 20, 64};
    one.shape = shape_of(layout.sizes);
    out.push_back(std::move(one));
  }
  std::set<std::string> seen;
  std::vector<CorrectnessCase> more;
  std::size_t number = 0;
  for (const CorrectnessCase& one : out) {
    const std::int64_t heads = packed_heads(one.tile);
    if (one.kernel != kernel || (sm90 && heads == 1) || (!sm90 && seen.size() == 12)) continue;
    if (!seen.insert(variant_of(one).expression).second) continue;
    for (const std::int64_t g : undivided_groups) {
      if (!sm90 && static_cast<std::size_t>(g) % 5 != seen.size() % 5) continue;
      CorrectnessCase small = regrouped(one, g, number++);
      if (is_legal(small)) more.push_back(std::move(small));
    }
  }
  for (CorrectnessCase& one : more) out.push_back(std::move(one));
}

/// Widths of heads that a kernel pads, one variant for each list. The lists have every multiple of 8 below and between
/// the kernel's own widths.
struct PaddedConfiguration {
  AttentionConfiguration variant;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;  ///< d, dv
};

inline std::vector<PaddedConfiguration> padded_configurations(bool sm90) {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 30, 70};
  const auto variant = [&](const Mask& mask, DType type, bool packed, std::int64_t g) {
    Knobs fixed;
    if (sm90) fixed = {{"cluster", "1"}, {"g", g == 1 ? "1" : g < 4 ? "2" : "4"}};
    return AttentionConfiguration{0, 0, type, mask, packed, true, g, fixed};
  };
  std::vector<PaddedConfiguration> out{
      {variant(causal, DType::bf16, false, 1), {{40, 40}, {48, 56}, {56, 48}, {56, 64}}},
      {variant(none, DType::f16, true, 1), {{40, 56}, {56, 40}, {64, 48}}},
      {variant(none, DType::bf16, false, 5), {{72, 72}, {80, 80}, {88, 88}, {80, 96}}},
      {variant(window, DType::bf16, true, 1), {{72, 88}, {96, 80}}},
      {variant(window, DType::bf16, false, 6), {{104, 104}, {112, 112}, {120, 120}, {128, 112}}},
      {variant(causal, DType::f16, true, 3), {{104, 120}, {120, 104}}},
      {variant(causal, DType::bf16, false, 1), {{136, 136}, {144, 152}, {160, 160}, {168, 176}, {184, 192}}},
      {variant(none, DType::bf16, true, 1), {{160, 104}, {192, 120}}},
      {variant(causal, DType::f16, false, 1), {{200, 208}, {216, 216}, {224, 224}, {232, 248}, {240, 256}}},
      {variant(none, DType::bf16, true, 4), {{256, 224}, {248, 240}}},
      {variant(none, DType::bf16, false, 1), {{8, 8}, {16, 8}, {24, 24}}}};
  const std::pair<std::int64_t, std::int64_t> narrow[] = {{32, 16}, {32, 24}};  // a width of attention_sm80's own
  for (const auto& pair : narrow) out.back().widths.push_back(pair);
  return out;
}

inline void add_padded(const std::string& kernel, std::vector<CorrectnessCase>& out) {
  constexpr std::pair<std::int64_t, std::int64_t> rows[] = {{7, 65}, {65, 70}, {130, 90}, {33, 300}, {200, 130}};
  Draws draws(13);
  std::size_t number = 0;
  for (const PaddedConfiguration& c : padded_configurations(kernel == "attention_sm90")) {
    Knobs tile;
    for (const auto& [d, dv] : c.widths) {
      AttentionLayout layout;
      const auto& [q, x] = rows[number % std::size(rows)];
      layout.sizes = {number % 4 == 3 ? 2 : 1, number % 3 == 2 ? 2 : 1, c.variant.g, q, x, d, dv};
      layout.type = c.variant.type;
      layout.mask = c.variant.mask;
      layout.heads_first = number % 3 == 1 && !c.variant.packed;
      layout.gap = number % 2 == 1 ? 24 : 0;
      layout.seed = number + 1;
      if (c.variant.packed) {
        layout.q_lengths = {static_cast<std::int32_t>(q), 0, 33, static_cast<std::int32_t>(x)};
        layout.x_lengths = {static_cast<std::int32_t>(x), 7, 0, static_cast<std::int32_t>(q)};
        layout.sizes.b = 4;
        layout.sizes.q = layout.sizes.x = std::max({q, x, std::int64_t{33}});
      }
      CorrectnessCase one{kernel, layout.type, layout.mask, shape_of(layout.sizes), {}, layout, {}};
      if (tile.empty()) {
        CorrectnessCase large = one;
        large.shape = shape_of({1, 1, c.variant.g, 4097, 4097, d, dv});
        tile = legal_tile(large, c.variant.fixed, draws);
      }
      one.tile = tile;
      ++number;
      if (is_legal(one)) out.push_back(std::move(one));
    }
  }
}

inline void add_matmul(std::vector<CorrectnessCase>& out, int configurations, int shapes, Draws& draws) {
  const std::vector<MatmulSizes> sizes{{1, 8, 1},          {7, 8, 7},         {65, 72, 65},     {1000, 1000, 1000},
                                       {4097, 64, 1000},   {65, 4096, 7},     {1000, 8, 4097},  {1, 4096, 65},
                                       {4097, 1000, 1},    {7, 64, 4097},     {4097, 72, 65},   {512, 512, 512},
                                       {2048, 4096, 1000}, {1000, 136, 1001}, {65, 1000, 1000}, {256, 256, 4097},
                                       {4097, 128, 7},     {1, 8, 4097},      {300, 2048, 200}};
  std::size_t next = 0;
  for (int i = 0; i < configurations; ++i) {
    const DType type = i % 3 == 2 ? DType::f16 : DType::bf16;
    const auto case_of = [&](const MatmulSizes& s) {
      CorrectnessCase one{"matmul_sm90", type, {}, {{"a", s.a}, {"b", s.b}, {"c", s.c}}, {}, {}, {}};
      one.matmul.sizes = s;
      one.matmul.type = type;
      one.matmul.gap = next % 3 == 1 ? 16 : 0;
      one.matmul.seed = next + 1;
      return one;
    };
    const Knobs tile = legal_tile(case_of({4096, 4096, 4096}), {{"split", "1"}}, draws);
    for (int made = 0, tried = 0; made < shapes && tried < 60; ++tried) {
      CorrectnessCase one = case_of(sizes[next++ % sizes.size()]);
      one.tile = tile;
      if (!is_legal(one)) continue;
      out.push_back(std::move(one));
      ++made;
    }
  }
}

}  // namespace correctness

/// Lists at least 200 cases of a kernel; of all kernels if `kernel` is empty.
inline std::vector<CorrectnessCase> correctness_cases(const std::string& kernel = "") {
  std::vector<CorrectnessCase> out;
  for (const std::string name : {"attention_sm90", "attention_sm80", "attention_wide_sm90"}) {
    if (!kernel.empty() && kernel != name) continue;
    correctness::Draws draws(7);
    std::size_t next = 0;
    const bool wide = name == "attention_wide_sm90";
    for (const auto& c : correctness::attention_configurations(name))
      correctness::add(name, c, wide ? 15 : 5, draws, next, out);
    correctness::add_undivided(name, draws, next, out);
    if (!wide) correctness::add_padded(name, out);
  }
  correctness::Draws draws(7);
  if (kernel.empty() || kernel == "matmul_sm90") correctness::add_matmul(out, 40, 6, draws);
  return out;
}

}  // namespace napkin::internal::test
