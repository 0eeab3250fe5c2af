#include "kernels/reference/attention_dump.hpp"

namespace napkin::internal {

BundledKernel attention_sm80_bundled() { return attention_bundled<attention_sm80_plan>("attention_sm80"); }

}  // namespace napkin::internal
