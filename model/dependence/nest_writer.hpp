#pragma once
// A NestWriter makes the loops, names and references of a streamed program's statements: of attention O_low[b, h, q,
// d_1] in a group's memory, O[b, h, q, d_1] in device memory. Internal to the folder.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/dependence/build.hpp"
#include "model/dependence/from_streamed.hpp"

namespace napkin::internal::dependence {

class NestWriter {
 public:
  /// Prepares the nest: its names, and the loops over groups and chunks. The arguments must outlive the writer.
  NestWriter(const Streamed& streamed, const std::vector<std::int64_t>& sizes);

 protected:
  /// The loops that stand for the axes of one pass over some values.
  using Pass = std::map<AxisId, LoopId>;
  using Axes = std::vector<AxisId>;

  const Array& array(ArrayId id) const { return d_.arrays[at(id)]; }
  const Operation& op(OpId id) const { return d_.operations[at(id)]; }
  /// Returns the axes of a softmax's state.
  Axes state_axes(OpId softmax) const;
  /// Returns the axes into whose groups a result is split.
  Axes split_axes(ArrayId id) const;
  /// Returns the grouped axes on which an output does not depend at all: each of their groups stores the same values.
  Axes copied_axes(ArrayId id) const;

  /// Returns the pass with new inner loops for axes that are neither grouped nor streamed.
  Pass inner(const Axes& axes, Pass pass = {});
  /// Returns the pass with new loops for all axes, as the launch that combines parts has.
  Pass all_loops(const Axes& axes, Pass pass = {});

  /// Returns a value in the group's own memory; `anew`: true if each iteration of the loop makes a new one.
  Reference low(const std::string& name, const Axes& axes, const Pass& pass, bool anew) const;
  Reference low(ArrayId id, const Pass& pass) const { return low(low_[at(id)], array(id).axes, pass, false); }
  /// Returns a value of a softmax's state; the loop makes delta and the new maximum in each iteration.
  Reference state(OpId softmax, std::size_t which, const Pass& pass) const;
  /// Returns a value in device memory; a partial result has a place for each group of its split axes.
  Reference global(ArrayId id, const Pass& pass) const;
  /// Returns a part of a result as the launch that combines them reads it.
  Reference part(ArrayId id, const Pass& pass) const;
  /// Returns a whole result as the launch that combines parts writes it.
  Reference combined(ArrayId id, const Pass& pass) const;

  void declare(const std::string& name, std::optional<double> initial);
  /// Adds a statement within the loops over groups and, in the loop's phase, over chunks.
  void emit(const Reference& target, Expression value, const Pass& pass);
  /// Adds a statement within the loops of emit() and those of the pass.
  void emit_in(std::vector<LoopId> loops, const Reference& target, Expression value, const Pass& pass);

  const Streamed& s_;
  const Diagram& d_;
  const std::vector<std::int64_t>& sizes_;
  StreamedNest result_;
  Names names_;
  std::vector<std::string> names_of_arrays_, parts_;
  Phase phase_ = Phase::head;

 private:
  void name_arrays();
  void add_outer_loops();
  LoopId new_loop(AxisId axis, const std::string& name);
  LoopId new_inner_loop(AxisId axis, const char* kind);
  bool is_whole(AxisId axis) const { return !s_.grouped(axis) && s_.stream != axis; }
  bool streams(const Axes& axes) const;
  bool depends(ArrayId id, AxisId axis) const;

  std::vector<std::string> low_, auxiliaries_;
  std::vector<LoopId> groups_;
  int inner_ = 0;
};

}  // namespace napkin::internal::dependence
