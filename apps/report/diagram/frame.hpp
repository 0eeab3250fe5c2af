#pragma once
// A Frame holds the coordinates that a picture's columns and bundles have: Q's lines at 52 and 74, the loop's bracket
// at 310. Internal to the folder.

#include <vector>

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/drawing.hpp"

namespace napkin::internal::report {

constexpr double wire_gap = 22, name_size = 12, axis_size = 11, small_size = 10;
constexpr double tag_gap = 8;  ///< room between an array's name and its type, for letters wider than most
constexpr double between = 3;  ///< height of the line between two arrays above the lower one
constexpr const char *grey = "#666666", *pale = "#bbbbbb", *dark = "#222222";

/// An event of a bundle with its place, from the left end of its column, and the labels that are written there.
struct PlacedEvent {
  double from = 0, to = 0;
  bool named = false;          ///< true if the stretch's name is written
  std::vector<bool> labelled;  ///< true if an axis's label is written, by axis
};

struct BundleFrame {
  double top = 0, bottom = 0;
  std::vector<double> wires;  ///< y of each axis's line; a bundle without axes has one dotted line
  double box = 0, half = 12;  ///< place and half height of the box of the functions that make it
  double below = 0;           ///< height at which bytes are written
};

struct Frame {
  explicit Frame(const ColumnDiagram& diagram);

  const ColumnDiagram& d;
  std::vector<BundleFrame> bundles;
  std::vector<double> left;                      ///< left edge of each column, and the right end
  std::vector<std::vector<PlacedEvent>> events;  ///< events by column
  std::vector<double> box_left, box_right;       ///< edges of the boxes of columns of functions
  double top = 0, bottom = 0;

  [[nodiscard]] double wire(int bundle, AxisId axis) const;  ///< returns the first line if the bundle lacks the axis
  [[nodiscard]] bool has(int bundle, AxisId axis) const;

 private:
  void rows();
  void widths();
  double place_events(std::size_t column);
  void align_branches(std::size_t column, double right);
  [[nodiscard]] const Stretch* stretch_before(int bundle, std::size_t column, const ColumnEvent* event) const;
  [[nodiscard]] double label_stretch(const Stretch& stretch, const Stretch* before, PlacedEvent& placed) const;
};

[[nodiscard]] std::string tag_of(const Stretch& stretch);
[[nodiscard]] std::vector<Span> moved_spans(const ColumnDiagram& diagram, const Move& move);
[[nodiscard]] std::vector<Span> axis_spans(const AxisTag& tag);
[[nodiscard]] std::string size_text(const AxisTag& tag);
/// Splits a product word by word, "g_q s_x", with each word's subscript.
[[nodiscard]] std::vector<Span> product_spans(const std::string& words);
/// Returns the distance from an input's left end to the lines that its dimensions fork into.
[[nodiscard]] double fork_of(const Bundle& bundle);
[[nodiscard]] double box_width(const ColumnFunction& function);

}  // namespace napkin::internal::report
