#include "kernels/reference/attention_dump.hpp"

namespace napkin::internal {

BundledKernel attention_sm90_bundled() { return attention_bundled<attention_sm90_plan>("attention_sm90"); }

BundledKernel attention_wide_sm90_bundled() { return attention_bundled<attention_sm90_plan>("attention_wide_sm90"); }

}  // namespace napkin::internal
