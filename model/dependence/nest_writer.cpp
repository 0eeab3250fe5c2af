#include "model/dependence/nest_writer.hpp"

#include <algorithm>
#include <utility>

namespace napkin::internal::dependence {

NestWriter::NestWriter(const Streamed& streamed, const std::vector<std::int64_t>& sizes)
    : s_(streamed), d_(streamed.diagram), sizes_(sizes) {
  result_.nest.name = d_.name;
  result_.nest.about = "The streamed program of " + d_.name + ", groups and chunks of one element";
  result_.grouped.resize(d_.axes.size());
  name_arrays();
  add_outer_loops();
}

void NestWriter::name_arrays() {
  for (const Array& a : d_.arrays) names_of_arrays_.push_back(names_.fresh(a.name));
  for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(i);
    const bool in_memory = d_.is_input(id) || d_.is_output(id);
    low_.push_back(in_memory ? names_.fresh(names_of_arrays_[i] + "_low") : names_of_arrays_[i]);
    parts_.push_back(s_.combine_of(id) != nullptr ? names_.fresh(names_of_arrays_[i] + "_parts") : "");
  }
  for (const Auxiliary& a : s_.auxiliaries) {
    std::string name = a.name;
    std::replace(name.begin(), name.end(), '.', '_');
    auxiliaries_.push_back(names_.fresh(name));
  }
}

void NestWriter::add_outer_loops() {
  const auto name_of = [&](AxisId axis) { return d_.axes[at(axis)].name; };
  for (std::size_t i = 0; i < d_.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (!s_.grouped(axis)) continue;
    result_.grouped[i] = new_loop(axis, name_of(axis));
    groups_.push_back(*result_.grouped[i]);
  }
  if (s_.stream) result_.stream = new_loop(*s_.stream, name_of(*s_.stream) + (s_.grouped(*s_.stream) ? "_s" : ""));
  result_.outer = result_.nest.loops.size();
}

LoopId NestWriter::new_loop(AxisId axis, const std::string& name) {
  result_.nest.loops.push_back({names_.fresh(name), 0, sizes_[at(axis)], {}});
  result_.axes.push_back(axis);
  return static_cast<LoopId>(result_.nest.loops.size()) - 1;
}

LoopId NestWriter::new_inner_loop(AxisId axis, const char* kind) {
  return new_loop(axis, d_.axes[at(axis)].name + kind + std::to_string(++inner_));
}

NestWriter::Axes NestWriter::state_axes(OpId softmax) const {
  for (const Auxiliary& a : s_.auxiliaries) {
    if (a.owner == softmax) return a.axes;
  }
  return {};
}

NestWriter::Axes NestWriter::split_axes(ArrayId id) const {
  Axes axes;
  for (const Combine& c : s_.combines) {
    if (c.array == id) axes.push_back(c.axis);
  }
  return axes;
}

NestWriter::Axes NestWriter::copied_axes(ArrayId id) const {
  Axes axes;
  for (std::size_t i = 0; i < d_.axes.size() && d_.is_output(id); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (result_.grouped[i] && !depends(id, axis)) axes.push_back(axis);
  }
  return axes;
}

/// Returns true if any value that goes into the array carries the axis.
bool NestWriter::depends(ArrayId id, AxisId axis) const {
  if (array(id).has(axis)) return true;
  const auto maker = d_.producer(id);
  if (!maker) return false;
  const std::vector<ArrayId>& inputs = op(*maker).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](ArrayId in) { return depends(in, axis); });
}

bool NestWriter::streams(const Axes& axes) const {
  return s_.stream && std::find(axes.begin(), axes.end(), *s_.stream) != axes.end();
}

NestWriter::Pass NestWriter::inner(const Axes& axes, Pass pass) {
  for (const AxisId axis : axes) {
    if (is_whole(axis) && pass.count(axis) == 0) pass[axis] = new_inner_loop(axis, "_");
  }
  return pass;
}

NestWriter::Pass NestWriter::all_loops(const Axes& axes, Pass pass) {
  for (const AxisId axis : axes) {
    if (pass.count(axis) == 0) pass[axis] = new_inner_loop(axis, "_c");
  }
  return pass;
}

Reference NestWriter::low(const std::string& name, const Axes& axes, const Pass& pass, bool anew) const {
  Reference r{name, {}};
  for (const LoopId group : groups_) r.subscripts.push_back({group, 0});
  if (anew || streams(axes)) r.subscripts.push_back({*result_.stream, 0});
  for (const AxisId axis : axes) {
    if (is_whole(axis)) r.subscripts.push_back({pass.at(axis), 0});
  }
  return r;
}

Reference NestWriter::state(OpId softmax, std::size_t which, const Pass& pass) const {
  std::size_t i = 0;
  while (s_.auxiliaries[i].owner != softmax) ++i;
  return low(auxiliaries_[i + which], s_.auxiliaries[i].axes, pass, which == 1);
}

Reference NestWriter::global(ArrayId id, const Pass& pass) const {
  const std::string& parts = parts_[at(id)];
  Reference r{parts.empty() ? names_of_arrays_[at(id)] : parts, {}};
  for (const AxisId axis : copied_axes(id)) r.subscripts.push_back({*result_.grouped[at(axis)], 0});
  for (const AxisId axis : split_axes(id)) r.subscripts.push_back({*result_.grouped[at(axis)], 0});
  for (const AxisId axis : array(id).axes) {
    const auto& group = result_.grouped[at(axis)];
    if (group) r.subscripts.push_back({*group, 0});
    if (s_.stream == axis) r.subscripts.push_back({*result_.stream, 0});
    if (is_whole(axis)) r.subscripts.push_back({pass.at(axis), 0});
  }
  return r;
}

Reference NestWriter::part(ArrayId id, const Pass& pass) const {
  // subscripts 0 along axes of equal copies: the first copy
  Reference r{parts_[at(id)], std::vector<Subscript>(copied_axes(id).size())};
  for (const AxisId axis : split_axes(id)) r.subscripts.push_back({pass.at(axis), 0});
  const Reference own = combined(id, pass);
  r.subscripts.insert(r.subscripts.end(), own.subscripts.begin(), own.subscripts.end());
  return r;
}

Reference NestWriter::combined(ArrayId id, const Pass& pass) const {
  Reference r{names_of_arrays_[at(id)], {}};
  for (const AxisId axis : array(id).axes) r.subscripts.push_back({pass.at(axis), 0});
  return r;
}

void NestWriter::declare(const std::string& name, std::optional<double> initial) {
  if (result_.nest.find_array(name) == nullptr) result_.nest.arrays.push_back({name, initial, {}});
}

void NestWriter::emit(const Reference& target, Expression value, const Pass& pass) {
  std::vector<LoopId> loops = groups_;
  if (phase_ == Phase::loop && result_.stream) loops.push_back(*result_.stream);
  emit_in(std::move(loops), target, std::move(value), pass);
}

void NestWriter::emit_in(std::vector<LoopId> loops, const Reference& target, Expression value, const Pass& pass) {
  for (const auto& [axis, loop] : pass) loops.push_back(loop);
  std::sort(loops.begin(), loops.end());
  Statement s{"S" + std::to_string(result_.nest.statements.size() + 1), std::move(loops), target, std::move(value), {}};
  result_.nest.statements.push_back(std::move(s));
}

}  // namespace napkin::internal::dependence
