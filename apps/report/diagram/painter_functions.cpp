// Functions as the paper draws them: a box over the lines that it consumes, curves from its operands to its results.

#include <algorithm>

#include "apps/report/diagram/painter.hpp"

namespace napkin::internal::report {
namespace {

constexpr const char* tensor_hue = "#1f6fc4";

}  // namespace

void Painter::curve(Point from, Point to, const std::string& colour, bool item) {
  Path path = bend(from, to, item ? "item" : "curve", colour, item ? 1.4 : curve_width);
  path.halo = from.y != to.y;
  if (item) path.dash = Dash::dotted;
  curves_.push_back(path);
}

void Painter::functions(std::size_t column) {
  std::vector<double> middles;
  for (const ColumnFunction& f : d_.columns[column].functions) {
    function(column, f);
    if (!f.outputs.empty()) middles.push_back(f_.bundles[at(f.outputs.front())].top);
  }
  std::sort(middles.begin(), middles.end());
  for (std::size_t i = 1; i < middles.size(); ++i) {  // between functions beside each other
    const double y = middles[i] - between;
    Path path = line({f_.left[column] + 2, y}, {f_.left[column + 1] - 2, y}, "tuple", grey, 1);
    path.dash = Dash::dashed;
    back_.push_back(path);
  }
}

void Painter::function(std::size_t column, const ColumnFunction& f) {
  const int home = f.outputs.front();
  const BundleFrame& b = f_.bundles[at(home)];
  const double x0 = f_.left[column], x1 = f_.left[column + 1],
               xl = f_.box_left[column] + (f_.box_right[column] - f_.box_left[column] - box_width(f)) / 2,
               xr = xl + box_width(f);
  const Rectangle box = box_of(f, b, xl, xr);
  const std::string& made = colours_[at(f.level)];
  if (f.updates) {
    lines(home, x0, x1, colour_[at(home)]);
  } else {
    colour_[at(home)] = made_colour(column, home);
    outputs(f, box, x1);
  }
  inputs(column, f, box);
  beside(f, box, x1);
  shape(f, box, made);
}

std::string Painter::made_colour(std::size_t column, int id) const {
  for (const auto& event : d_.columns[column + 1].events) {
    const auto* stretch = std::get_if<Stretch>(&event);
    if (stretch != nullptr && stretch->bundle == id) return colours_[at(stretch->level)];
  }
  return colour_[at(id)];
}

bool Painter::consumes(const ColumnFunction& f, AxisId axis) const {
  return std::find(f.consumed.begin(), f.consumed.end(), axis) != f.consumed.end();
}

Rectangle Painter::box_of(const ColumnFunction& f, const BundleFrame& b, double xl, double xr) const {
  const int home = f.outputs.front();
  if (f.shape == Shape::start) return {xl, b.wires.front() - 8, xr, b.wires.back() + 8};
  double low = 1e9, high = -1e9;
  for (const AxisId axis : f.consumed) {
    if (!f_.has(home, axis)) continue;
    low = std::min(low, f_.wire(home, axis)), high = std::max(high, f_.wire(home, axis));
  }
  if (high >= low) return {xl, low - 13, xr, high + 13};
  if (f.shape == Shape::item) return {xl, b.box - 11, xr, b.box + 11};
  return {xl, b.box - b.half, xr, b.box + b.half};
}

void Painter::outputs(const ColumnFunction& f, const Rectangle& box, double x1) {
  const int home = f.outputs.front();
  const bool start = f.shape == Shape::start;
  for (const AxisId axis : d_.bundles[at(home)].axes) {
    const double y = f_.wire(home, axis);
    const bool from_box = start || consumes(f, axis);
    wires_.push_back(line({from_box ? box.right : box.left, y}, {x1, y}, "wire", colour_[at(home)], wire_width));
  }
  if (d_.bundles[at(home)].axes.empty()) {
    const double y = f_.bundles[at(home)].wires.front();
    curve({box.right, start ? y : (box.top + box.bottom) / 2}, {x1, y}, colour_[at(home)], true);
  }
}

void Painter::inputs(std::size_t column, const ColumnFunction& f, const Rectangle& box) {
  std::vector<std::pair<double, AxisId>> ends;  // lines that the box takes, from the top
  for (const auto& in : f.inputs) {
    for (const AxisId axis : d_.bundles[at(in.bundle)].axes) {
      if (consumes(f, axis)) ends.emplace_back(f_.wire(in.bundle, axis), axis);
    }
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& in : f.inputs) input(column, f, in, box, ends);
}

void Painter::input(std::size_t column, const ColumnFunction& f, const ColumnFunction::Input& in, const Rectangle& box,
                    const std::vector<std::pair<double, AxisId>>& ends) {
  const int home = f.outputs.front();
  const Bundle& b = d_.bundles[at(in.bundle)];
  const std::string& colour = colours_[at(in.level)];
  double x = f_.left[column];
  if (in.stays && in.move >= 0) {
    const PlacedEvent& event = f_.events[column - 1][at(in.move)];
    x = f_.left[column - 1] + event.to;
  }
  for (const AxisId axis : b.axes) {
    const double y = f_.wire(in.bundle, axis);
    double to = (box.top + box.bottom) / 2;
    if (consumes(f, axis) && f_.has(home, axis)) {
      to = f_.wire(home, axis);
    } else if (consumes(f, axis)) {
      const auto end = std::find(ends.begin(), ends.end(), std::pair(y, axis));
      to = box.top + (box.bottom - box.top) * (static_cast<double>(end - ends.begin()) + 1) /
                         (static_cast<double>(ends.size()) + 1);
    } else if (f_.has(home, axis)) {
      to = f_.wire(home, axis);
    }
    if (in.stays && in.move < 0 && b.state_of < 0) dot({x + 3, y}, colour);
    if (b.state_of < 0 || f.shape == Shape::start) curve({x, y}, {box.left, to}, colour);
  }
  const bool items = f.shape == Shape::item || b.axes.empty() || b.state_of >= 0;
  if (items) curve({x, f_.bundles[at(in.bundle)].wires.back()}, {box.left, (box.top + box.bottom) / 2}, colour, true);
}

void Painter::beside(const ColumnFunction& f, const Rectangle& box, double x1) {
  const double middle = (box.top + box.bottom) / 2;
  for (std::size_t i = 1; i < f.outputs.size(); ++i) {
    const int other = f.outputs[i];
    for (const AxisId axis : d_.bundles[at(other)].axes) {
      const bool known = f_.has(f.outputs.front(), axis) && !consumes(f, axis);
      curve({box.right, known ? f_.wire(f.outputs.front(), axis) : middle}, {x1, f_.wire(other, axis)},
            colours_[at(f.level)]);
    }
    colour_[at(other)] = colours_[at(f.level)];
  }
  for (const auto& in : f.inputs) {
    const bool renews = d_.bundles[at(in.bundle)].state_of >= 0 && f.shape != Shape::item;
    if (renews) curve({box.right, middle}, {x1, f_.bundles[at(in.bundle)].wires.back()}, colours_[at(f.level)], true);
  }
  if (f.shape == Shape::item)
    curve({box.right, middle}, {x1, f_.bundles[at(f.outputs.front())].wires.back()}, colours_[at(f.level)], true);
}

void Painter::shape(const ColumnFunction& f, const Rectangle& box, const std::string& made) {
  const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  const std::string stroke = f.unit.empty() ? (d_.placed ? made : std::string(dark)) : std::string(tensor_hue);
  if (f.splits) {
    Path frame = rectangle({box.left - 4, box.top - 4, box.right + 4, box.bottom + 4}, "splits", stroke, "");
    frame.dash = Dash::dotted;
    front_.push_back(frame);
  }
  Path path = rectangle(box, f.shape == Shape::item ? "item-box" : "box", stroke, "#ffffff");
  if (f.shape == Shape::triangle) {
    path.pieces = {{'M', {box.left, box.top}}, {'L', {box.right, y}}, {'L', {box.left, box.bottom}}};
  }
  path.width = 1.5;
  path.title = f.title;
  front_.push_back(path);
  if (f.shape == Shape::triangle) return;
  if (f.shape == Shape::start) {
    label({box.left - 2, box.top - 3}, plain(f.text), "start", small_size, false, stroke, Anchor::middle);
    return;
  }
  if (f.shape == Shape::item) {
    label({x, y + 4.5}, plain(f.text), "op", 12, true, stroke, Anchor::middle, f.title);
    return;
  }
  const double rows = f.unit.empty() ? 0 : 6;
  label({x, y + (f.over.empty() ? 5 : 0) - rows}, plain(f.text), "op", 15, true, stroke, Anchor::middle, f.title);
  if (!f.over.empty())
    label({x, y + 13 - rows}, plain("over " + f.over), "over", small_size, false, grey, Anchor::middle);
  if (!f.unit.empty()) label({x, y + 25 - rows}, plain(f.unit), "unit", small_size, false, tensor_hue, Anchor::middle);
}

}  // namespace napkin::internal::report
