// A call of several launches: the diagram of the launch that the mapping's levels and edges describe.

#include <algorithm>

#include "model/fusion/derive.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal {

bool Mapping::computed_apart(std::string_view output) const {
  return std::any_of(launches.begin(), launches.end(), [&](const Launch& launch) {
    return launch.streams() && std::count(launch.operations.begin(), launch.operations.end(), output) > 0;
  });
}

Diagram main_launch(const Mapping& mapping, const Diagram& diagram) {
  Diagram out = diagram;
  std::erase_if(out.operations, [&](const Operation& op) {
    return mapping.computed_apart(diagram.arrays[static_cast<std::size_t>(op.outputs.front())].name);
  });
  if (out.operations.size() == diagram.operations.size()) return out;
  std::erase_if(out.inputs, [&](ArrayId input) { return out.consumers(input).empty(); });
  for (std::size_t i = 0; i < out.arrays.size(); ++i) {
    const auto array = static_cast<ArrayId>(i);
    if (!out.is_input(array) && !out.producer(array) && !out.consumers(array).empty()) out.inputs.push_back(array);
  }
  return out;
}

Streamed streamed_by(const Mapping& mapping, const Diagram& diagram) {
  const Diagram main = main_launch(mapping, diagram);
  check(mapping, main);
  return derive(main, mapped_roles(mapping, main));
}

}  // namespace napkin::internal
