#pragma once
// A BackwardCase is a test case of the backward pass on the emulator. The cases are small shapes of each configuration,
// which is a compiled variant.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernels/plans/attention_backward.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"

namespace napkin::internal::test {

struct BackwardCase {
  AttentionLayout layout;
  Knobs tile;
};

/// Returns the name of the kernel for heads of d and dv columns.
inline std::string backward_kernel(std::int64_t d, std::int64_t dv) {
  return std::max(d, dv) > 128 ? "attention_backward_wide_sm90" : "attention_backward_sm90";
}

inline std::unique_ptr<LaidOut> lay_out(const BackwardCase& one) {
  return std::make_unique<LaidOut>(backward_kernel(one.layout.sizes.d, one.layout.sizes.dv), "h200-sxm",
                                   shape_of(one.layout.sizes), one.layout.type, one.layout.mask);
}

/// A compiled variant: d, dv, type, mask, packed, tile.
struct BackwardConfiguration {
  std::int64_t d, dv;
  DType type;
  Mask mask;
  bool packed;
  Knobs tile;
};

/// Returns true if attention_backward_wide_sm90 computes the variant.
inline bool is_wide(const BackwardConfiguration& c) { return backward_kernel(c.d, c.dv) != "attention_backward_sm90"; }

inline std::vector<BackwardConfiguration> backward_configurations() {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, left{Mask::Kind::window, 100, 0}, both{Mask::Kind::window, 30, 70};
  const auto tile = [](const char* warpgroups, const char* q, const char* stages, const char* o_stages,
                       const char* s_stages, const char* overlap, const char* dq) {
    return Knobs{{"warpgroups", warpgroups},
                 {"x", warpgroups[0] == '2' ? "128" : "64"},
                 {"q", q},
                 {"stages", stages},
                 {"o_stages", o_stages},
                 {"s_stages", s_stages},
                 {"overlap", overlap},
                 {"dq", dq}};
  };
  const auto wide = [](const char* stages, const char* o_stages, const char* s_stages, const char* dq) {
    return Knobs{{"x", "64"}, {"q", "64"}, {"stages", stages}, {"o_stages", o_stages}, {"s_stages", s_stages},
                 {"dq", dq}};
  };
  return {
      {64, 64, DType::bf16, none, false, tile("2", "128", "2", "2", "2", "on", "bulk")},
      {64, 64, DType::bf16, none, false, tile("2", "128", "2", "2", "1", "off", "bulk")},
      {64, 64, DType::f16, causal, false, tile("2", "128", "2", "1", "2", "off", "atomic")},
      {64, 64, DType::bf16, both, false, tile("2", "128", "1", "2", "1", "off", "ordered")},
      {64, 64, DType::bf16, causal, true, tile("2", "128", "2", "2", "2", "on", "bulk")},
      {64, 64, DType::bf16, causal, false, tile("1", "64", "2", "2", "2", "on", "ordered")},
      {128, 128, DType::bf16, none, false, tile("2", "64", "2", "2", "2", "on", "bulk")},
      {128, 128, DType::bf16, causal, false, tile("2", "64", "2", "2", "2", "on", "bulk")},
      {128, 128, DType::f16, left, false, tile("2", "64", "2", "1", "2", "on", "ordered")},
      {128, 128, DType::bf16, causal, false, tile("2", "64", "2", "2", "2", "off", "atomic")},
      {128, 128, DType::f16, none, true, tile("2", "64", "2", "2", "2", "on", "ordered")},
      {128, 64, DType::bf16, none, false, tile("2", "64", "3", "2", "2", "on", "atomic")},
      {64, 64, DType::f16, both, true, tile("1", "64", "2", "2", "1", "off", "bulk")},
      {96, 96, DType::bf16, causal, false, tile("1", "64", "2", "2", "2", "on", "bulk")},
      {96, 96, DType::f16, none, true, tile("1", "64", "2", "2", "1", "off", "atomic")},
      {96, 64, DType::bf16, left, false, tile("1", "64", "3", "1", "2", "on", "ordered")},
      {64, 96, DType::bf16, none, false, tile("1", "64", "2", "2", "2", "off", "bulk")},
      {40, 40, DType::bf16, causal, false, tile("2", "128", "2", "2", "2", "on", "atomic")},
      {32, 8, DType::f16, none, true, tile("2", "128", "2", "2", "2", "on", "ordered")},
      {80, 72, DType::bf16, both, false, tile("1", "64", "2", "2", "2", "on", "atomic")},
      {112, 120, DType::bf16, causal, true, tile("2", "64", "2", "2", "2", "on", "bulk")},
      {104, 128, DType::f16, left, false, tile("2", "64", "2", "2", "2", "on", "ordered")},
      {128, 56, DType::bf16, none, false, tile("2", "64", "2", "2", "2", "on", "atomic")},
      {96, 96, DType::bf16, causal, false, tile("2", "64", "2", "2", "2", "on", "atomic")},
      {96, 96, DType::f16, none, true, tile("2", "64", "2", "2", "2", "off", "bulk")},
      {88, 64, DType::bf16, both, false, tile("2", "64", "2", "2", "2", "on", "ordered")},
      {72, 96, DType::f16, causal, false, tile("2", "64", "2", "2", "2", "off", "bulk")},
      {64, 64, DType::bf16, none, false, tile("2", "64", "2", "2", "2", "on", "atomic")},
      {256, 256, DType::bf16, none, false, wide("2", "2", "2", "atomic")},
      {256, 256, DType::f16, causal, false, wide("2", "1", "2", "ordered")},
      {192, 192, DType::bf16, causal, true, wide("3", "2", "1", "ordered")},
      {192, 128, DType::bf16, both, false, wide("2", "2", "2", "atomic")},
      {136, 200, DType::f16, left, true, wide("2", "1", "1", "atomic")},
  };
}

/// Returns the `number`-th small shape of a configuration.
inline BackwardCase small_case(const BackwardConfiguration& c, std::size_t number) {
  constexpr std::int64_t sizes[] = {65, 7, 200, 1, 130, 300};
  BackwardCase out;
  AttentionLayout& layout = out.layout;
  layout.sizes.d = c.d;
  layout.sizes.dv = c.dv;
  layout.type = c.type;
  layout.mask = c.mask;
  layout.seed = number + 1;
  layout.sizes.q = sizes[number % 6];
  layout.sizes.x = sizes[number / 6 % 6];
  layout.sizes.h = number % 2 + 1;
  layout.sizes.g = number % 5 == 2 ? 3 : 1;
  layout.sizes.b = number % 7 == 3 ? 2 : 1;
  layout.heads_first = number % 4 == 1 && !c.packed;
  layout.gap = number % 3 == 2 ? 24 : 0;
  if (c.packed) {
    const auto q = static_cast<std::int32_t>(layout.sizes.q), x = static_cast<std::int32_t>(layout.sizes.x);
    layout.q_lengths = {q, 0, 33, x};
    layout.x_lengths = {x, 7, 0, q};
    layout.sizes.b = 4;
    layout.sizes.h = 1;
    layout.sizes.q = std::max({q, x, 33});
    layout.sizes.x = std::max({q, x, 7});
  }
  out.tile = c.tile;
  return out;
}

/// Returns one small shape of each configuration, with one of `undivided_groups` as the number of query heads a key
/// head.
inline std::vector<BackwardCase> backward_cases_of_groups() {
  std::vector<BackwardCase> out;
  for (const BackwardConfiguration& c : backward_configurations()) {
    const std::size_t number = out.size();
    BackwardCase one = small_case(c, 3 * number + 2);
    one.layout.sizes.g = undivided_groups[number % std::size(undivided_groups)];
    one.layout.sizes.h = is_wide(c) ? 1 : number % 2 + 1;
    if (!c.packed) one.layout.sizes.q = 67, one.layout.sizes.x = 70;
    out.push_back(std::move(one));
  }
  return out;
}

/// Changes a case to 1000 or 4097 queries and few keys, or the reverse.
inline void lengthen(BackwardCase& one, std::size_t number) {
  constexpr std::int64_t few[] = {7, 1, 65}, many[] = {1000, 4097};
  AttentionSizes& s = one.layout.sizes;
  s.b = s.h = s.g = 1;
  s.q = few[number % 3];
  s.x = many[number % 2];
  if (number % 4 < 2) std::swap(s.q, s.x);
}

/// Returns true if the parts of dQ are added in an order that no seed changes.
inline bool is_ordered(const BackwardCase& one) {
  return std::count(one.tile.begin(), one.tile.end(), std::pair<std::string, std::string>("dq", "ordered")) > 0;
}

/// Returns a call without arrays, which is enough to name its variants.
inline AttentionBackwardCall nowhere(const BackwardConfiguration& c) {
  constexpr std::uint64_t somewhere = 4096;
  AttentionBackwardCall call;
  for (TensorView* view : {&call.q, &call.k, &call.v, &call.o, &call.d_o, &call.dq, &call.dk, &call.dv})
    *view = {somewhere, 0, 0, 8};
  call.log_sum_exp = call.scratch = somewhere;
  if (c.packed) {
    call.q_starts = call.x_starts = somewhere;
    call.q_rows = call.x_rows = 1;
  }
  return call;
}

/// Returns the expressions that name the variants of its three launches.
inline std::set<std::string> expressions_of(const BackwardConfiguration& c) {
  const auto laid_out = lay_out(small_case(c, 0));
  const PlacedDiagram placed = laid_out->place(c.tile);
  const AttentionBackwardPlans plans = attention_backward_plans(placed, nowhere(c));
  std::set<std::string> out;
  for (const LaunchPlan* plan : plans.all()) out.insert(plan->expression);
  return out;
}

inline std::set<std::string> backward_expressions() {
  std::set<std::string> out;
  for (const BackwardConfiguration& c : backward_configurations()) out.merge(expressions_of(c));
  return out;
}

}  // namespace napkin::internal::test
