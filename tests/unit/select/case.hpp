#pragma once
// A Case is a question by names, for the tests of the solver: attention on h200-sxm at q = x = 8192.

#include <string>
#include <utility>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "solver/space/setup.hpp"
#include "tests/support/setup.hpp"

namespace napkin::internal::testing {

using Shape = std::vector<std::pair<std::string, std::int64_t>>;

/// Owns what a Setup points to.
struct Case {
  Mapping mapping;
  Machine machine;
  Streamed streamed;
  Problem problem;

  Case(const std::string& kernel, const std::string& gpu, const Shape& shape, Mask mask = {}, DType dtype = DType::bf16)
      : mapping(load_mapping(kernel, "test")), machine(load_machine(gpu, "test")) {
    const Diagram diagram = load_diagram(mapping.algorithm);
    streamed = streamed_by(mapping, diagram);
    problem = {resolve_sizes(diagram, shape, "test"), mask, dtype};
  }
  /// Gives a knob other values, where the mapping has it.
  void restrict(const std::string& knob, const std::vector<std::int64_t>& domain) {
    if (const auto id = mapping.find_knob(knob)) mapping.knobs[static_cast<std::size_t>(*id)].domain = domain;
  }
  [[nodiscard]] Setup setup() const { return test::setup_of(*this); }
  /// Every knob at its first value, but those given (where the mapping has them).
  [[nodiscard]] Tile tile(const Shape& given) const {
    Tile out;
    for (const Knob& knob : mapping.knobs) out.values.push_back(knob.domain.front());
    for (const auto& [name, value] : given) {
      if (const auto id = mapping.find_knob(name)) out.values[static_cast<std::size_t>(*id)] = value;
    }
    return out;
  }
};

}  // namespace napkin::internal::testing
