#pragma once
// check_compilable refuses --compile where there is nothing to compile: of a peer's kernel there is the mapping alone.
// Internal to apps/.

#include "apps/library/question/request.hpp"

namespace napkin {

/// Throws Error at --compile if no layout has a kernel that can be compiled.
void check_compilable(const Request& request);

}  // namespace napkin
