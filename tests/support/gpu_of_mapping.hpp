#pragma once
// home_gpu is a machine that a bundled mapping runs on, so that a test can place every one: a b200 for
// flash_attention_4.

#include <string>

#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal::test {

/// Returns the first GPU, out of one of each family, that runs the mapping; empty if none does.
inline std::string home_gpu(const Mapping& mapping) {
  for (const char* gpu : {"h200-sxm", "a100-sxm-80", "mi300x", "b200", "v100-sxm2", "t4", "mi355x", "rtx-5090",
                          "ascend-910b2", "ascend-950pr"}) {
    if (runs_on(mapping, load_machine(gpu, "test"))) return gpu;
  }
  return {};
}

}  // namespace napkin::internal::test
