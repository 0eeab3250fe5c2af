#include "model/fusion/rewrite_parts.hpp"

#include <algorithm>
#include <string>

namespace napkin::internal::rewrite {

ArrayId add_array(Diagram& diagram, const Array& after, std::vector<AxisId> axes) {
  int number = 1;
  std::string name;
  do name = after.name + "_" + std::to_string(number++);
  while (diagram.find_array(name));
  diagram.arrays.push_back(Array{name, std::move(axes), after.location});
  return static_cast<ArrayId>(diagram.arrays.size()) - 1;
}

std::vector<AxisId> result_axes(const Diagram& diagram, const Operation& op) {
  std::vector<AxisId> all;
  for (ArrayId in : op.inputs) {
    for (AxisId a : diagram.arrays[static_cast<std::size_t>(in)].axes) {
      if (!op.owns(a) && std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
    }
  }
  // A copy keeps the axes along which it repeats its operand.
  const std::vector<AxisId>& before = diagram.arrays[static_cast<std::size_t>(op.outputs[0])].axes;
  std::vector<AxisId> out;
  for (AxisId a : before) {
    if (op.kind == OpKind::copy || std::find(all.begin(), all.end(), a) != all.end()) out.push_back(a);
  }
  for (AxisId a : all) {
    if (std::find(out.begin(), out.end(), a) == out.end()) out.push_back(a);
  }
  return out;
}

void remove_unused(Diagram& diagram) {
  std::vector<bool> used(diagram.arrays.size(), false);
  const auto use = [&](const std::vector<ArrayId>& arrays) {
    for (ArrayId id : arrays) used[static_cast<std::size_t>(id)] = true;
  };
  use(diagram.inputs);
  use(diagram.outputs);
  for (const Operation& op : diagram.operations) {
    use(op.inputs);
    use(op.outputs);
  }
  std::vector<ArrayId> place(diagram.arrays.size(), -1);
  std::vector<Array> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<ArrayId>(kept.size());
    kept.push_back(std::move(diagram.arrays[i]));
  }
  diagram.arrays = std::move(kept);
  for (Array& array : diagram.arrays) {
    for (Reindex& dimension : array.reindexed) {
      if (dimension.table) dimension.table = place[static_cast<std::size_t>(*dimension.table)];
    }
  }
  const auto renumber = [&](std::vector<ArrayId>& arrays) {
    for (ArrayId& id : arrays) id = place[static_cast<std::size_t>(id)];
  };
  renumber(diagram.inputs);
  renumber(diagram.outputs);
  for (Operation& op : diagram.operations) {
    renumber(op.inputs);
    renumber(op.outputs);
  }
}

}  // namespace napkin::internal::rewrite
