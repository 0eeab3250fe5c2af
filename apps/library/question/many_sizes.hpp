#pragma once
// keeps_to_bundled limits a question of many sizes (a family of shapes, the launches of an island) to bundled kernels,
// since every other kernel would take as long again for each size. Internal to apps/.

#include <algorithm>

#include "apps/library/question/setups.hpp"

namespace napkin::internal {

/// Returns true if the question asks only bundled kernels: the user names none, and a bundled one has the machine's
/// fastest instruction.
[[nodiscard]] inline bool keeps_to_bundled(const Question& question) {
  return question.ask.kernel.empty() &&
         std::any_of(question.setups.begin(), question.setups.end(),
                     [&](const Setup& setup) { return setup.bundled() && by_fastest_instruction(question, setup); });
}

}  // namespace napkin::internal
