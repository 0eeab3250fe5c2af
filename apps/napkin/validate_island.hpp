#pragma once
// validate_island does the work of `napkin validate` of an island: it runs each question on the GPUs here by NCCL's
// calls and the bundled kernels, and sets the prediction beside what it measured.

#include "apps/napkin/validate.hpp"

namespace napkin::internal::cli {

/// Measures the options' questions, all of an island. Rows go to options.out as they arrive.
[[nodiscard]] Reply validate_island(const ValidateOptions& options, const report::Style& style);

}  // namespace napkin::internal::cli
