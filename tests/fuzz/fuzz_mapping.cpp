// links: model/resource
// Mappings of any bytes: only napkin::Error may escape, from reading, checking, placing and counting.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "model/resource/resources.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

const Machine& machine() {
  static const Machine one = load_machine("h200-sxm", "fuzz");
  return one;
}

const Diagram& diagram(const std::string& name) {
  static const std::map<std::string, Diagram> all = [] {
    std::map<std::string, Diagram> out;
    for (const std::string& builtin : builtin_diagrams()) out.emplace(builtin, load_diagram(builtin));
    return out;
  }();
  const auto found = all.find(name);
  return found != all.end() ? found->second : all.at("attention");
}

void place(const Mapping& mapping, std::size_t which) {
  const Streamed streamed = streamed_by(mapping, diagram(mapping.algorithm));
  Problem problem;
  problem.sizes.assign(streamed.diagram.axes.size(), 200);
  if (which % 2 == 1) problem.mask = {Mask::Kind::window, 7, 3};
  const Placer placer(streamed, mapping, machine(), problem);
  Tile tile;
  for (const Knob& knob : mapping.knobs) tile.values.push_back(knob.domain[which % knob.domain.size()]);
  const PlacedDiagram placed = placer.place(tile);
  (void)transfers(placed);
  (void)memories(placed);
  (void)work(placed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Mapping mapping = parse_mapping({reinterpret_cast<const char*>(data), size}, "fuzz");
    (void)runs_on(mapping, machine());
    check(mapping, diagram(mapping.algorithm));
    for (std::size_t which = 0; which < 3; ++which) place(mapping, which);
  } catch (const napkin::Error&) {
  }
  return 0;
}
