#pragma once
// A Mapped owns everything that a placed diagram points at.

#include <string>
#include <utility>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal::testing {

using Given = std::vector<std::pair<std::string, std::int64_t>>;
using Text = std::vector<std::pair<std::string, std::string>>;

struct Mapped {
  Mapping mapping;
  Machine machine;
  Streamed streamed;
  Problem problem;
  Placer placer;

  Mapped(const Diagram& diagram, Mapping m, Machine on, const Given& shape, Mask mask = {}, DType dtype = DType::bf16)
      : mapping(std::move(m)),
        machine(std::move(on)),
        streamed(streamed_by(mapping, diagram)),
        problem{resolve_sizes(diagram, shape, "--shape"), mask, dtype},
        placer(streamed, mapping, machine, problem) {}
  Mapped(const std::string& algorithm, const std::string& kernel, const std::string& gpu, const Given& shape,
         Mask mask = {}, DType dtype = DType::bf16)
      : Mapped(load_diagram(algorithm), load_mapping(kernel, "--kernel"), load_machine(gpu, "--gpu"), shape, mask,
               dtype) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  /// Returns the tile of every knob's first value, except the given ones.
  [[nodiscard]] Tile tile(const Text& given) const {
    Tile out;
    for (const Knob& knob : mapping.knobs) out.values.push_back(knob.domain[0]);
    for (const auto& [name, text] : given) {
      const auto id = static_cast<std::size_t>(mapping.find_knob(name).value());
      out.values[id] = parse_knob(mapping.knobs[id], text, "--tile");
    }
    return out;
  }
  [[nodiscard]] PlacedDiagram place(const Text& given) const { return placer.place(tile(given)); }
};

/// The two-level machine of option --memory with the ideal mapping.
struct Abstract {
  Machine machine;
  Streamed streamed;
  Mapping mapping;
  Problem problem;
  Placer placer;

  Abstract(const Streamed& s, const Given& shape, Mask mask = {}, std::int64_t values = 1 << 30)
      : machine(abstract_machine(values)),
        streamed(s),
        mapping(ideal_mapping(streamed, machine)),
        problem{resolve_sizes(streamed.diagram, shape, "--shape"), mask, DType::value},
        placer(streamed, mapping, machine, problem) {}
  Abstract(const Abstract&) = delete;
  Abstract& operator=(const Abstract&) = delete;

  /// Places the diagram; grouped axes and the stream have size 1 if they are not given.
  [[nodiscard]] PlacedDiagram place(const Given& given) const {
    Tile out;
    out.values.assign(mapping.knobs.size(), 1);
    for (const auto& [name, value] : given)
      out.values[static_cast<std::size_t>(mapping.find_knob(name).value())] = value;
    return placer.place(out);
  }
};

}  // namespace napkin::internal::testing
