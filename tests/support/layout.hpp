#pragma once
// A LaidOut is a question laid out for tests: diagram, mapping, machine and shape by name, tiles as text.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal::test {

using Shape = std::vector<std::pair<std::string, std::int64_t>>;
using Knobs = std::vector<std::pair<std::string, std::string>>;

/// Reads each built-in document once, since none changes while a test runs.
template <class Load>
const auto& read_once(const Load& load, const std::string& name) {
  static std::map<std::string, decltype(load(name))> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, load(name)).first->second;
}

inline const Machine& built_in_machine(const std::string& name) {
  return read_once([](const std::string& n) { return load_machine(n, "gpu"); }, name);
}
inline const Mapping& built_in_mapping(const std::string& name) {
  return read_once([](const std::string& n) { return load_mapping(n, "kernel"); }, name);
}
inline const Diagram& built_in_diagram(const std::string& name) {
  return read_once([](const std::string& n) { return load_diagram(n); }, name);
}

class LaidOut {
 public:
  LaidOut(const std::string& kernel, const std::string& gpu, const Shape& shape, DType dtype, Mask mask = {})
      : machine(built_in_machine(gpu)), mapping(built_in_mapping(kernel)) {
    const Diagram& diagram = built_in_diagram(mapping.algorithm);
    streamed = streamed_by(mapping, diagram);
    problem.sizes = resolve_sizes(streamed.diagram, shape, "shape");
    problem.mask = mask;
    problem.dtype = dtype;
    placer = std::make_unique<Placer>(streamed, mapping, machine, problem);
  }
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;

  /// Returns the tile with the given knobs, the others at their first value.
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

}  // namespace napkin::internal::test
