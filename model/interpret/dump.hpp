#pragma once
// dump_into writes intermediate values as files, S.npy among them, to compare with a kernel's own.

#include <string>

#include "model/interpret/npy.hpp"
#include "model/interpret/run.hpp"

namespace napkin::internal {

/// Returns a dump's file name: the array, the group's index on each grouped axis, the iteration or ".head" or ".tail":
/// "S.g0_2.i5.npy". Characters that file names exclude become '_'.
[[nodiscard]] std::string dump_name(const Observation& observation);

/// Returns an observer that saves arrays in a folder, which must exist. It throws Error if a file cannot be written.
[[nodiscard]] Observer dump_into(std::string folder, NpyType type = NpyType::f8);

}  // namespace napkin::internal
