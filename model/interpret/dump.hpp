#pragma once
// dump_into writes intermediate values as files, S.npy among them, to lay beside a kernel's own.

#include <string>

#include "model/interpret/npy.hpp"
#include "model/interpret/run.hpp"

namespace napkin {

/// "S.g0_2.i5.npy": the name, the group's index on each grouped axis, the iteration; ".head" or ".tail" instead of the
/// iteration outside the loop. What a name may not hold in a file's name becomes '_'.
[[nodiscard]] std::string dump_name(const Observation& observation);

/// An observer that saves what it sees in a folder, which must exist. It throws Error where a file cannot be written.
[[nodiscard]] Observer dump_into(std::string folder, NpyType type = NpyType::f8);

}  // namespace napkin
