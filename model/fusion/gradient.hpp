#pragma once
// gradient() writes the diagram that computes the gradients of a diagram: of C = A B it is dA = dC B^T and dB = A^T dC.
// The result is a diagram as any other. (model/README.md, "Gradients")

#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

struct Gradient {
  /// The given diagram with the further outputs that `backward` takes: the log-sum-exp and results of each softmax.
  Diagram forward;
  /// The gradients. Takes the inputs and outputs of `forward` that it needs, and dO for each output O; yields dX for
  /// each input X that has a gradient. Computes all other values of the forward again.
  Diagram backward;
  std::vector<std::string> left_out;  ///< inputs without a gradient, each with its reason: "page names rows"
};

/// Differentiates a diagram in reverse. Throws Error where no input has a gradient, or a function has no derivative.
[[nodiscard]] Gradient gradient(const Diagram& diagram);

/// Returns true if both compute equal outputs from equal inputs by equal operations; names of other arrays, the order
/// of independent operations and of commuting operands may differ.
[[nodiscard]] bool same_up_to_names(const Diagram& a, const Diagram& b);

}  // namespace napkin::internal
