#pragma once
// A Painter draws the columns of a diagram from left to right and keeps the current colour of each bundle, the lines
// of an array's axes: K's are orange in shared memory. Internal to the folder.

#include <string>
#include <utility>
#include <vector>

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/drawing.hpp"
#include "apps/report/diagram/frame.hpp"
#include "apps/report/diagram/picture.hpp"

namespace napkin::internal::report {

inline constexpr double wire_width = 2, curve_width = 2;  ///< widths of an axis' line beside and between functions

/// A painting in progress: paths in four layers, and the colour in which each bundle arrives.
class Painter {
 public:
  explicit Painter(const ColumnDiagram& diagram)
      : d_(diagram), f_(diagram), colours_(level_colours(diagram.levels, diagram.compute, diagram.threads)) {}

  Drawing run();

 private:
  void label(Point at, std::vector<Span> spans, const char* role, double size, bool bold, const std::string& colour,
             Anchor anchor = Anchor::start, const std::string& title = {});

  /// Draws the lines of a bundle between two x.
  void lines(int id, double from, double to, const std::string& colour);
  [[nodiscard]] bool touched(std::size_t column, int id) const;

  /// Draws the bundles that run through a column unchanged.
  void pass(std::size_t column);

  /// Draws the dashed lines between the arrays of a tuple.
  void separators(std::size_t column);

  /// Draws a column of arrays: their lines, their names and their moves to other levels.
  void data(std::size_t column);

  /// Draws the fork of an input's dimension into the lines of the axes that read it.
  void fork(int id);
  void write(const Stretch& stretch, const PlacedEvent& placed, double x);
  void tick(const Move& move, double x);
  void dot(Point at, const std::string& colour);

  // Functions with their operands and results (painter_functions.cpp).
  void curve(Point from, Point to, const std::string& colour, bool item = false);
  void functions(std::size_t column);
  void function(std::size_t column, const ColumnFunction& f);

  /// Returns the colour in which a bundle leaves a column of functions.
  [[nodiscard]] std::string made_colour(std::size_t column, int id) const;
  [[nodiscard]] bool consumes(const ColumnFunction& f, AxisId axis) const;

  /// Returns the box of a function: as high as the lines that it consumes if an array after it has these lines too,
  /// else as high as the lines of its result.
  [[nodiscard]] Rectangle box_of(const ColumnFunction& f, const BundleFrame& b, double xl, double xr) const;
  void outputs(const ColumnFunction& f, const Rectangle& box, double x1);
  void inputs(std::size_t column, const ColumnFunction& f, const Rectangle& box);
  void input(std::size_t column, const ColumnFunction& f, const ColumnFunction::Input& in, const Rectangle& box,
             const std::vector<std::pair<double, AxisId>>& ends);

  /// Draws further results, and the state that a softmax updates.
  void beside(const ColumnFunction& f, const Rectangle& box, double x1);
  void shape(const ColumnFunction& f, const Rectangle& box, const std::string& made);

  /// Draws the bracket at which the loop begins or ends.
  void bracket(std::size_t column);

  /// Writes "head", "for each s_x of x", "tail" above the columns.
  void phases();

  const ColumnDiagram& d_;
  Frame f_;
  std::vector<std::string> colours_;
  std::vector<std::string> colour_;  // colour of each bundle as it arrives
  std::vector<Path> back_, wires_, curves_, front_;
  Drawing out_;
};

}  // namespace napkin::internal::report
