#include "model/diagram/slice.hpp"

#include <algorithm>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

template <class Id>
bool has(const std::vector<Id>& ids, Id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The renumbering of the axes and arrays that the slice uses.
class Slicer {
 public:
  Slicer(const Diagram& whole, const Problem& problem, OpId first, OpId last)
      : whole_(whole),
        problem_(problem),
        operations_(whole.operations.begin() + first, whole.operations.begin() + last + 1),
        rest_(whole.operations.begin() + last + 1, whole.operations.end()) {
    axis_.assign(whole.axes.size(), -1);
    array_.assign(whole.arrays.size(), -1);
  }

  [[nodiscard]] Slice slice() {
    for (const Operation& op : operations_) {
      for (const ArrayId id : op.inputs) use(id, !made(id));
      for (const ArrayId id : op.outputs) use(id, false);
    }
    for (std::size_t i = 0; i < axis_.size(); ++i) add_axis(i);
    for (Array& array : out_.diagram.arrays) {
      for (AxisId& axis : array.axes) axis = axis_[static_cast<std::size_t>(axis)];
      for (Reindex& dimension : array.reindexed) {
        dimension.of = axis_[static_cast<std::size_t>(dimension.of)];
        if (dimension.table) dimension.table = array_[static_cast<std::size_t>(*dimension.table)];
      }
    }
    for (const Operation& op : operations_) out_.diagram.operations.push_back(renumbered(op));
    for (const Operation& op : operations_) add_outputs(op);
    for (const Fold& fold : whole_.folds) {
      const auto applies = [&](const Operation& op) { return op.function == fold.name && op.kind != OpKind::map; };
      if (std::any_of(operations_.begin(), operations_.end(), applies)) out_.diagram.folds.push_back(fold);
    }
    out_.problem.dtype = problem_.dtype;
    if (!mask_axes(out_.diagram).empty()) out_.problem.mask = problem_.mask;
    for (const ArrayId id : out_.diagram.outputs) {
      const std::string& name = out_.diagram.arrays[static_cast<std::size_t>(id)].name;
      out_.diagram.name += (out_.diagram.name.empty() ? "" : ",") + name;
    }
    return std::move(out_);
  }

 private:
  /// Returns true if an operation of the slice computes the array.
  [[nodiscard]] bool made(ArrayId id) const {
    return std::any_of(operations_.begin(), operations_.end(),
                       [&](const Operation& op) { return has(op.outputs, id); });
  }
  void use(ArrayId id, bool from_before) {
    ArrayId& own = array_[static_cast<std::size_t>(id)];
    if (own >= 0) return;
    for (const Reindex& dimension : whole_.arrays[static_cast<std::size_t>(id)].reindexed) {
      if (dimension.table) use(*dimension.table, true);
    }
    own = static_cast<ArrayId>(out_.diagram.arrays.size());
    out_.diagram.arrays.push_back(whole_.arrays[static_cast<std::size_t>(id)]);
    if (from_before) out_.diagram.inputs.push_back(own);
  }
  void add_axis(std::size_t i) {
    const auto carries = [&](const Array& array) {
      const auto axes = stored_axes(array);
      return array.has(static_cast<AxisId>(i)) || has(axes, static_cast<AxisId>(i));
    };
    if (std::none_of(out_.diagram.arrays.begin(), out_.diagram.arrays.end(), carries)) return;
    axis_[i] = static_cast<AxisId>(out_.diagram.axes.size());
    // roles belong to the whole diagram
    out_.diagram.axes.push_back({whole_.axes[i].name, {}, whole_.axes[i].location});
    out_.problem.sizes.push_back(problem_.sizes[i]);
  }
  [[nodiscard]] Operation renumbered(Operation op) const {
    for (ArrayId& id : op.inputs) id = array_[static_cast<std::size_t>(id)];
    for (ArrayId& id : op.outputs) id = array_[static_cast<std::size_t>(id)];
    for (AxisId& id : op.own) id = axis_[static_cast<std::size_t>(id)];
    if (op.mask)
      op.mask = {axis_[static_cast<std::size_t>((*op.mask)[0])], axis_[static_cast<std::size_t>((*op.mask)[1])]};
    if (!op.scale.axis) return op;
    const AxisId axis = axis_[static_cast<std::size_t>(*op.scale.axis)];
    if (axis >= 0)
      op.scale.axis = axis;
    else
      op.scale = {value_of(op.scale, problem_.sizes), std::nullopt, 0, 1};  // the scale's axis is not in the slice
    return op;
  }
  void add_outputs(const Operation& op) {
    for (const ArrayId id : op.outputs) {
      const auto reads = [&](const Operation& later) { return has(later.inputs, id); };
      if (whole_.is_output(id) || std::any_of(rest_.begin(), rest_.end(), reads))
        out_.diagram.outputs.push_back(array_[static_cast<std::size_t>(id)]);
    }
  }

  const Diagram& whole_;
  const Problem& problem_;
  std::vector<Operation> operations_, rest_;
  std::vector<AxisId> axis_;    // axis of the slice by axis of the whole diagram; -1: none
  std::vector<ArrayId> array_;  // array of the slice by array of the whole diagram; -1: none
  Slice out_;
};

}  // namespace

Slice slice_of(const Diagram& whole, const Problem& problem, OpId first, OpId last) {
  return Slicer(whole, problem, first, last).slice();
}

}  // namespace napkin::internal
