#pragma once
// load_algorithm() finds an algorithm as users name it, "attention", "mine.yaml" or "gradient:attention", and rewrites
// it by linearity.

#include <string>
#include <string_view>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

constexpr std::string_view gradient_prefix = "gradient:";

/// Returns the name or path of the diagram itself: "attention" of "gradient:attention".
[[nodiscard]] std::string diagram_part(const std::string& algorithm);

/// Loads the diagram of that name or path, or with "gradient:" in front the one that computes its gradients, which is
/// the built-in one of equal operations if there is one. Throws Error.
[[nodiscard]] Diagram load_algorithm(const std::string& algorithm);

}  // namespace napkin::internal
