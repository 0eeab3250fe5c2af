#include "apps/report/diagram/held.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/units.hpp"
#include "model/base/error.hpp"
#include "model/fusion/partition.hpp"
#include "model/resource/columns.hpp"

namespace napkin::internal::report {
namespace {

/// Returns the column of data for a column of the memory rule: the one after the last piece of its operation, or, for
/// inputs, the one from which the phase's first functions read. -1: none.
int data_column(const ColumnDiagram& d, const Column& column, bool streams) {
  const int last = static_cast<int>(d.columns.size()) - 1;
  int found = -1;
  for (int i = 0; i <= last; ++i) {
    const DiagramColumn& one = d.columns[at(i)];
    if (one.phase != column.phase) continue;
    if (!column.after && one.kind == DiagramColumn::Kind::data && (i > 0 || !streams)) {
      const bool taken = i == last || d.columns[at(i + 1)].kind == DiagramColumn::Kind::functions ||
                         d.columns[at(i + 1)].kind == DiagramColumn::Kind::open;
      if (taken) return i;
    }
    for (const ColumnFunction& f : one.functions) {
      if (column.after && f.operation == *column.after) found = i + 1;
    }
  }
  return std::min(found, last);
}

void add_terms(const Places& places, ColumnDiagram& d) {
  const Streamed& s = places.streamed();
  for (const Column& column : columns(s, ColumnView::drawn)) {
    const int where = data_column(d, column, s.stream.has_value());
    if (where < 0) continue;
    auto& values = d.columns[at(where)].values;
    values.clear();
    for (const ArrayId id : column.arrays) {
      std::vector<std::string> words;
      for (const AxisTag& tag : places.stretch(0, places.drawn(s.diagram.arrays[at(id)].axes), 1, -1).axes)
        words.push_back(tag.label);
      values.push_back(words.empty() ? "1" : joined(words, " "));
    }
  }
}

/// Adds a group's transfer and the number of groups, for a diagram without a machine.
void add_formulas(Places& places, ColumnDiagram& d) {
  const Streamed& s = places.streamed();
  std::vector<std::string> moved, groups;
  for (const Trip& trip : places.trips()) moved.push_back(trip.size);
  for (std::size_t i = 0; i < s.diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const std::string& name = s.diagram.axes[i].name;
    if (s.grouped(axis) && places.drawn(axis)) groups.push_back(name + "/g_" + name);
  }
  d.formulas.push_back("H of a group = " + joined(moved, " + "));
  d.formulas.push_back("N = " + (groups.empty() ? "1" : joined(groups, " ")));
}

}  // namespace

void add_held(const Places& places, ColumnDiagram& d) {
  if (!d.placed) return add_terms(places, d);
  const PlacedDiagram& p = *places.placed();
  for (const ColumnMemory& memory : column_memories(p, ColumnView::drawn)) {
    const int where = data_column(d, memory.column, places.streamed().stream.has_value());
    if (where < 0) continue;
    auto& held = d.columns[at(where)].held;
    if (held.empty()) {
      for (const PlacedLevel& level : p.levels) held.push_back({level.level, 0});
    }
    for (std::size_t i = 0; i < held.size(); ++i) held[i].bytes = std::max(held[i].bytes, memory.held[i].value.get());
  }
}

void add_notes(Places& places, ColumnDiagram& d) {
  const Streamed& s = places.streamed();
  const auto name = [&](AxisId axis) { return s.diagram.axes[at(axis)].name; };
  if (!d.placed) add_formulas(places, d);
  if (const auto out = places.left_out(); !out.empty()) d.notes.push_back("axes without a line: " + joined(out, "; "));
  for (const Trip& trip : places.trips()) {
    if (trip.used || !trip.bytes) continue;
    d.undrawn.push_back({trip.name, trip.into, trip.store, *trip.bytes});
    if (*trip.bytes == 0) continue;
    d.notes.push_back(fmt::format("in no column: {} {} {}, {}", trip.name, trip.store ? "out of" : "into",
                                  d.levels[at(trip.into)].name,
                                  d.values ? count_text(*trip.bytes) : transfer_text(*trip.bytes)));
  }
  for (const Combine& c : s.combines) {
    if (!places.drawn(c.axis) || (d.placed && places.placed()->whole())) continue;
    d.notes.push_back(fmt::format("{}: the parts of the groups of {} are joined {}", s.diagram.arrays[at(c.array)].name,
                                  name(c.axis),
                                  c.kind == Combine::Kind::weighted ? "with weights exp(lse_i - lse)" : "by adding"));
  }
  const bool masked = d.placed && places.placed()->problem->mask.kind != Mask::Kind::none;
  if (s.stream && s.skips && masked)
    d.notes.push_back(fmt::format("chunks of {} that the mask rules out are left out", name(*s.stream)));
}

}  // namespace napkin::internal::report
