#include "apps/report/diagram/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/report/diagram/foot.hpp"
#include "apps/report/diagram/frame.hpp"

namespace napkin::report {
namespace {

using Kind = DiagramColumn::Kind;
constexpr double wire_width = 2, curve_width = 2;
constexpr const char* tensor = "#1f6fc4";

/// The painter of columns, which keeps each bundle's current colour.
class Painter {
 public:
  explicit Painter(const ColumnDiagram& diagram)
      : d_(diagram), f_(diagram), colours_(level_colours(diagram.levels, diagram.compute, diagram.threads)) {}

  Drawing run() {
    colour_.assign(d_.bundles.size(), dark);
    for (std::size_t i = 0; i < d_.columns.size(); ++i) {
      const DiagramColumn& column = d_.columns[i];
      pass(i);
      if (column.kind == Kind::data) data(i);
      if (column.kind == Kind::functions) functions(i);
      if (column.kind == Kind::open || column.kind == Kind::close) bracket(i);
    }
    for (auto* paths : {&back_, &wires_, &curves_, &front_})
      out_.paths.insert(out_.paths.end(), paths->begin(), paths->end());
    out_.width = f_.left.back() + 20;
    out_.title = d_.title;
    label({20, 24}, plain(d_.title), "title", 16, true, dark);
    phases();
    add_foot(d_, f_, colours_, out_);
    for (const Label& one : out_.labels) out_.width = std::max(out_.width, report::box_of(one).right + 12);
    return std::move(out_);
  }

 private:
  void label(Point at, std::vector<Span> spans, const char* role, double size, bool bold, const std::string& colour,
             Anchor anchor = Anchor::start, const std::string& title = {}) {
    out_.labels.push_back({at, std::move(spans), role, size, bold, colour, anchor, title});
  }

  /// Draws the lines of a bundle between two x.
  void lines(int id, double from, double to, const std::string& colour) {
    if (to - from < 0.5) return;
    to += 0.4;  // no seam between one column and the next
    const bool item = d_.bundles[at(id)].axes.empty();
    for (const double y : f_.bundles[at(id)].wires) {
      Path path = line({from, y}, {to, y}, "wire", colour, wire_width);
      if (item) path.dash = Dash::dotted;
      wires_.push_back(path);
    }
  }

  [[nodiscard]] bool touched(std::size_t column, int id) const {
    for (const ColumnFunction& f : d_.columns[column].functions) {
      if (std::find(f.outputs.begin(), f.outputs.end(), id) != f.outputs.end()) return true;
      for (const auto& in : f.inputs) {
        if (in.bundle == id && !in.stays) return true;
      }
    }
    return false;
  }

  /// Draws the bundles that run through a column unchanged.
  void pass(std::size_t column) {
    const DiagramColumn& c = d_.columns[column];
    for (std::size_t i = 0; i < d_.bundles.size(); ++i) {
      const Bundle& b = d_.bundles[i];
      const int id = static_cast<int>(i), here = static_cast<int>(column);
      if (here < b.first || here > b.last || (c.kind == Kind::functions && touched(column, id))) continue;
      if (c.kind != Kind::data) {
        if (here > b.first && (here < b.last || c.kind != Kind::functions))
          lines(id, f_.left[column], here == b.last ? f_.left[column] + 8 : f_.left[column + 1], colour_[i]);
        continue;
      }
      const bool starts = here == b.first || (here == b.first + 1 && d_.columns[column - 1].kind == Kind::functions);
      const bool has_event = std::any_of(c.events.begin(), c.events.end(), [&](const auto& event) {
        return std::visit([](const auto& e) { return e.bundle; }, event) == id;
      });
      if (!has_event && !(starts && here == b.first)) lines(id, f_.left[column], f_.left[column + 1], colour_[i]);
    }
    if (c.kind == Kind::data && column > 0) separators(column);
  }

  /// Draws the dashed lines between the arrays of a tuple.
  void separators(std::size_t column) {
    std::vector<int> there;
    for (std::size_t i = 0; i < d_.bundles.size(); ++i) {
      const Bundle& b = d_.bundles[i];
      if (b.first <= static_cast<int>(column) && b.last >= static_cast<int>(column))
        there.push_back(static_cast<int>(i));
    }
    std::sort(there.begin(), there.end(), [&](int a, int b) { return f_.bundles[at(a)].top < f_.bundles[at(b)].top; });
    for (std::size_t i = 1; i < there.size(); ++i) {
      const double y = f_.bundles[at(there[i])].top + 1;
      Path path = line({f_.left[column] + 1, y}, {f_.left[column + 1] - 1, y}, "tuple", pale, 0.8);
      path.dash = Dash::dashed;
      back_.push_back(path);
    }
  }

  // Data --------------------------------------------------------------------------------------------------------------

  void data(std::size_t column) {
    const DiagramColumn& c = d_.columns[column];
    std::map<int, double> reached;
    for (std::size_t i = 0; i < c.events.size(); ++i) {
      const PlacedEvent& placed = f_.events[column][i];
      const int id = std::visit([](const auto& e) { return e.bundle; }, c.events[i]);
      const double from = f_.left[column] + placed.from, to = f_.left[column] + placed.to;
      reached.try_emplace(id, f_.left[column] + (column == 0 ? fork_of(d_.bundles[at(id)]) : 0));
      if (column == 0 && i < d_.bundles.size()) fork(id);
      if (const auto* stretch = std::get_if<Stretch>(&c.events[i])) {
        colour_[at(id)] = colours_[at(stretch->level)];
        write(*stretch, placed, from);
      } else {
        const Move& move = std::get<Move>(c.events[i]);
        const double x = move.branch ? to : (from + to) / 2;
        lines(id, reached[id], x, colour_[at(id)]);
        reached[id] = x;
        tick(move, x);
        if (!move.branch) colour_[at(id)] = colours_[at(move.to)];
      }
    }
    for (const auto& [id, x] : reached) lines(id, x, f_.left[column + 1], colour_[at(id)]);
  }

  /// Draws the fork of an input's dimension into the lines of the axes that read it.
  void fork(int id) {
    const Bundle& b = d_.bundles[at(id)];
    const std::vector<double>& wires = f_.bundles[at(id)].wires;
    if (b.joined.empty()) return;
    const double left = f_.left[0], right = left + fork_of(b);
    std::vector<bool> forked(wires.size(), false);
    for (const Bundle::Joined& one : b.joined) {
      const double y = (wires[one.first] + wires[one.first + one.count - 1]) / 2;
      wires_.push_back(line({left, y}, {right - 24, y}, "wire", dark, wire_width));
      label({left + 4, y - 5}, plain(one.label), "axis", axis_size, false, dark);
      for (std::size_t i = 0; i < one.count; ++i) {
        forked[one.first + i] = true;
        curves_.push_back(bend({right - 24, y}, {right, wires[one.first + i]}, "curve", dark, curve_width));
      }
    }
    for (std::size_t i = 0; i < wires.size(); ++i) {
      if (!forked[i]) wires_.push_back(line({left, wires[i]}, {right, wires[i]}, "wire", dark, wire_width));
    }
  }

  void write(const Stretch& stretch, const PlacedEvent& placed, double x) {
    const BundleFrame& b = f_.bundles[at(stretch.bundle)];
    const std::string& colour = colours_[at(stretch.level)];
    const std::string& own = d_.bundles[at(stretch.bundle)].name;
    if (placed.named) {
      const std::vector<Span> name = plain((stretch.name.empty() ? own : stretch.name) + (stretch.cached ? "*" : ""));
      label({x + 4, b.top + 12}, name, "name", name_size, true, colour, Anchor::start,
            own + " in " + d_.levels[at(stretch.level)].name);
      const std::string tag = tag_of(stretch);
      if (!tag.empty())
        label({x + 4 + width_of(name, name_size, true) + 4, b.top + 12}, plain(tag), "tag", small_size, false, grey);
    }
    for (std::size_t i = 0; i < stretch.axes.size(); ++i) {
      if (!placed.labelled[i]) continue;
      const std::vector<Span> spans = axis_spans(stretch.axes[i]);
      label({x + 4, b.wires[i] - 5}, spans, "axis", axis_size, false, colour, Anchor::start, stretch.axes[i].because);
      const std::string size = size_text(stretch.axes[i]);
      if (!size.empty())
        label({x + 4 + width_of(spans, axis_size) + 6, b.wires[i] - 5}, plain(size), "size", small_size, false, grey);
    }
  }

  void tick(const Move& move, double x) {
    const BundleFrame& b = f_.bundles[at(move.bundle)];
    const bool linked = move.from == move.to;
    const std::string& colour = colours_[at(linked ? move.into : move.to)];
    if (move.branch) {
      for (const double y : b.wires) dot({x, y}, colour);
    } else {
      front_.push_back(line({x, b.wires.front() - 6}, {x, b.wires.back() + 6}, "tick", colour, 3));
    }
    label(
        {move.branch ? x + 6 : x, b.below}, moved_spans(d_, move), "moved", small_size, false, colour,
        move.branch ? Anchor::end : Anchor::middle,
        d_.bundles[at(move.bundle)].name + ": " + d_.levels[at(move.from)].name + " -> " + d_.levels[at(move.to)].name);
  }

  void dot(Point at, const std::string& colour) {
    constexpr double r = 2.6;
    Path path = rectangle({at.x - r, at.y - r, at.x + r, at.y + r}, "dot", "", colour);
    front_.push_back(path);
  }

  // Functions
  // -----------------------------------------------------------------------------------------------------------

  void curve(Point from, Point to, const std::string& colour, bool item = false) {
    Path path = bend(from, to, item ? "item" : "curve", colour, item ? 1.4 : curve_width);
    path.halo = from.y != to.y;
    if (item) path.dash = Dash::dotted;
    curves_.push_back(path);
  }

  void functions(std::size_t column) {
    std::vector<double> middles;
    for (const ColumnFunction& f : d_.columns[column].functions) {
      function(column, f);
      if (!f.outputs.empty()) middles.push_back(f_.bundles[at(f.outputs.front())].top);
    }
    std::sort(middles.begin(), middles.end());
    for (std::size_t i = 1; i < middles.size(); ++i) {  // between functions beside each other
      Path path =
          line({f_.left[column] + 2, middles[i] + 1}, {f_.left[column + 1] - 2, middles[i] + 1}, "tuple", grey, 1);
      path.dash = Dash::dashed;
      back_.push_back(path);
    }
  }

  void function(std::size_t column, const ColumnFunction& f) {
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

  /// Returns the colour in which a bundle leaves a column of functions.
  [[nodiscard]] std::string made_colour(std::size_t column, int id) const {
    for (const auto& event : d_.columns[column + 1].events) {
      const auto* stretch = std::get_if<Stretch>(&event);
      if (stretch != nullptr && stretch->bundle == id) return colours_[at(stretch->level)];
    }
    return colour_[at(id)];
  }

  [[nodiscard]] bool consumes(const ColumnFunction& f, AxisId axis) const {
    return std::find(f.consumed.begin(), f.consumed.end(), axis) != f.consumed.end();
  }

  /// Returns the box, over the lines that it consumes if they go on, else between those of its result.
  [[nodiscard]] Rectangle box_of(const ColumnFunction& f, const BundleFrame& b, double xl, double xr) const {
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

  void outputs(const ColumnFunction& f, const Rectangle& box, double x1) {
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

  void inputs(std::size_t column, const ColumnFunction& f, const Rectangle& box) {
    std::vector<std::pair<double, AxisId>> ends;  // lines that the box takes, from the top
    for (const auto& in : f.inputs) {
      for (const AxisId axis : d_.bundles[at(in.bundle)].axes) {
        if (consumes(f, axis)) ends.emplace_back(f_.wire(in.bundle, axis), axis);
      }
    }
    std::sort(ends.begin(), ends.end());
    for (const auto& in : f.inputs) input(column, f, in, box, ends);
  }

  void input(std::size_t column, const ColumnFunction& f, const ColumnFunction::Input& in, const Rectangle& box,
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

  /// Draws further results, and the state that a softmax renews.
  void beside(const ColumnFunction& f, const Rectangle& box, double x1) {
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

  void shape(const ColumnFunction& f, const Rectangle& box, const std::string& made) {
    const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const std::string stroke = f.unit.empty() ? (d_.placed ? made : std::string(dark)) : std::string(tensor);
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
    if (!f.unit.empty()) label({x, y + 25 - rows}, plain(f.unit), "unit", small_size, false, tensor, Anchor::middle);
  }

  // Brackets
  // --------------------------------------------------------------------------------------------------------------

  void bracket(std::size_t column) {
    const DiagramColumn& c = d_.columns[column];
    const bool open = c.kind == Kind::open;
    const double inset = c.inner ? 8 : 0, top = f_.top - 6 + inset, bottom = f_.bottom + 4 - inset,
                 bow = c.inner ? 9 : 14;
    const double edge = open ? f_.left[column] + bow + 6 : f_.left[column + 1] - bow - 6;
    const double belly = open ? edge - bow : edge + bow;
    Path path = line({edge, top}, {edge, bottom}, "bracket", dark, c.inner ? 1.4 : 2.2);
    path.pieces = {{'M', {edge, top}},
                   {'C', {belly, top + 30}, {edge - (edge - belly) * 0.5, top}, {belly, top + 12}},
                   {'L', {belly, bottom - 30}},
                   {'C', {edge, bottom}, {belly, bottom - 12}, {edge - (edge - belly) * 0.5, bottom}}};
    path.halo = true;
    curves_.push_back(path);
    if (open && c.inner) label({edge - 4, top - 12 + 2}, plain(c.title), "phase", small_size, false, grey);
  }

  /// Writes "head", "for each s_x of x", "tail" above the columns.
  void phases() {
    bool loop = false;
    for (std::size_t i = 0; i < d_.columns.size(); ++i) {
      const DiagramColumn& c = d_.columns[i];
      if (c.kind == Kind::open && !c.inner) {
        loop = true;
        label({f_.left[i] + 8, f_.top - 22}, product_spans(c.title), "phase", 12, true, grey);
      }
      if (c.kind == Kind::close && !c.inner)
        label({f_.left[i + 1] + 2, f_.top - 22}, plain("tail"), "phase", 12, true, grey);
    }
    if (loop) label({24, f_.top - 22}, plain("head"), "phase", 12, true, grey);
  }

  const ColumnDiagram& d_;
  Frame f_;
  std::vector<std::string> colours_;
  std::vector<std::string> colour_;  // by bundle, as it arrives
  std::vector<Path> back_, wires_, curves_, front_;
  Drawing out_;
};

}  // namespace

Drawing drawing_of(const ColumnDiagram& diagram) { return Painter(diagram).run(); }

}  // namespace napkin::report
