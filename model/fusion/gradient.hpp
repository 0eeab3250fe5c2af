#pragma once
// gradient() writes the diagram that computes the gradients of a diagram: of C = A B it is dA = dC B^T and dB = A^T dC.
// The result is a diagram as any other. (model/README.md, "Gradients")

#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin {

struct Gradient {
  /// The given diagram with the outputs that `backward` takes: the log-sum-exp of each softmax, results of a softmax.
  Diagram forward;
  /// The gradients: it takes the forward's inputs and outputs that it needs and dO for each output O, and yields dX for
  /// each input X that has a gradient. All else of the forward it computes again.
  Diagram backward;
  std::vector<std::string> left_out;  ///< inputs without a gradient, each with its reason: "page names rows"
};

/// Differentiates a diagram in reverse. Throws Error where no input has a gradient, or a function has no derivative.
[[nodiscard]] Gradient gradient(const Diagram& diagram);

/// Returns true if both compute equal outputs from equal inputs by equal operations, whatever the names between and the
/// order of independent operations and of commuting operands.
[[nodiscard]] bool same_up_to_names(const Diagram& a, const Diagram& b);

}  // namespace napkin
