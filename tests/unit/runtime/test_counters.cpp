#include <doctest/doctest.h>

#include "kernels/runtime/counters.hpp"

namespace test_counters {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("a refusal says what would allow it") {
  const std::string privileges = refusal("cuptiRangeProfilerEnable", 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
  CHECK(privileges.starts_with("cuptiRangeProfilerEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: "));
  CHECK(privileges.find("ERR_NVGPUCTRPERM") != std::string::npos);
  CHECK(privileges.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  CHECK(refusal("call", 33, "").find("operator") != std::string::npos);
  CHECK(refusal("call", 1, "") == "call: result 1");
}

}  // namespace test_counters
