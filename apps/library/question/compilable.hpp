#pragma once
// check_compilable refuses --compile for a peer's kernel, which has a mapping but no source. Internal to apps/.

#include "apps/library/question/request.hpp"

namespace napkin {

/// Throws Error at --compile if no layout has a kernel that can be compiled.
void check_compilable(const Request& request);

}  // namespace napkin
