#include "apps/report/diagram/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/report/diagram/lanes.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr double margin = 20, title_room = 64, first_wire = 30, below_last = 15, lane_gap = 10;
constexpr double reach_in = 44, reach_out = 18, reach_beside = 44;

/// The rows of a bundle between which boxes of its functions are drawn, and the number of those rows.
struct Slot {
  std::size_t before = 0;  ///< axes above it
  double rows = 0;
};

bool lists(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Returns the place of a function's box. The consumed lines of a product end in a box between its two operands.
Slot slot_of(const ColumnDiagram& d, const ColumnFunction& f, const std::map<int, Slot>& known) {
  const std::vector<AxisId>& axes = d.bundles[at(f.outputs.front())].axes;
  const bool inside = !f.consumed.empty() &&
                      std::all_of(f.consumed.begin(), f.consumed.end(), [&](AxisId axis) { return lists(axes, axis); });
  if (!f.inputs.empty() &&
      (f.shape == Shape::item || inside)) {  // result in its input's place, if both have the same lines
    const int from = f.inputs.front().bundle;
    if (d.bundles[at(from)].axes == axes && known.count(from) > 0) {
      Slot slot = known.at(from);
      if (!inside && slot.rows == 0) slot = {axes.size(), 1.2};
      return slot;
    }
  }
  if (inside) return {};
  Slot slot{axes.size(), 1.2};
  if (f.shape == Shape::item || f.shape == Shape::start || f.inputs.empty()) return slot;
  const std::vector<AxisId>& first = d.bundles[at(f.inputs.front().bundle)].axes;
  const auto other = std::find_if(axes.begin(), axes.end(), [&](AxisId axis) { return !lists(first, axis); });
  slot.before = static_cast<std::size_t>(other - axes.begin());
  double lines = 0;
  for (const auto& in : f.inputs) {
    for (const AxisId axis : f.consumed) lines += lists(d.bundles[at(in.bundle)].axes, axis) ? 1 : 0;
  }
  slot.rows = std::max(2.4, 0.75 * lines + 0.8);
  return slot;
}

std::map<int, Slot> slots_of(const ColumnDiagram& d) {
  std::map<int, Slot> out;
  for (const DiagramColumn& column : d.columns) {
    for (const ColumnFunction& f : column.functions) {
      if (f.outputs.empty() || f.shape == Shape::start) continue;
      Slot slot = slot_of(d, f, out);
      const auto found = out.find(f.outputs.front());
      if (found == out.end()) {
        out[f.outputs.front()] = slot;
      } else if (slot.rows > found->second.rows) {
        found->second = slot;
      }
    }
  }
  for (std::size_t i = 0; i < d.bundles.size(); ++i) out.try_emplace(static_cast<int>(i), Slot{});
  return out;
}

}  // namespace

std::string tag_of(const Stretch& stretch) {
  std::string out = stretch.type;
  if (stretch.copies > 1) out += fmt::format("{}×{}", out.empty() ? "" : " ", stretch.copies);
  return out;
}

std::vector<Span> product_spans(const std::string& words) {
  std::vector<Span> out;
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t to = std::min(words.find(' ', from), words.size());
    for (const Span& span : symbol(words.substr(from, to - from))) {
      const bool first = span.shift == Span::Shift::none && !out.empty();
      out.push_back({span.shift, first ? "\u00A0" + span.text : span.text});  // a space that XML keeps
    }
    from = to + 1;
  }
  return out;
}

std::vector<Span> moved_spans(const ColumnDiagram& d, const Move& move) {
  if (!move.bytes) return product_spans(move.size);
  const std::string out = d.values ? count_text(*move.bytes) : transfer_text(*move.bytes);
  return plain(move.linked > 1 ? fmt::format("{} ⇄{}", out, move.linked) : out);
}

double fork_of(const Bundle& bundle) {
  double out = 0;
  for (const Bundle::Joined& one : bundle.joined) out = std::max(out, width_of(plain(one.label), axis_size) + 34);
  return out;
}

std::vector<Span> axis_spans(const AxisTag& tag) {
  return symbol(tag.label, tag.divisor > 1 ? std::to_string(tag.divisor) : std::string());
}

std::string size_text(const AxisTag& tag) {
  const std::string size = tag.size ? std::to_string(*tag.size) : std::string();
  return size == tag.label ? "" : size;
}

double box_width(const ColumnFunction& f) {
  if (f.shape == Shape::triangle) return 34;
  if (f.shape == Shape::start) return 10;
  const double text = width_of(plain(f.text), f.shape == Shape::item ? 12 : 15, true);
  if (f.shape == Shape::item) return std::max(24.0, text + 10);
  const double over = f.over.empty() ? 0 : width_of(plain("over " + f.over), small_size);
  return std::max({40.0, text + 14, over + 10, width_of(plain(f.unit), small_size) + 10});
}

Frame::Frame(const ColumnDiagram& diagram) : d(diagram) {
  rows();
  widths();
}

bool Frame::has(int bundle, AxisId axis) const { return lists(d.bundles[at(bundle)].axes, axis); }

double Frame::wire(int bundle, AxisId axis) const {
  const std::vector<AxisId>& axes = d.bundles[at(bundle)].axes;
  const auto found = std::find(axes.begin(), axes.end(), axis);
  return bundles[at(bundle)].wires[found == axes.end() ? 0 : static_cast<std::size_t>(found - axes.begin())];
}

void Frame::rows() {
  const std::vector<int> lanes = lanes_of(d);
  const std::map<int, Slot> slots = slots_of(d);
  std::vector<double> height(lanes.empty() ? 0 : at(*std::max_element(lanes.begin(), lanes.end()) + 1), 0);
  for (std::size_t i = 0; i < d.bundles.size(); ++i) {
    BundleFrame b;
    const Slot slot = slots.at(static_cast<int>(i));
    double y = first_wire;
    const std::size_t count = std::max<std::size_t>(d.bundles[i].axes.size(), 1);
    for (std::size_t axis = 0; axis <= count; ++axis) {
      if (axis == slot.before && slot.rows > 0) {
        b.half = slot.rows * wire_gap / 2 - 4;
        b.box = y - wire_gap + (slot.rows + 1) * wire_gap / 2;
        y += slot.rows * wire_gap;
      }
      if (axis == count) break;
      b.wires.push_back(y);
      y += wire_gap;
    }
    if (slot.rows == 0) b.box = b.wires.back();
    b.below = b.wires.back() + below_last;
    b.bottom = std::max(b.below, slot.before >= count && slot.rows > 0 ? b.box + b.half + 8 : 0) + lane_gap;
    height[at(lanes[i])] = std::max(height[at(lanes[i])], b.bottom);
    bundles.push_back(b);
  }
  std::vector<double> tops;
  double y = top = title_room;
  for (const double h : height) tops.push_back(y), y += h;
  bottom = y;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    BundleFrame& b = bundles[i];
    const double shift = tops[at(lanes[i])];
    b.top = shift;
    b.bottom += shift, b.box += shift, b.below += shift;
    for (double& wire : b.wires) wire += shift;
  }
}

/// Finds the last stretch of a bundle that is drawn before an event of a column; null if there is none.
const Stretch* Frame::stretch_before(int bundle, std::size_t column, const ColumnEvent* event) const {
  const Stretch* before = nullptr;
  for (std::size_t c = 0; c <= column; ++c) {
    for (const ColumnEvent& other : d.columns[c].events) {
      if (&other == event) break;
      const auto* one = std::get_if<Stretch>(&other);
      if (one != nullptr && one->bundle == bundle) before = one;
    }
  }
  return before;
}

/// Gives the width of a stretch, and notes which of its names and sizes are new after the stretch before.
double Frame::label_stretch(const Stretch& stretch, const Stretch* before, PlacedEvent& placed) const {
  const std::string& own = d.bundles[at(stretch.bundle)].name;
  const std::string name = stretch.name.empty() ? own : stretch.name;
  const std::string old = before == nullptr ? "" : before->name.empty() ? own : before->name;
  const std::string tagged = tag_of(stretch);
  placed.named = before == nullptr || name != old || (!tagged.empty() && tagged != tag_of(*before)) || stretch.cached ||
                 stretch.level == 0;
  double width = 0;
  if (placed.named)
    width = width_of(plain(name + (stretch.cached ? "*" : "")), name_size, true) + 4 + tag_gap +
            width_of(plain(tagged), small_size);
  for (std::size_t axis = 0; axis < stretch.axes.size(); ++axis) {
    const AxisTag& tag = stretch.axes[axis];
    const bool same = before != nullptr && before->axes[axis].label == tag.label &&
                      before->axes[axis].size == tag.size &&
                      (tag.divisor == 1 || before->axes[axis].divisor == tag.divisor);
    placed.labelled.push_back(!same);
    if (!same)
      width = std::max(width, width_of(axis_spans(tag), axis_size) + 8 + width_of(plain(size_text(tag)), small_size));
  }
  return std::max(width + 10, 22.0);
}

/// Moves the branches of a column to its right end, as they lead straight to the functions there.
void Frame::align_branches(std::size_t column, double right) {
  std::map<int, double> taken;
  for (std::size_t i = events[column].size(); i-- > 0;) {
    const auto* move = std::get_if<Move>(&d.columns[column].events[i]);
    if (move == nullptr || !move->branch) continue;
    PlacedEvent& placed = events[column][i];
    const double width = placed.to - placed.from;
    placed.to = right - taken[move->bundle];
    placed.from = placed.to - width;
    taken[move->bundle] += width;
  }
}

/// Places the events of a column of data in sequence, for each bundle separately.
double Frame::place_events(std::size_t column) {
  std::map<int, double> reached;
  for (const ColumnEvent& event : d.columns[column].events) {
    PlacedEvent placed;
    const int id = std::visit([](const auto& e) { return e.bundle; }, event);
    placed.from = reached[id];
    const auto* stretch = std::get_if<Stretch>(&event);
    const double width = stretch != nullptr
                             ? label_stretch(*stretch, stretch_before(id, column, &event), placed)
                             : std::max(18.0, width_of(moved_spans(d, std::get<Move>(event)), small_size) + 10);
    if (column == 0) placed.from = reached[id] = std::max(placed.from, fork_of(d.bundles[at(id)]));
    placed.to = reached[id] = placed.from + width;
    events[column].push_back(placed);
  }
  double out = 0;
  for (const auto& [id, to] : reached) out = std::max(out, to);
  align_branches(column, out);
  return out;
}

void Frame::widths() {
  events.resize(d.columns.size());
  box_left.resize(d.columns.size()), box_right.resize(d.columns.size());
  double x = margin;
  for (std::size_t i = 0; i < d.columns.size(); ++i) {
    const DiagramColumn& column = d.columns[i];
    left.push_back(x);
    if (column.kind == DiagramColumn::Kind::data) {
      const bool ends = i == 0 || i + 1 == d.columns.size();
      double held = 0;  // height of the text below
      for (const std::string& value : column.values)
        held = std::max(held, width_of(product_spans("+ " + value), axis_size));
      for (const LevelHeld& one : column.held)
        held =
            std::max(held, width_of(plain(d.values ? count_text(one.bytes) : memory_text(one.bytes)), small_size) + 8);
      if (i == 0 && d.placed) held = 150;  // names of the levels that hold
      x += std::max({place_events(i) + (ends ? 14 : 4), held, column.events.empty() ? 12.0 : 24.0});
    } else if (column.kind == DiagramColumn::Kind::functions) {
      double width = 0;
      bool beside = false, start = true;
      for (const ColumnFunction& f : column.functions) {
        width = std::max(width, box_width(f));
        beside = beside || f.outputs.size() > 1;
        for (const auto& in : f.inputs) beside = beside || d.bundles[at(in.bundle)].state_of >= 0;
        start = start && f.shape == Shape::start;
      }
      box_left[i] = x + (start ? 14 : reach_in);
      box_right[i] = box_left[i] + width;
      x = box_right[i] + (beside ? reach_beside : reach_out);
    } else {
      x += column.inner ? 18 : 26;
    }
  }
  left.push_back(x);
}

}  // namespace napkin::internal::report
