#pragma once
// about_number says in a line what a number of a profile is: "constants.tma_box" is the clocks that a thread takes to
// request one box from the copy engine.

#include <string>
#include <string_view>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Says what a number of a machine is, by its full name, as in "pipes.l2.latency"; "" if no number has that name.
[[nodiscard]] std::string about_number(const Machine& machine, std::string_view name);

}  // namespace napkin::internal
