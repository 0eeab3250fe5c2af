#pragma once
// check_compilable refuses --compile for a peer's kernel, which has a mapping but no source. Internal to apps/.

#include "apps/library/question/question.hpp"

namespace napkin::internal {

/// Throws Error at --compile if no setup has a kernel that can be compiled.
void check_compilable(const Question& question);

}  // namespace napkin::internal
