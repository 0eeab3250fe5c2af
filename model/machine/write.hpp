#pragma once
// profile_text writes a machine as a profile, so that parse_machine() reads an equal machine back. (schema:
// docs/own-gpu.md, "Keys")

#include <string>

#include "model/machine/machine.hpp"

namespace napkin {

/// Writes the machine as a profile: every number with unit, source and note, without comments and in an order of its
/// own.
[[nodiscard]] std::string profile_text(const Machine& machine);

/// The same machine as two files: what one node does, and what a product adds to it (how many nodes, their clock, the
/// power, device memory). A measurement in the architecture's says the product that it was made on.
struct ProfileFiles {
  std::string architecture;  ///< architectures/sm_90.yaml beside the product's
  std::string product;
};
[[nodiscard]] ProfileFiles profile_files(const Machine& machine);

}  // namespace napkin
