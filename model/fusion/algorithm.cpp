#include "model/fusion/algorithm.hpp"

#include "model/base/error.hpp"
#include "model/diagram/library.hpp"
#include "model/fusion/gradient.hpp"
#include "model/fusion/rewrite.hpp"

namespace napkin::internal {
namespace {

/// Returns the built-in diagram of equal operations, for which there may be kernels; else the derived one.
Diagram known_or(const Diagram& derived) {
  for (const std::string& name : builtin_diagrams()) {
    Diagram known = load_diagram(name);
    if (same_up_to_names(known, derived)) return known;
  }
  return derived;
}

std::string names_of_outputs(const Diagram& d) {
  std::vector<std::string> names;
  for (ArrayId id : d.outputs) names.push_back(d.arrays[static_cast<std::size_t>(id)].name);
  return joined(names);
}

}  // namespace

std::string diagram_part(const std::string& algorithm) {
  return algorithm.starts_with(gradient_prefix) ? algorithm.substr(gradient_prefix.size()) : algorithm;
}

Diagram load_algorithm(const std::string& algorithm) {
  const Diagram given = linearised(load_diagram(diagram_part(algorithm)));
  if (!algorithm.starts_with(gradient_prefix)) return given;
  const Gradient derived = gradient(given);
  Diagram out = known_or(derived.backward);
  const bool known = out.name != derived.backward.name;
  out.rewritings.push_back("gradient: " + names_of_outputs(out) + " follow from " + given.name + " in reverse" +
                           (known ? "; operation by operation it is " + out.name : ""));
  for (std::size_t i = given.outputs.size(); i < derived.forward.outputs.size(); ++i) {
    out.rewritings.push_back("gradient: " + given.name + " has to store " +
                             derived.forward.arrays[static_cast<std::size_t>(derived.forward.outputs[i])].name +
                             " as well");
  }
  for (const std::string& reason : derived.left_out) out.rewritings.push_back("gradient: none of " + reason);
  return linearised(out);
}

}  // namespace napkin::internal
