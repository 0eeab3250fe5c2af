#pragma once
// written() makes a diagram of a test from a line or two: written("q: , x: ", "\"S[q,x]\"", {"P[q,x] = softmax over x
// (S)"}, "P").

#include <string>
#include <vector>

#include "model/diagram/text.hpp"

namespace napkin::internal::testing {

inline Diagram written(const std::string& axes, const std::string& inputs, const std::vector<std::string>& operations,
                       const std::string& outputs) {
  std::string text = "algorithm: t\naxes: {" + axes + "}\ninputs: [" + inputs + "]\noperations:\n";
  for (const std::string& op : operations) text += "  - " + op + "\n";
  return parse_diagram(text + "outputs: [" + outputs + "]\n", "t.yaml");
}

}  // namespace napkin::internal::testing
