#pragma once
// A CompileReport has the compiler's statements about a kernel that it compiled: 240 registers a thread, no spills.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/quantity.hpp"

namespace napkin::internal {

struct CompileReport {
  int registers = 0;                       ///< registers of a thread at launch
  Bytes spill_stores, spill_loads, stack;  ///< bytes of a thread
  Bytes static_shared;                     ///< bytes of a block; Napkin's kernels have none
  /// The compiler's warnings that it serialised wgmma (C7504 to C7517) or ignored a setmaxnreg: such a kernel computes
  /// right results, but its time is not that of its mapping.
  std::vector<std::string> faults;
  std::string log;

  [[nodiscard]] bool spills() const { return spill_stores.value > Count(0) || spill_loads.value > Count(0); }
  [[nodiscard]] bool clean() const { return !spills() && faults.empty(); }
  /// Explains in a line why the code is not clean; "" if it is.
  [[nodiscard]] std::string objection() const;
};

/// Reads the log of ptxas -v for one kernel. Throws CudaFailure if it states no registers.
[[nodiscard]] CompileReport read_report(std::string_view log);

}  // namespace napkin::internal
