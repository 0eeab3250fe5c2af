#pragma once
// profile_text writes a machine as a profile, so that parse_machine() reads an equal machine back. (schema:
// docs/own-gpu.md, "Keys")

#include <string>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Writes the machine as a profile: every number with unit, source and note, without comments and in an order of its
/// own.
[[nodiscard]] std::string profile_text(const Machine& machine);

/// A machine as two files: the architecture with the facts of a node, and the product with the number of nodes, clocks,
/// power and device memory. Measurements in the architecture's file name their product.
struct ProfileFiles {
  std::string architecture;  ///< architecture's file, architectures/sm_90.yaml beside the product's
  std::string product;
};
[[nodiscard]] ProfileFiles profile_files(const Machine& machine);

}  // namespace napkin::internal
