#pragma once
// Places holds where a diagram's arrays lie and through which memories they go: K from device memory through the L2
// into two copies of shared memory. Without a machine there are two levels. Internal to the folder.

#include <string>
#include <vector>

#include "apps/report/diagram/columns.hpp"

namespace napkin::internal::report {

/// A crossing, in the form that the picture needs.
struct Trip {
  ArrayId array = -1;
  std::string name;  ///< name of the array, or of an auxiliary
  LevelId from = 0, to = 0, into = 1;
  bool store = false;
  bool read = false;  ///< true for a move on to the unit that computes
  int variable = -1;
  std::int64_t linked = 1;
  std::optional<std::int64_t> bytes;
  std::string size;
  bool used = false;
};

class Places {
 public:
  explicit Places(const Streamed& streamed);
  Places(const PlacedDiagram& placed, const std::vector<Granularity>& divisors);

  [[nodiscard]] const Streamed& streamed() const { return s_; }
  [[nodiscard]] const PlacedDiagram* placed() const { return p_; }
  [[nodiscard]] const std::vector<DiagramLevel>& levels() const { return levels_; }
  std::vector<Trip>& trips() { return trips_; }

  /// Returns true if the axis has a line: neither its size nor its group's is known to be 1.
  [[nodiscard]] bool drawn(AxisId axis) const;
  [[nodiscard]] std::vector<AxisId> drawn(const std::vector<AxisId>& axes) const;
  /// Returns the level at which a result is made.
  [[nodiscard]] LevelId made_at(ArrayId array) const;
  /// Returns the index of the variable in which an iteration makes the term that it adds to the array; -1 if that is
  /// the sum's own place.
  [[nodiscard]] int part_apart(ArrayId array) const;
  [[nodiscard]] LevelId deepest() const;
  /// Returns the variable that holds the array at a level, by its index; -1: none.
  [[nodiscard]] int variable_at(ArrayId array, LevelId level, bool staging) const;
  [[nodiscard]] Stretch stretch(int bundle, const std::vector<AxisId>& axes, LevelId level, int variable) const;
  /// Lists axes that are not drawn: "left out, of size 1: b", "h: 16, one a group".
  [[nodiscard]] std::vector<std::string> left_out() const;
  /// Labels lines that read one dimension of the array together: "y: i+u-1".
  [[nodiscard]] std::vector<Bundle::Joined> joined_of(ArrayId array, const std::vector<AxisId>& drawn) const;
  [[nodiscard]] const PlacedOperation* operation(OpId id) const;

 private:
  void add_cut_tiles();
  [[nodiscard]] bool alone(AxisId axis) const;  ///< returns true if a group holds one of it, as of heads
  [[nodiscard]] AxisTag tag(AxisId axis, LevelId level, int variable) const;
  [[nodiscard]] AxisTag tag_in(AxisId axis, const Variable& variable) const;
  [[nodiscard]] std::string name(AxisId axis) const { return s_.diagram.axes[at(axis)].name; }
  [[nodiscard]] std::string size_of(const std::vector<AxisId>& axes) const;
  void add_levels();
  void add_trip(std::size_t crossing, Bytes bytes);

  const Streamed& s_;
  const PlacedDiagram* p_ = nullptr;
  std::vector<Granularity> divisors_;
  std::vector<DiagramLevel> levels_;
  std::vector<Trip> trips_;
};

}  // namespace napkin::internal::report
