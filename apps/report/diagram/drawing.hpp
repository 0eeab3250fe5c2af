#pragma once
// A Drawing is a picture as lines and labels with coordinates, which svg_of and tikz_of write down: a thick orange line
// from (40, 60) to (120, 60), and "g_q" above it. Both write the same lines and the same labels.

#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal::report {

struct Point {
  double x = 0, y = 0;
};

enum class Dash { solid, dashed, dotted };

/// A path of straight lines and curves, drawn, filled or both.
struct Path {
  struct Piece {
    char kind = 'L';  ///< kind of step: 'M' moves, 'L' draws a line, 'C' a curve by two control points
    Point to, first = {}, second = {};
  };
  std::vector<Piece> pieces;
  std::string role;    ///< "wire", "box", "bracket", "tick", ...: the class in SVG
  std::string colour;  ///< "#rrggbb"; empty: not drawn
  double width = 1.2;
  Dash dash = Dash::solid;
  std::string fill = {};  ///< empty: not filled
  bool halo = false;      ///< true for white on both sides, so that crossings are seen
  bool closed = false;
  std::string title = {};  ///< text shown while a mouse points at it
};

/// A piece of a label: "q" below the line of "g".
struct Span {
  enum class Shift { none, below, above } shift = Shift::none;
  std::string text;
};

enum class Anchor { start, middle, end };

struct Label {
  Point at;  ///< point on the letters' baseline
  std::vector<Span> spans;
  std::string role;
  double size = 12;
  bool bold = false;
  std::string colour = "#222222";
  Anchor anchor = Anchor::start;
  std::string title = {};
};

struct Rectangle {
  double left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] bool meets(const Rectangle& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

struct Drawing {
  double width = 0, height = 0;
  std::string title;
  std::vector<Path> paths;
  std::vector<Label> labels;  ///< labels, drawn above the paths
};

[[nodiscard]] std::vector<Span> plain(std::string text);
/// Makes a symbol: "g_q" as g with q below, and a divisor above.
[[nodiscard]] std::vector<Span> symbol(std::string_view label, std::string_view above = {});
/// Returns the width of a label in the widest of the common sans-serif fonts.
[[nodiscard]] double width_of(const std::vector<Span>& spans, double size, bool bold = false);
[[nodiscard]] Rectangle box_of(const Label& label);

[[nodiscard]] Path line(Point from, Point to, std::string role, std::string colour, double width = 1.2);
/// Makes a line that is horizontal at both ends.
[[nodiscard]] Path bend(Point from, Point to, std::string role, std::string colour, double width = 1.2);
[[nodiscard]] Path rectangle(const Rectangle& box, std::string role, std::string colour, std::string fill);

/// Writes a self-contained SVG document.
[[nodiscard]] std::string svg_of(const Drawing& drawing);
/// Writes a tikzpicture; `whole` makes it a document that compiles by itself.
[[nodiscard]] std::string tikz_of(const Drawing& drawing, bool whole);

}  // namespace napkin::internal::report
