#include "apps/report/text/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "model/diagram/text.hpp"

namespace napkin::report {
namespace {

constexpr int column_width = 200, box_width = 96, tap_room = 18, wire_gap = 20, lane_gap = 26, margin = 24,
              label_room = 110, top = 64;

/// The horizontal band in which an array's wires run, from the column where it is made to its last use.
struct Band {
  int lane = 0;
  int first = 0, last = 0;  ///< columns: 0 is the input, operation i is column i + 1

  /// Not so where another launch has all that the array is for: O of the backward pass, which Delta alone reads.
  [[nodiscard]] bool drawn() const { return last > 0; }
};

struct Picture {
  const Streamed& streamed;
  std::vector<Band> bands;    // by ArrayId
  std::vector<int> lane_top;  // y of each lane
  int height = 0;

  explicit Picture(const Streamed& s);
  [[nodiscard]] const Diagram& diagram() const { return streamed.diagram; }
  [[nodiscard]] const Array& array(ArrayId id) const { return diagram().arrays[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Band& band(ArrayId id) const { return bands[static_cast<std::size_t>(id)]; }
  /// An array that is there before and after the column runs through it.
  [[nodiscard]] bool passes(ArrayId id, int column) const { return band(id).first < column && band(id).last > column; }
  /// Whether nothing runs through that lane there, so that a box can cover it.
  [[nodiscard]] bool free(int lane, int column) const;
  [[nodiscard]] std::pair<int, int> rows(ArrayId id) const {
    return {y_of(id, 0), y_of(id, std::max<std::size_t>(array(id).axes.size(), 1) - 1)};
  }
  [[nodiscard]] int columns() const { return static_cast<int>(diagram().operations.size()) + 2; }
  [[nodiscard]] int y_of(ArrayId id, std::size_t wire) const {
    return lane_top[static_cast<std::size_t>(band(id).lane)] + static_cast<int>(wire) * wire_gap;
  }
};

bool Picture::free(int lane, int column) const {
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (bands[i].lane == lane && passes(static_cast<ArrayId>(i), column)) return false;
  }
  return true;
}

int column_x(int column) { return margin + label_room + column * column_width; }

std::vector<Band> lifetimes(const Diagram& diagram) {
  std::vector<Band> bands(diagram.arrays.size());
  for (std::size_t i = 0; i < diagram.operations.size(); ++i) {
    const int column = static_cast<int>(i) + 1;
    for (const ArrayId id : diagram.operations[i].outputs) bands[static_cast<std::size_t>(id)] = {0, column, column};
    for (const ArrayId id : diagram.operations[i].inputs) bands[static_cast<std::size_t>(id)].last = column;
  }
  for (const ArrayId id : diagram.inputs) {  // a table goes into no box: its wires end in front of the first
    Band& band = bands[static_cast<std::size_t>(id)];
    band.last = std::max(band.last, 1);
  }
  const int end = static_cast<int>(diagram.operations.size()) + 1;
  for (const ArrayId id : diagram.outputs) bands[static_cast<std::size_t>(id)].last = end;
  return bands;
}

/// Lanes: inputs one below the other; an output takes the lane that its operation frees, or the first free one.
int give_lanes(const Diagram& diagram, std::vector<Band>& bands) {
  std::vector<int> free_from;  // by lane: the column from which it is free
  const auto take = [&](ArrayId id, const std::vector<ArrayId>& preferred) {
    Band& band = bands[static_cast<std::size_t>(id)];
    int lane = -1;
    for (const ArrayId input : preferred) {
      const int candidate = bands[static_cast<std::size_t>(input)].lane;
      if (lane < 0 && free_from[static_cast<std::size_t>(candidate)] <= band.first) lane = candidate;
    }
    for (std::size_t i = 0; lane < 0 && i < free_from.size(); ++i) {
      if (free_from[i] <= band.first) lane = static_cast<int>(i);
    }
    if (lane < 0) {
      lane = static_cast<int>(free_from.size());
      free_from.push_back(0);
    }
    band.lane = lane;
    free_from[static_cast<std::size_t>(lane)] = std::max(band.last, band.first + 1);
  };
  for (const ArrayId id : diagram.inputs) {
    bands[static_cast<std::size_t>(id)].lane = static_cast<int>(free_from.size());
    free_from.push_back(bands[static_cast<std::size_t>(id)].last);
  }
  for (const Operation& operation : diagram.operations) {
    for (const ArrayId id : operation.outputs) take(id, operation.inputs);
  }
  return static_cast<int>(free_from.size());
}

Picture::Picture(const Streamed& s) : streamed(s), bands(lifetimes(s.diagram)) {
  const auto lanes = static_cast<std::size_t>(give_lanes(diagram(), bands));
  std::vector<int> wires(lanes, 1);
  for (std::size_t i = 0; i < diagram().arrays.size(); ++i) {
    if (!bands[i].drawn()) continue;
    int& most = wires[static_cast<std::size_t>(bands[i].lane)];
    most = std::max(most, static_cast<int>(diagram().arrays[i].axes.size()));
  }
  int y = top;
  for (const int count : wires) {
    lane_top.push_back(y);
    y += count * wire_gap + lane_gap;
  }
  height = y + margin;
}

std::string role_class(const Streamed& streamed, AxisId axis) {
  if (streamed.stream == axis) return "stream";
  return streamed.grouped(axis) ? "group" : "whole";
}

/// "s_x", "g_q", "d": what a group holds of the axis.
std::string axis_label(const Streamed& streamed, AxisId axis) {
  const std::string& name = streamed.diagram.axes[static_cast<std::size_t>(axis)].name;
  if (streamed.stream == axis) return "s_" + name;
  return streamed.grouped(axis) ? "g_" + name : name;
}

/// The rows that the box of an operation covers: from its first output as far up and down as nothing runs through.
struct Reach {
  int first = 0, last = 0;  ///< lanes
  [[nodiscard]] bool holds(int lane) const { return first <= lane && lane <= last; }
};

Reach reach_of(const Picture& picture, std::size_t index) {
  const Operation& operation = picture.diagram().operations[index];
  const int column = static_cast<int>(index) + 1;
  std::vector<int> own;
  for (const ArrayId id : operation.inputs) {
    if (!picture.passes(id, column)) own.push_back(picture.band(id).lane);
  }
  for (const ArrayId id : operation.outputs) own.push_back(picture.band(id).lane);
  const int home = picture.band(operation.outputs.front()).lane;
  Reach reach{home, home};
  const int lanes = static_cast<int>(picture.lane_top.size());
  for (int lane = home; lane >= 0 && picture.free(lane, column); --lane) {
    if (std::find(own.begin(), own.end(), lane) != own.end()) reach.first = lane;
  }
  for (int lane = home; lane < lanes && picture.free(lane, column); ++lane) {
    if (std::find(own.begin(), own.end(), lane) != own.end()) reach.last = lane;
  }
  return reach;
}

/// Where an array's wires end on the right: at the box that takes it last, or at the line that leads there.
int end_of_wires(const Picture& picture, ArrayId id) {
  const Band& band = picture.band(id);
  if (band.last == picture.columns() - 1) return column_x(band.last);
  const bool covered =
      !picture.diagram().is_table(id) && reach_of(picture, static_cast<std::size_t>(band.last) - 1).holds(band.lane);
  return column_x(band.last) - box_width / 2 - (covered ? 0 : tap_room);
}

/// What a table is for, in place of a box that its wires would lead to: "rows of K, V".
std::string rows_named_by(const Picture& picture, ArrayId table, int x) {
  std::string named;
  for (const Array& array : picture.diagram().arrays) {
    const auto is = [&](const Reindex& dimension) { return dimension.table == table; };
    if (std::any_of(array.reindexed.begin(), array.reindexed.end(), is))
      named += (named.empty() ? "" : ", ") + array.name;
  }
  return fmt::format("<text class=\"rows\" x=\"{}\" y=\"{}\">rows of {}</text>\n", x, picture.y_of(table, 0) - 3,
                     escaped(named));
}

std::string wires_of(const Picture& picture, ArrayId id) {
  const Array& array = picture.array(id);
  const Band& band = picture.band(id);
  int from = column_x(0);
  if (band.first > 0) {
    const bool covered = reach_of(picture, static_cast<std::size_t>(band.first) - 1).holds(band.lane);
    from = column_x(band.first) + box_width / 2 + (covered ? 0 : tap_room);
  }
  const int to = std::max(from + 20, end_of_wires(picture, id));
  std::string svg = fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n", from + 4, picture.y_of(id, 0) - 6,
                                escaped(array.name));
  const int labels = from + 12 + std::max(18, 9 * static_cast<int>(array.name.size()));
  for (std::size_t i = 0; i < array.axes.size(); ++i) {
    const int y = picture.y_of(id, i);
    const std::string role = role_class(picture.streamed, array.axes[i]);
    svg += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", role, from, y, to, y);
    svg += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", role, labels, y - 3,
                       escaped(axis_label(picture.streamed, array.axes[i])));
  }
  constexpr int room_of_axis = 40;
  if (picture.diagram().is_table(id)) svg += rows_named_by(picture, id, labels + room_of_axis);
  return svg;
}

/// What leads from an array's wires to a box that does not cover them: a bar across the wires, and on to the box.
/// `side` -1: an input, on the left; 1: an output, on the right.
std::string tap_of(const Picture& picture, ArrayId id, int x, int side, int top_of_box, int bottom_of_box) {
  const auto [first, last] = picture.rows(id);
  const int bar = x + side * (box_width / 2 + tap_room);
  const bool above = first < top_of_box;
  const int into = above ? top_of_box + 6 : bottom_of_box - 6;
  std::string svg = fmt::format("<path class=\"tap\" d=\"M{0} {1}V{2}H{3}\"/>\n", bar, above ? first : last, into,
                                x + side * box_width / 2);
  for (std::size_t i = 0; i < picture.array(id).axes.size(); ++i)
    svg += fmt::format("<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", bar, picture.y_of(id, i));
  return svg;
}

std::string caption_of(const Picture& picture, const Operation& operation, int x, int middle) {
  std::string what(name_of(operation.kind));
  if (!operation.function.empty()) what = operation.function;
  std::string over;
  for (const AxisId axis : operation.own) {
    over += (over.empty() ? "over " : ", ") + picture.diagram().axes[static_cast<std::size_t>(axis)].name;
  }
  std::string svg = fmt::format("<text class=\"op\" x=\"{}\" y=\"{}\">{}</text>\n", x, middle + (over.empty() ? 4 : -4),
                                escaped(what));
  if (!over.empty())
    svg += fmt::format("<text class=\"over\" x=\"{}\" y=\"{}\">{}</text>\n", x, middle + 12, escaped(over));
  return svg;
}

std::string box_of(const Picture& picture, std::size_t index) {
  const Operation& operation = picture.diagram().operations[index];
  const int column = static_cast<int>(index) + 1, x = column_x(column);
  const Reach reach = reach_of(picture, index);
  int first = picture.height, last = 0;
  const auto covered = [&](ArrayId id) { return reach.holds(picture.band(id).lane) && !picture.passes(id, column); };
  const auto span = [&](ArrayId id) {
    if (!covered(id)) return;
    const auto [from, to] = picture.rows(id);
    first = std::min(first, from);
    last = std::max(last, to);
  };
  for (const ArrayId id : operation.inputs) span(id);
  for (const ArrayId id : operation.outputs) span(id);
  if (last - first < wire_gap) last = first + wire_gap;
  const int top_of_box = first - 12, bottom_of_box = last + 12;
  std::string svg = fmt::format(
      "<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"><title>{}</title></rect>\n",
      x - box_width / 2, top_of_box, box_width, bottom_of_box - top_of_box,
      escaped(print_operation(picture.diagram(), static_cast<OpId>(index))));
  for (const ArrayId id : operation.inputs) {
    if (!covered(id)) svg += tap_of(picture, id, x, -1, top_of_box, bottom_of_box);
  }
  for (const ArrayId id : operation.outputs) {
    if (!covered(id)) svg += tap_of(picture, id, x, 1, top_of_box, bottom_of_box);
  }
  return svg + caption_of(picture, operation, x, (first + last) / 2);
}

constexpr std::string_view style_sheet = R"(<style>
text { font: 13px sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold } .name { font-weight: bold } .op { text-anchor: middle; font-weight: bold }
.over { text-anchor: middle; font-size: 11px; fill: #555 } .rows { font-size: 11px; fill: #555 }
.box { fill: #fff; stroke: #444; stroke-width: 1.5 } .tap { fill: none; stroke: #444; stroke-width: 1.3 } .dot { fill: #444 }
line { stroke-width: 2 } line.group { stroke: #2a6fbb } line.stream { stroke: #d9822b } line.whole { stroke: #777 }
text.group { fill: #2a6fbb; font-size: 11px } text.stream { fill: #b8651b; font-size: 11px } text.whole { fill: #666; font-size: 11px }
</style>
)";

std::string legend(int y) {
  std::string svg;
  int x = margin;
  for (const auto& [role, text] :
       {std::pair("group", "grouped: split among blocks"), std::pair("stream", "streamed: walked in chunks"),
        std::pair("whole", "whole: held at full size")}) {
    svg += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", role, x, y, x + 24, y);
    svg += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", role, x + 30, y + 4, text);
    x += 210;
  }
  return svg;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string svg_of(const Streamed& streamed) {
  const Picture picture(streamed);
  const int width = std::max(column_x(picture.columns() - 1) + margin + 20, 680);
  std::string svg =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
                  width, picture.height + 20);
  svg += style_sheet;
  svg += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n", width, picture.height + 20);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"28\">{}</text>\n", margin, escaped(picture.diagram().name));
  for (std::size_t i = 0; i < picture.diagram().arrays.size(); ++i) {
    if (picture.bands[i].drawn()) svg += wires_of(picture, static_cast<ArrayId>(i));
  }
  for (std::size_t i = 0; i < picture.diagram().operations.size(); ++i) svg += box_of(picture, i);
  return svg + legend(picture.height) + "</svg>\n";
}

}  // namespace napkin::report
