#pragma once
// A question laid out for tests: diagram, mapping, machine and shape by name, tiles as text.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/load.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::test {

using Shape = std::vector<std::pair<std::string, std::int64_t>>;
using Knobs = std::vector<std::pair<std::string, std::string>>;

class LaidOut {
 public:
  LaidOut(const std::string& kernel, const std::string& gpu, const Shape& shape, DType dtype, Mask mask = {})
      : machine(load_machine(gpu, "gpu")), mapping(load_mapping(kernel, "kernel")) {
    const Diagram diagram = load_diagram(mapping.algorithm);
    streamed = derive(diagram, mapped_roles(mapping, diagram));
    problem.sizes = resolve_sizes(streamed.diagram, shape, "shape");
    problem.mask = mask;
    problem.dtype = dtype;
    placer = std::make_unique<Placer>(streamed, mapping, machine, problem);
  }
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;

  /// The given knobs, the others at their first value.
  [[nodiscard]] Tile tile(const Knobs& knobs) const {
    Tile out;
    for (const Knob& knob : mapping.knobs) out.values.push_back(knob.domain.front());
    for (const auto& [name, text] : knobs) {
      const auto id = mapping.find_knob(name);
      if (!id) throw Error(mapping.name, "no knob '" + name + "'");
      out.values[static_cast<std::size_t>(*id)] = parse_knob(mapping.knobs[static_cast<std::size_t>(*id)], text, name);
    }
    return out;
  }
  [[nodiscard]] PlacedDiagram place(const Knobs& knobs) const { return placer->place(tile(knobs)); }

  Machine machine;
  Mapping mapping;
  Streamed streamed;
  Problem problem;
  std::unique_ptr<Placer> placer;
};

}  // namespace napkin::test
