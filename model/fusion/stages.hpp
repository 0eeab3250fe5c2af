#pragma once
// stages_of() shows a derivation as a row of diagrams, each equal to the one before: softmax and product streamed by
// themselves, the product before them composed, heads and queries weaved on, groups cut. (model/README.md, "Streams")

#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin::internal {

/// A diagram on the way from the unfused text to the streamed program of a group, and the rule that leads to it.
struct Stage {
  std::string rule;  ///< "unfused", "streamed", "fusion theorem 1 (input composition)", "fusion theorem 3 (weaving)",
                     ///< "groups"
  std::string text;  ///< sentence for people
  Streamed streamed;
};

/// Returns the stages in order, the derived one last; a rule that changes nothing has none.
[[nodiscard]] std::vector<Stage> stages_of(const Streamed& derived);

/// A streamed algorithm as the recursion by which it is expanded: F over x is B after F over the rest of x, until a
/// chunk is left. (model/README.md, "Streams")
struct Recursion {
  AxisId axis = 0;
  std::vector<std::string> functions;     ///< operations that the recursion expands, by array: "P = softmax over x"
  std::vector<std::string> accumulators;  ///< steps by which B includes a further chunk, by array: "O by a sum"
  std::vector<std::string> state;         ///< y: values that B passes on, "O", "mu", "z"
  std::vector<std::string> head, tail;    ///< G: initial values, "mu = -infinity"; K: steps after the last chunk
};

/// Returns the recursion; nothing without a streamed axis.
[[nodiscard]] std::optional<Recursion> recursion_of(const Streamed& streamed);

}  // namespace napkin::internal
