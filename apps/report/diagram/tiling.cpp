#include "apps/report/diagram/tiling.hpp"

#include <algorithm>
#include <cmath>

#include "apps/report/diagram/picture.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::report {
namespace {

constexpr const char *array_colour = "#222222", *tile_colour = "#d9690b", *agent_colour = "#2b8a3e",
                     *line_colour = "#999999";
constexpr double matrix_side = 230, matrix_gap = 90, corner_x = 150, corner_y = 90;

/// An axis of the matrix: its whole size, the size of a group's part and that of an agent's.
struct Cut {
  AxisId axis = -1;
  double whole = 1, group = 1, agent = 1;
  bool streams = false;
  std::string name;
};

class Tiling {
 public:
  explicit Tiling(const PlacedDiagram& placed) : p_(placed), d_(placed.streamed->diagram) {}

  Drawing run() {
    const Operation& product = find();
    const Array &left = d_.arrays[at(product.inputs[0])], &right = d_.arrays[at(product.inputs[1])],
                &result = d_.arrays[at(product.outputs[0])];
    const Cut depth = cut(product.own.back());
    out_.title = d_.name;
    out_.labels.push_back(
        {{20, 28}, plain("tiling of " + result.name + " = " + left.name + " " + right.name), "title", 16, true});
    const double x = corner_x + matrix_side + matrix_gap, y = corner_y + matrix_side + matrix_gap;
    matrix(left.name, {corner_x, y}, row_, depth, true, false);
    matrix(right.name, {x, corner_y}, depth, column_, false, true);
    matrix(result.name, {x, y}, row_, column_, true, true);
    if (smaller()) agents(result.name);
    out_.width = x + matrix_side + 40;
    out_.height = y + matrix_side + 112;
    words(depth, out_.height - 78);
    return std::move(out_);
  }

 private:
  /// Finds the last product of two operands whose result has two axes with lines.
  const Operation& find() {
    for (auto op = d_.operations.rbegin(); op != d_.operations.rend(); ++op) {
      if (op->kind != OpKind::contract || op->inputs.size() != 2 || op->own.empty()) continue;
      std::vector<AxisId> axes;
      for (const AxisId axis : d_.arrays[at(op->outputs[0])].axes) {
        if (p_.problem->sizes[at(axis)] > Count(1)) axes.push_back(axis);
      }
      if (axes.size() < 2) continue;
      row_ = cut(axes[axes.size() - 2]), column_ = cut(axes.back());
      return *op;
    }
    throw Error(d_.name, "no product of it has a result of two axes to be cut into tiles", "--picture columns");
  }

  [[nodiscard]] Cut cut(AxisId axis) const {
    Cut out;
    out.axis = axis;
    out.name = d_.axes[at(axis)].name;
    out.whole = real(p_.problem->sizes[at(axis)]);
    out.streams = p_.streamed->stream == axis;
    const PlacedLevel &block = p_.block(), &agent = p_.levels.back();
    out.group = std::min(out.whole, real(out.streams ? block.chunk : block.extent[at(axis)]));
    out.agent = std::min(out.group, real(out.streams ? agent.chunk : agent.extent[at(axis)]));
    return out;
  }

  [[nodiscard]] std::string label(const Cut& c) const {
    if (c.group >= c.whole) return c.name;
    return (c.streams ? "s_" : "g_") + c.name;
  }

  /// Returns the drawn length of a group's part: in proportion, but at least large enough to be seen.
  [[nodiscard]] static double length(double part, double whole) {
    return std::clamp(matrix_side * part / whole, 16.0, matrix_side);
  }

  /// Draws the lines that divide a side, no closer together than can be seen.
  void cuts(Point corner, const Cut& c, bool vertical) {
    const double step = length(c.group, c.whole);
    for (double t = step; t < matrix_side - 1; t += step) {
      Path path = vertical
                      ? line({corner.x + t, corner.y}, {corner.x + t, corner.y + matrix_side}, "cut", line_colour, 0.8)
                      : line({corner.x, corner.y + t}, {corner.x + matrix_side, corner.y + t}, "cut", line_colour, 0.8);
      if (c.streams) path.dash = Dash::dashed;
      out_.paths.push_back(path);
    }
  }

  /// Returns the range of a side that is drawn as the group: the second of several, so that others are seen beside it.
  [[nodiscard]] static std::pair<double, double> part(const Cut& c) {
    const double size = length(c.group, c.whole);
    const double from = c.group < c.whole && 2 * size <= matrix_side ? size : 0;
    return {from, from + size};
  }

  void matrix(const std::string& name, Point corner, const Cut& down, const Cut& across, bool row, bool column) {
    const auto [top, bottom] = row ? part(down) : std::pair(0.0, matrix_side);
    const auto [left, right] = column ? part(across) : std::pair(0.0, matrix_side);
    const Rectangle tile{corner.x + left, corner.y + top, corner.x + right, corner.y + bottom};
    out_.paths.push_back(rectangle(tile, "tile", "", "#fbe3cd"));
    if (!row || !column) {  // the current chunk
      const auto [from, to] = part(row ? across : down);
      out_.paths.push_back(
          row ? rectangle({corner.x + from, tile.top, corner.x + to, tile.bottom}, "chunk", tile_colour, "#f3a961")
              : rectangle({tile.left, corner.y + from, tile.right, corner.y + to}, "chunk", tile_colour, "#f3a961"));
    }
    cuts(corner, down, false);
    cuts(corner, across, true);
    Path group = rectangle(tile, "tile", tile_colour, "");
    group.width = 2.4;
    out_.paths.push_back(group);
    Path whole =
        rectangle({corner.x, corner.y, corner.x + matrix_side, corner.y + matrix_side}, "array", array_colour, "");
    whole.width = 1.6;
    out_.paths.push_back(whole);
    sides(name, corner, down, across);
  }

  [[nodiscard]] bool smaller() const { return row_.agent < row_.group || column_.agent < column_.group; }

  /// Draws a group's tile separately, divided into the parts of its agents: the paper's tiles of tiles.
  void agents(const std::string& name) {
    const double wide = std::min(1.0, column_.group / row_.group), high = std::min(1.0, row_.group / column_.group);
    const Rectangle tile{corner_x, corner_y, corner_x + matrix_side * wide, corner_y + matrix_side * high};
    const double step_x = (tile.right - tile.left) * column_.agent / column_.group,
                 step_y = (tile.bottom - tile.top) * row_.agent / row_.group;
    out_.paths.push_back(rectangle(tile, "tile", "", "#fbe3cd"));
    out_.paths.push_back(
        rectangle({tile.left, tile.top, tile.left + step_x, tile.top + step_y}, "agent", "", "#d3ecd8"));
    for (double x = step_x; x < tile.right - tile.left - 1; x += step_x)
      out_.paths.push_back(line({tile.left + x, tile.top}, {tile.left + x, tile.bottom}, "cut", agent_colour, 1.6));
    for (double y = step_y; y < tile.bottom - tile.top - 1; y += step_y)
      out_.paths.push_back(line({tile.left, tile.top + y}, {tile.right, tile.top + y}, "cut", agent_colour, 1.6));
    Path group = rectangle(tile, "tile", tile_colour, "");
    group.width = 2.4;
    out_.paths.push_back(group);
    out_.labels.push_back({{tile.left, tile.top - 24}, plain("one tile of " + name), "name", 14, true, tile_colour});
    out_.labels.push_back({{(tile.left + tile.right) / 2, tile.top - 8},
                           tagged(label(column_), column_.group),
                           "axis",
                           12,
                           false,
                           tile_colour,
                           Anchor::middle});
    out_.labels.push_back({{tile.left - 8, (tile.top + tile.bottom) / 2},
                           tagged(label(row_), row_.group),
                           "axis",
                           12,
                           false,
                           tile_colour,
                           Anchor::end});
  }

  [[nodiscard]] static std::vector<Span> tagged(const std::string& name, double size) {
    std::vector<Span> out = symbol(name);
    out.push_back({Span::Shift::none, "\u00A0" + std::to_string(static_cast<std::int64_t>(size))});
    return out;
  }

  void sides(const std::string& name, Point corner, const Cut& down, const Cut& across) {
    out_.labels.push_back({{corner.x, corner.y - 24}, plain(name), "name", 14, true, array_colour});
    out_.labels.push_back(
        {{corner.x + matrix_side / 2, corner.y - 8}, size(across), "axis", 12, false, array_colour, Anchor::middle});
    out_.labels.push_back(
        {{corner.x - 8, corner.y + matrix_side / 2}, size(down), "axis", 12, false, array_colour, Anchor::end});
  }

  [[nodiscard]] static std::vector<Span> size(const Cut& c) {
    return plain(c.name + " " + std::to_string(static_cast<std::int64_t>(c.whole)));
  }

  /// Writes the sizes: "one group: g_a 128 x g_c 256".
  void words(const Cut& depth, double y) {
    const auto write = [&](const std::string& what, std::vector<std::pair<std::string, double>> parts,
                           const char* colour) {
      std::vector<Span> spans = plain(what + ": ");
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) spans.push_back({Span::Shift::none, " × "});
        for (const Span& span : symbol(parts[i].first)) spans.push_back(span);
        spans.push_back(
            {Span::Shift::none, "\u00A0=\u00A0" + std::to_string(static_cast<std::int64_t>(parts[i].second))});
      }
      out_.labels.push_back({{20, y}, spans, "level-text", 12, false, colour});
      y += 20;
    };
    write("one group's tile", {{label(row_), row_.group}, {label(column_), column_.group}}, tile_colour);
    write("one chunk of its operands", {{label(depth), depth.group}}, tile_colour);
    if (smaller())
      write("one agent's part", {{"h_" + row_.name, row_.agent}, {"h_" + column_.name, column_.agent}}, agent_colour);
    const auto larger = [](const Cut& c) { return length(c.group, c.whole) > matrix_side * c.group / c.whole + 0.5; };
    if (larger(row_) || larger(column_) || larger(depth))
      out_.labels.push_back(
          {{20, y}, plain("parts are drawn larger than they are, and fewer of them"), "note", 10, false, "#666666"});
  }

  const PlacedDiagram& p_;
  const Diagram& d_;
  Cut row_, column_;
  Drawing out_;
};

}  // namespace

Drawing tiling_of(const PlacedDiagram& placed) { return Tiling(placed).run(); }

}  // namespace napkin::internal::report
