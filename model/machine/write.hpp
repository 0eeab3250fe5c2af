#pragma once
// profile_text writes a machine as a profile, so that parse_machine() reads an equal machine back. (schema:
// docs/own-gpu.md, "Keys")

#include <string>

#include "model/machine/machine.hpp"

namespace napkin {

/// Comments and the order of the file that a machine was read from are lost; every number keeps unit, source and note.
[[nodiscard]] std::string profile_text(const Machine& machine);

/// The same machine as two files: what one node does, and what a product adds to it (how many nodes, their clock, the
/// power, device memory). A measurement in the architecture's says the product that it was made on.
struct ProfileFiles {
  std::string architecture;  ///< architectures/sm_90.yaml beside the product's
  std::string product;
};
[[nodiscard]] ProfileFiles profile_files(const Machine& machine);

}  // namespace napkin
