// Composition, concatenation and weaving. (model/README.md, "Diagrams")

#include <algorithm>
#include <map>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {
namespace {

/// Adds G's axes, arrays and operations to a diagram that starts as F; names are matched, never positions.
class Merger {
 public:
  Merger(Diagram f, const Diagram& g) : into_(std::move(f)), g_(g) {}

  void axes() {
    for (const Axis& a : g_.axes) {
      if (!into_.find_axis(a.name)) {
        into_.axes.push_back(a);
        into_.axes.back().fallback = std::monostate{};  // an axis is matched by name below, when all exist
      }
    }
    for (const Axis& a : g_.axes) {
      auto fallback = a.fallback;
      if (const auto* other = std::get_if<AxisId>(&fallback)) {
        fallback = into_.axis(g_.axes[static_cast<std::size_t>(*other)].name);
      }
      Axis& mine = into_.axes[static_cast<std::size_t>(into_.axis(a.name))];
      if (std::holds_alternative<std::monostate>(mine.fallback)) mine.fallback = fallback;
      if (!std::holds_alternative<std::monostate>(fallback) && mine.fallback != fallback) {
        throw Error(g_.name, "axis '" + a.name + "' has another default than in " + into_.name, "equal defaults");
      }
    }
  }

  void folds() {
    for (const Fold& fold : g_.folds) {
      const auto same = std::find_if(into_.folds.begin(), into_.folds.end(),
                                     [&](const Fold& mine) { return mine.name == fold.name; });
      if (same == into_.folds.end())
        into_.folds.push_back(fold);
      else if (!(*same == fold))
        throw Error(g_.name, "fold '" + fold.name + "' is another than in " + into_.name, "another name");
    }
  }

  /// Maps an input of G to the array of `into_` with its name, which must have its axes; to a new input if there is
  /// none.
  void input(ArrayId id, bool may_be_result) {
    const Array& a = array(id);
    const auto same = into_.find_array(a.name);
    if (!same) {
      into_.inputs.push_back(add(id));
      return;
    }
    if (!into_.is_input(*same) && !(may_be_result && into_.is_output(*same))) {
      throw Error(g_.name, "input '" + a.name + "' has the name of an array inside " + into_.name, "another name");
    }
    const Array& mine = into_.arrays[static_cast<std::size_t>(*same)];
    if (mine.axes != translated(a.axes) || mine.type != a.type || mine.reindexed != translated(a.reindexed)) {
      throw Error(g_.name, "'" + a.name + "' has other axes than in " + into_.name, "equal axes for equal names");
    }
    arrays_[id] = *same;
  }

  void operations() {
    for (const Operation& op : g_.operations) {
      Operation copy = op;
      for (ArrayId& id : copy.inputs) id = arrays_.at(id);
      for (ArrayId& id : copy.outputs) {
        if (into_.find_array(array(id).name)) {
          throw Error(g_.name, "'" + array(id).name + "' is also an array of " + into_.name, "another name");
        }
        id = add(id);
      }
      copy.own = translated(op.own);
      if (copy.scale.axis) copy.scale.axis = translated(std::vector<AxisId>{*copy.scale.axis})[0];
      if (copy.mask) {
        const auto pair = translated(std::vector<AxisId>{(*copy.mask)[0], (*copy.mask)[1]});
        copy.mask = {pair[0], pair[1]};
      }
      into_.operations.push_back(std::move(copy));
    }
    for (ArrayId id : g_.outputs) into_.outputs.push_back(arrays_.at(id));
  }

  [[nodiscard]] const std::map<ArrayId, ArrayId>& translation() const { return arrays_; }
  Diagram& result() { return into_; }

 private:
  const Array& array(ArrayId id) const { return g_.arrays[static_cast<std::size_t>(id)]; }

  std::vector<AxisId> translated(const std::vector<AxisId>& axes) const {
    std::vector<AxisId> mine;
    for (AxisId a : axes) mine.push_back(into_.axis(g_.axes[static_cast<std::size_t>(a)].name));
    return mine;
  }

  /// Renames the axes and tables of shifted dimensions. A table is an input added before the arrays whose rows it
  /// chooses.
  std::vector<Reindex> translated(std::vector<Reindex> reindexed) const {
    for (Reindex& dimension : reindexed) {
      dimension.of = translated(std::vector<AxisId>{dimension.of})[0];
      if (dimension.table) dimension.table = arrays_.at(*dimension.table);
    }
    return reindexed;
  }

  ArrayId add(ArrayId id) {
    Array copy = array(id);
    copy.axes = translated(copy.axes);
    copy.reindexed = translated(copy.reindexed);
    into_.arrays.push_back(std::move(copy));
    return arrays_[id] = static_cast<ArrayId>(into_.arrays.size()) - 1;
  }

  Diagram into_;
  const Diagram& g_;
  std::map<ArrayId, ArrayId> arrays_;
};

}  // namespace

Diagram compose(const Diagram& f, const Diagram& g) {
  Merger merger(f, g);
  merger.axes();
  merger.folds();
  for (ArrayId id : g.inputs) merger.input(id, true);
  Diagram& d = merger.result();
  std::vector<ArrayId> fed;
  for (const auto& [from, to] : merger.translation()) {
    if (f.is_output(to)) fed.push_back(to);
  }
  if (fed.empty()) throw Error(g.name, "no input of " + g.name + " is an output of " + f.name, "a shared name");
  merger.operations();
  std::erase_if(d.outputs, [&](ArrayId id) { return std::find(fed.begin(), fed.end(), id) != fed.end(); });
  d.name = f.name + "_" + g.name;
  d.about = g.name + " after " + f.name;
  check(d);
  return d;
}

Diagram concatenate(const Diagram& f, const Diagram& g) {
  Merger merger(f, g);
  merger.axes();
  merger.folds();
  for (ArrayId id : g.inputs) merger.input(id, false);
  merger.operations();
  Diagram& d = merger.result();
  d.name = f.name + "_and_" + g.name;
  d.about = f.name + " beside " + g.name;
  check(d);
  return d;
}

Diagram weave(const Diagram& f, const std::string& axis, const std::vector<std::string>& copied) {
  if (f.find_axis(axis)) throw Error(f.name, "axis '" + axis + "' exists already", "a new axis name");
  std::vector<bool> weaved(f.arrays.size(), false);
  for (ArrayId id : f.inputs) weaved[static_cast<std::size_t>(id)] = true;
  for (const std::string& name : copied) {
    const ArrayId id = f.array(name);
    if (!f.is_input(id)) throw Error(f.name, "'" + name + "' is not an input", "only inputs are copied");
    weaved[static_cast<std::size_t>(id)] = false;
  }
  // the new axis is not one of a table: all sequences or images share one table
  for (std::size_t i = 0; i < f.arrays.size(); ++i) {
    if (f.is_table(static_cast<ArrayId>(i))) weaved[i] = false;
  }
  // An operation whose inputs are all copied has the same result for every index, and does not get the new axis.
  for (const Operation& op : f.operations) {
    const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                 [&](ArrayId id) { return weaved[static_cast<std::size_t>(id)]; });
    for (ArrayId id : op.outputs) weaved[static_cast<std::size_t>(id)] = any;
  }
  for (ArrayId id : f.outputs) {
    if (!weaved[static_cast<std::size_t>(id)]) {
      throw Error(f.name, "output '" + f.arrays[static_cast<std::size_t>(id)].name + "' depends on copied inputs only",
                  "weave at least one input that it depends on");
    }
  }
  Diagram d = f;
  d.axes.push_back(Axis{axis, {}, {}});
  const auto id = static_cast<AxisId>(d.axes.size()) - 1;
  for (std::size_t i = 0; i < d.arrays.size(); ++i) {
    if (!weaved[i]) continue;
    d.arrays[i].axes.insert(d.arrays[i].axes.begin(), id);
    for (Reindex& dimension : d.arrays[i].reindexed) ++dimension.first;
  }
  check(d);
  return d;
}

}  // namespace napkin::internal
