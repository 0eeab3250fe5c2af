// A call of several launches: the diagram of the launch that the mapping's levels and edges describe.

#include <algorithm>

#include "model/fusion/derive.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal {

namespace {

/// Checks the operations of a combine: elementwise ones, since what reads the whole results sums nothing, and nothing
/// of the launch before it reads theirs.
void check_combine(const Mapping& mapping, const Diagram& diagram) {
  const CombineMapping& combine = *mapping.combine;
  const auto fail = [&](const std::string& what, const std::string& right) {
    throw Error(combine.location, "combine.operations", what, right);
  };
  const auto name = [&](ArrayId id) { return diagram.arrays[static_cast<std::size_t>(id)].name; };
  for (const std::string& output : combine.operations) {
    const auto id = diagram.find_array(output);
    const auto made_by = id ? diagram.producer(*id) : std::nullopt;
    if (!made_by) fail("no operation of " + diagram.name + " makes '" + output + "'", "the output of an operation");
    const Operation& op = diagram.operations[static_cast<std::size_t>(*made_by)];
    const bool consumes = !op.own.empty();
    if (consumes) fail("'" + output + "' is a sum, or a softmax", "elementwise operations on whole results");
    for (const OpId reader : diagram.consumers(*id)) {
      const std::string read = name(diagram.operations[static_cast<std::size_t>(reader)].outputs[0]);
      if (!lists(combine.operations, read))
        fail("'" + read + "' reads '" + output + "' before the parts are combined", "'" + read + "' among them");
    }
  }
}

/// Makes outputs of what the operations that were left out read, in place of theirs.
void cut_outputs(Diagram& main, const Diagram& whole) {
  std::erase_if(main.outputs, [&](ArrayId id) { return whole.producer(id) && !main.producer(id); });
  for (const Operation& op : whole.operations) {
    if (main.producer(op.outputs[0])) continue;
    for (const ArrayId id : op.inputs) {
      if (main.producer(id) && !main.is_output(id)) main.outputs.push_back(id);
    }
  }
}

}  // namespace

bool Mapping::computed_apart(std::string_view output) const {
  if (combine && lists(combine->operations, output)) return true;
  return std::any_of(launches.begin(), launches.end(), [&](const Launch& launch) {
    return launch.streams() && std::count(launch.operations.begin(), launch.operations.end(), output) > 0;
  });
}

Diagram main_launch(const Mapping& mapping, const Diagram& diagram) {
  if (mapping.combine) check_combine(mapping, diagram);
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
  cut_outputs(out, diagram);
  return out;
}

Streamed streamed_by(const Mapping& mapping, const Diagram& diagram) {
  const Diagram main = main_launch(mapping, diagram);
  check(mapping, main);
  return derive(main, mapped_roles(mapping, main));
}

}  // namespace napkin::internal
