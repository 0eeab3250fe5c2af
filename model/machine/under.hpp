#pragma once
// under() gives a machine as it is under the conditions of a card. (model/README.md, Time: power)

#include <string>

#include "model/base/quantity.hpp"
#include "model/machine/conditions.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Returns the watts that may be held under the load (eq. 16.3): a load that pauses may exceed the board's limit by
/// what its pauses save, up to the burst limit. Throws Error at `where` if the machine lacks a limit that is needed.
[[nodiscard]] Watts power_limit(const Machine& machine, const CardLoad& load, const std::string& where);

/// Returns the machine under the conditions. Throws Error at `where` for a clock above the maximum, and as
/// power_limit().
[[nodiscard]] Machine under(Machine machine, const CardConditions& conditions, const std::string& where = "--load");

}  // namespace napkin::internal
