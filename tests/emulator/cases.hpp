#pragma once
// These functions list the cases that run on the emulator: the recorded correctness cases of an H200 that a CPU can
// repeat in reasonable time, and small shapes of every variant among them.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/kernel/product_cases.hpp"

namespace napkin::internal::test {

/// Returns the multiply-adds of a case without a mask, a measure of its time on a CPU.
inline std::int64_t products_of(const CorrectnessCase& one) {
  const auto size = [&](const char* axis) {
    for (const auto& [name, value] : one.shape) {
      if (name == axis) return value;
    }
    return std::int64_t{1};
  };
  if (one.kernel.starts_with("matmul")) return size("a") * size("b") * size("c");
  const std::int64_t heads = size("h") * size("g") * (size("d") + size("dv"));
  if (one.attention.q_lengths.empty()) return size("b") * heads * size("q") * size("x");
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < one.attention.q_lengths.size(); ++i)
    pairs += std::int64_t{one.attention.q_lengths[i]} * one.attention.x_lengths[i];
  return pairs * heads;
}

/// Returns variants besides the recorded ones, with orders of waiting and parts of products that no recorded one has.
inline std::vector<CorrectnessCase> further_cases() {
  correctness::Draws draws(11);
  std::vector<CorrectnessCase> out;
  for (const char* overlap : {"on", "off"}) {
    for (const char* order : {"persistent", "longest_first"}) {
      AttentionLayout layout;
      layout.sizes = {1, 1, 1, 1000, 1000, 64, 64};
      CorrectnessCase one{"attention_sm90", DType::bf16, {}, shape_of(layout.sizes), {}, layout, {}};
      one.tile = correctness::legal_tile(
          one,
          {{"rescale", "always"}, {"overlap", overlap}, {"order", order}, {"cluster", "1"}, {"x", "64"}, {"g", "1"}},
          draws);
      out.push_back(std::move(one));
    }
  }
  for (const CorrectnessCase& one : product_cases()) out.push_back(one);
  return out;
}

/// Returns one case of each variant, by the expression that names it to the compiler.
inline const std::map<std::string, CorrectnessCase>& variant_cases() {
  static const std::map<std::string, CorrectnessCase> all = [] {
    std::map<std::string, CorrectnessCase> out;
    for (const CorrectnessCase& one : correctness_cases()) out.emplace(correctness::variant_of(one).expression, one);
    for (const CorrectnessCase& one : further_cases()) out.emplace(correctness::variant_of(one).expression, one);
    return out;
  }();
  return all;
}

/// Returns the recorded cases of at most that many multiply-adds.
inline std::vector<CorrectnessCase> repeated_cases(std::int64_t most) {
  std::vector<CorrectnessCase> out = correctness_cases();
  std::erase_if(out, [&](const CorrectnessCase& one) { return products_of(one) > most; });
  return out;
}

/// Returns the `number`-th small shape of a variant for which its tile is legal.
inline CorrectnessCase small_case(CorrectnessCase one, std::size_t number) {
  constexpr std::int64_t sizes[] = {1, 7, 65, 200};
  const std::int64_t first = sizes[number % 4], second = sizes[number / 4 % 4];
  one.attention.seed = one.matmul.seed = number + 1;
  if (one.kernel.starts_with("matmul")) {
    const std::int64_t whole = one.type == DType::e4m3 ? 16 : 8;
    one.matmul.sizes = {first, std::max(whole, second / whole * whole), sizes[number / 16 % 4]};
    one.matmul.gap = number % 3 == 1 ? 16 : 0;
    one.shape = {{"a", one.matmul.sizes.a}, {"b", one.matmul.sizes.b}, {"c", one.matmul.sizes.c}};
    return one;
  }
  AttentionLayout& layout = one.attention;
  layout.heads_first = number % 4 == 1 && layout.q_lengths.empty();
  layout.gap = number % 3 == 2 ? 24 : 0;
  layout.sizes.b = number % 5 == 3 ? 2 : 1;
  if (layout.q_lengths.empty()) {
    layout.sizes.q = first;
    layout.sizes.x = second;
    layout.sizes.h = number % 2 + 1;
  } else {
    layout.q_lengths = {static_cast<std::int32_t>(first), 0, 33, static_cast<std::int32_t>(second)};
    layout.x_lengths = {static_cast<std::int32_t>(second), 7, 0, static_cast<std::int32_t>(first)};
    layout.sizes.b = 4;
    layout.sizes.q = *std::max_element(layout.q_lengths.begin(), layout.q_lengths.end());
    layout.sizes.x = *std::max_element(layout.x_lengths.begin(), layout.x_lengths.end());
    layout.sizes.h = 1;
  }
  one.shape = shape_of(layout.sizes);
  return one;
}

/// Returns `count` small shapes of each variant.
inline std::vector<CorrectnessCase> small_cases(std::size_t count) {
  std::vector<CorrectnessCase> out;
  std::size_t number = 0;
  for (const auto& [expression, one] : variant_cases()) {
    for (std::size_t made = 0, tried = 0; made < count && tried < 32; ++tried, number += 5) {
      CorrectnessCase small = small_case(one, number);
      if (!correctness::is_legal(small) || correctness::variant_of(small).expression != expression) continue;
      out.push_back(std::move(small));
      ++made;
    }
  }
  return out;
}

}  // namespace napkin::internal::test
