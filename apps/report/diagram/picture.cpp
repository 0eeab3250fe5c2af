#include "apps/report/diagram/picture.hpp"

#include <algorithm>
#include <map>

#include "apps/report/diagram/foot.hpp"
#include "apps/report/diagram/painter.hpp"

namespace napkin::internal::report {
namespace {

using Kind = DiagramColumn::Kind;

}  // namespace

Drawing Painter::run() {
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

void Painter::label(Point at, std::vector<Span> spans, const char* role, double size, bool bold,
                    const std::string& colour, Anchor anchor, const std::string& title) {
  out_.labels.push_back({at, std::move(spans), role, size, bold, colour, anchor, title});
}

void Painter::lines(int id, double from, double to, const std::string& colour) {
  if (to - from < 0.5) return;
  to += 0.4;  // no seam between one column and the next
  const bool item = d_.bundles[at(id)].axes.empty();
  for (const double y : f_.bundles[at(id)].wires) {
    Path path = line({from, y}, {to, y}, "wire", colour, wire_width);
    if (item) path.dash = Dash::dotted;
    wires_.push_back(path);
  }
}

bool Painter::touched(std::size_t column, int id) const {
  for (const ColumnFunction& f : d_.columns[column].functions) {
    if (std::find(f.outputs.begin(), f.outputs.end(), id) != f.outputs.end()) return true;
    for (const auto& in : f.inputs) {
      if (in.bundle == id && !in.stays) return true;
    }
  }
  return false;
}

void Painter::pass(std::size_t column) {
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

void Painter::separators(std::size_t column) {
  std::vector<int> there;
  for (std::size_t i = 0; i < d_.bundles.size(); ++i) {
    const Bundle& b = d_.bundles[i];
    if (b.first <= static_cast<int>(column) && b.last >= static_cast<int>(column)) there.push_back(static_cast<int>(i));
  }
  std::sort(there.begin(), there.end(), [&](int a, int b) { return f_.bundles[at(a)].top < f_.bundles[at(b)].top; });
  for (std::size_t i = 1; i < there.size(); ++i) {
    const double y = f_.bundles[at(there[i])].top - between;
    Path path = line({f_.left[column] + 1, y}, {f_.left[column + 1] - 1, y}, "tuple", pale, 0.8);
    path.dash = Dash::dashed;
    back_.push_back(path);
  }
}

void Painter::data(std::size_t column) {
  const DiagramColumn& c = d_.columns[column];
  std::map<int, double> reached;
  for (std::size_t i = 0; i < c.events.size(); ++i) {
    const PlacedEvent& placed = f_.events[column][i];
    const int id = std::visit([](const auto& e) { return e.bundle; }, c.events[i]);
    const double from = f_.left[column] + placed.from, to = f_.left[column] + placed.to;
    const double begins = f_.left[column] + (column == 0 ? fork_of(d_.bundles[at(id)]) : 0);
    const bool first = reached.try_emplace(id, begins).second;
    if (column == 0 && first) fork(id);
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

void Painter::fork(int id) {
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

void Painter::write(const Stretch& stretch, const PlacedEvent& placed, double x) {
  const BundleFrame& b = f_.bundles[at(stretch.bundle)];
  const std::string& colour = colours_[at(stretch.level)];
  const std::string& own = d_.bundles[at(stretch.bundle)].name;
  if (placed.named) {
    const std::vector<Span> name = plain((stretch.name.empty() ? own : stretch.name) + (stretch.cached ? "*" : ""));
    label({x + 4, b.top + 12}, name, "name", name_size, true, colour, Anchor::start,
          own + " in " + d_.levels[at(stretch.level)].name);
    const std::string tag = tag_of(stretch);
    if (!tag.empty())
      label({x + 4 + width_of(name, name_size, true) + tag_gap, b.top + 12}, plain(tag), "tag", small_size, false,
            grey);
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

void Painter::tick(const Move& move, double x) {
  const BundleFrame& b = f_.bundles[at(move.bundle)];
  const bool linked = move.from == move.to;
  const std::string& colour = colours_[at(linked ? move.into : move.to)];
  if (move.branch) {
    for (const double y : b.wires) dot({x, y}, colour);
  } else {
    front_.push_back(line({x, b.wires.front() - 6}, {x, b.wires.back() + 6}, "tick", colour, 3));
  }
  label({move.branch ? x + 6 : x, b.below}, moved_spans(d_, move), "moved", small_size, false, colour,
        move.branch ? Anchor::end : Anchor::middle,
        d_.bundles[at(move.bundle)].name + ": " + d_.levels[at(move.from)].name + " -> " + d_.levels[at(move.to)].name);
}

void Painter::dot(Point at, const std::string& colour) {
  constexpr double r = 2.6;
  Path path = rectangle({at.x - r, at.y - r, at.x + r, at.y + r}, "dot", "", colour);
  front_.push_back(path);
}

void Painter::bracket(std::size_t column) {
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

void Painter::phases() {
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

Drawing drawing_of(const ColumnDiagram& diagram) { return Painter(diagram).run(); }

}  // namespace napkin::internal::report
