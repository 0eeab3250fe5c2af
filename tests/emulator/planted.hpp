#pragma once
// These functions make the questions that show a planted bug: for attention_fp8_sm90 one with so many chunks that each
// stage is used again.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/backward_cases.hpp"
#include "tests/emulator/cases.hpp"
#include "tests/emulator/planted_bugs.hpp"
#include "tests/kernel/decode_cases.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/napkin_cases.hpp"

namespace napkin::internal::test {

/// Returns true if a kernel pads heads of these sizes.
inline bool pads(const std::string& kernel, std::int64_t d, std::int64_t dv) {
  const Mapping& mapping = built_in_mapping(kernel);
  return mapping.size_for("d", d) != d || mapping.size_for("dv", dv) != dv;
}

inline bool has_knobs(const Knobs& tile, const Knobs& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const auto& knob) { return std::find(tile.begin(), tile.end(), knob) != tile.end(); });
}

/// Returns a case for a bug of attention_fp8_sm90: the first variant that shows it, with so many chunks that each stage
/// is used again, or with a few rows in groups of heads.
inline std::vector<Fp8Case> planted_fp8_cases(const PlantedBug& bug) {
  if (bug.kernel != "attention_fp8_sm90") return {};
  std::vector<BytesConfiguration> all = fp8_configurations();
  std::erase_if(all, [&](const BytesConfiguration& c) { return c.packed || !has_knobs(c.tile, bug.fixed); });
  Fp8Case one = fp8_case(all.front(), 0);
  one.layout.sizes.q = 200;
  one.layout.sizes.x = 1000;
  if (bug.group > 0) one.layout.sizes = {1, 2, bug.group, 20, 130, one.layout.sizes.d, one.layout.sizes.dv};
  one.layout.log_sum_exp = bug.complaint == "log-sum-exp";
  return {one};
}

/// Returns the cases that show napkin_fp8_sm90's bugs: the paper's tile, with so many chunks that each stage is used
/// again.
inline std::vector<NapkinCase> planted_napkin_cases(const PlantedBug& bug) {
  if (bug.kernel != "napkin_fp8_sm90") return {};
  NapkinCase one = napkin_case(napkin_configurations().front(), 0);
  one.layout.sizes.q = 200;
  one.layout.sizes.x = 1000;
  return {one};
}

/// Returns the cases for a bug of attention_decode_sm90: three parts of two chunks and a piece, in pages of a quarter
/// of a chunk; if the bug needs longer parts, one with so many chunks that each stage is used again.
inline std::vector<DecodeCase> planted_decode_cases(const PlantedBug& bug) {
  if (bug.kernel != "attention_decode_sm90") return {};
  DecodeCase one = decode_case(decode_configurations()[2], 0);
  one.tile.back() = bug.fixed.empty() ? std::pair<std::string, std::string>{"shared.x", "128"} : bug.fixed.front();
  one.sizes.x = bug.fixed.empty() ? 300 : 1000;
  one.lengths = {static_cast<std::int32_t>(one.sizes.x)};
  one.page = 16;
  if (bug.group > 0) one.sizes.g = bug.group;
  return {one};
}

/// Finds the first variant that shows a bug of the backward pass, with so many tiles that each stage is used.
inline std::vector<BackwardConfiguration> planted_backward(const PlantedBug& bug) {
  if (!bug.kernel.starts_with("attention_backward")) return {};
  std::vector<BackwardConfiguration> all = backward_configurations();
  std::erase_if(all, [&](const BackwardConfiguration& c) {
    return c.packed || backward_kernel(c.d, c.dv) != bug.kernel || pads(bug.kernel, c.d, c.dv) != bug.padded ||
           !has_knobs(c.tile, bug.fixed);
  });
  all.resize(1);
  return all;
}
inline BackwardCase planted_backward_case(const BackwardConfiguration& c) {
  BackwardCase one = small_case(c, 0);
  one.layout.sizes.q = 500;
  one.layout.sizes.x = 200;
  one.layout.sizes.h = 4;  // more sections of heads than the first launch sets to zero
  if (is_wide(c)) one.layout.sizes = {1, 1, 1, 300, 65, c.d, c.dv};
  return one;
}

/// Returns up to three variants that show a bug, each with some chunks and tiles.
inline std::vector<CorrectnessCase> planted_cases(const PlantedBug& bug) {
  std::vector<CorrectnessCase> out;
  for (const auto& variant : variant_cases()) {
    const CorrectnessCase& one = variant.second;
    const bool packed = !one.attention.q_lengths.empty();
    const AttentionSizes& own = one.attention.sizes;
    if (one.kernel != bug.kernel || packed != bug.packed || !has_knobs(one.tile, bug.fixed)) continue;
    if (bug.padded != (one.kernel.starts_with("attention") && pads(one.kernel, own.d, own.dv))) continue;
    CorrectnessCase small = one;
    small.attention.sizes.b = packed ? 4 : 1;
    small.attention.sizes.h = 2;
    if (bug.group > 0) small.attention.sizes.g = bug.group, small.attention.log_sum_exp = true;
    small.attention.sizes.q = small.attention.sizes.x = bug.group > 0 ? 40 : 200;
    if (packed) small.attention.q_lengths = small.attention.x_lengths = {100, 200, 33, 7};
    if (packed) small.attention.sizes.q = small.attention.sizes.x = 200;
    small.matmul.sizes = {200, 528, 200};
    small.shape =
        one.kernel.starts_with("matmul") ? Shape{{"a", 200}, {"b", 528}, {"c", 200}} : shape_of(small.attention.sizes);
    if (!correctness::is_legal(small) || correctness::variant_of(small).expression != variant.first) continue;
    out.push_back(std::move(small));
    if (out.size() == 3) break;
  }
  return out;
}

inline std::set<std::string> planted_variants(const PlantedBug& bug) {
  std::set<std::string> out;
  for (const CorrectnessCase& one : planted_cases(bug)) out.insert(correctness::variant_of(one).expression);
  for (const Fp8Case& one : planted_fp8_cases(bug)) out.insert(variant_of(one).expression);
  for (const NapkinCase& one : planted_napkin_cases(bug)) out.insert(variant_of(one).expression);
  for (const DecodeCase& one : planted_decode_cases(bug)) out.insert(variant_of(one).expression);
  for (const BackwardConfiguration& c : planted_backward(bug)) out.merge(expressions_of(c));
  return out;
}

}  // namespace napkin::internal::test
