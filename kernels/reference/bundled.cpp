#include "kernels/reference/bundled.hpp"

namespace napkin::internal {
namespace {

const std::vector<BundledKernel>& all() {
  static const std::vector<BundledKernel> kernels{
      attention_sm90_bundled(),          attention_wide_sm90_bundled(),          attention_sm80_bundled(),
      attention_decode_sm90_bundled(),   attention_fp8_sm90_bundled(),           napkin_fp8_sm90_bundled(),
      attention_backward_sm90_bundled(), attention_backward_wide_sm90_bundled(), matmul_sm90_bundled(),
      matmul_fp8_sm90_bundled()};
  return kernels;
}

}  // namespace

const BundledKernel* find_bundled(std::string_view mapping) {
  for (const BundledKernel& kernel : all()) {
    if (kernel.mapping == mapping) return &kernel;
  }
  return nullptr;
}

std::vector<std::string> bundled_names() {
  std::vector<std::string> names;
  for (const BundledKernel& kernel : all()) names.push_back(kernel.mapping);
  return names;
}

}  // namespace napkin::internal
