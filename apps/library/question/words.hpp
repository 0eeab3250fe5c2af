#pragma once
// words_of words a violated constraint: "takes bf16 and f16 only". Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/question/question.hpp"
#include "solver/space/constraints.hpp"

namespace napkin::internal {

[[nodiscard]] std::string words_of(const Violation& violation, const Question& question, const Mapping& mapping);

/// Returns remarks on knobs that the user fixed: "stages=5 lies outside of what attention_sm90 is searched over (2, 1,
/// 3, 4)".
[[nodiscard]] std::vector<std::string> notes_of(const Setup& setup);

/// Writes a number with grouped digits: "232,448".
[[nodiscard]] std::string grouped_digits(double number);

/// Joins words, `last` before the last one: "bf16, f16 or e4m3".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, const std::string& last);

}  // namespace napkin::internal
