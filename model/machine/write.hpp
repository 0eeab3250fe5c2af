#pragma once
// A machine as a profile's text: parse_machine() of it is the same machine. (schema: hardware_profiles/README.md)

#include <string>

#include "model/machine/machine.hpp"

namespace napkin {

/// Comments and the order of the file that a machine was read from are lost; every number keeps unit, source and note.
[[nodiscard]] std::string profile_text(const Machine& machine);

}  // namespace napkin
