#include "model/fusion/derive.hpp"

#include <algorithm>
#include <tuple>

#include "model/diagram/reindex.hpp"
#include "model/fusion/accumulator.hpp"
#include "model/fusion/explain.hpp"
#include "model/fusion/program.hpp"

namespace napkin::internal {
namespace {

AxisRole& role(std::vector<AxisRole>& roles, AxisId axis) { return roles[static_cast<std::size_t>(axis)]; }

/// Returns the number of operations that consume the axis.
std::ptrdiff_t consumers(const Diagram& d, AxisId axis) {
  return std::count_if(d.operations.begin(), d.operations.end(), [&](const Operation& op) { return op.owns(axis); });
}

/// Returns true if chunks of the axis read rows of an input that neighbouring chunks read too.
bool overlaps(const Diagram& d, AxisId axis) {
  return std::any_of(d.arrays.begin(), d.arrays.end(), [&](const Array& a) { return is_shifted(a, axis); });
}

/// Returns true if every group of the axis may compute the operation's outputs, which lack the axis, again: one
/// elementwise instruction a value, and none that is stored.
bool cheap_in_each_group(const Diagram& d, const Operation& op) {
  const bool products =
      op.kind == OpKind::contract || op.kind == OpKind::softmax || op.kind == OpKind::scan || op.kind == OpKind::fold;
  return !products && std::none_of(op.outputs.begin(), op.outputs.end(), [&](ArrayId id) { return d.is_output(id); });
}

/// Returns true if no operation consumes the axis, and those whose results lack it are cheap.
bool groups_by_itself(const Diagram& d, AxisId axis) {
  for (const Operation& op : d.operations) {
    const bool lacks = std::any_of(op.outputs.begin(), op.outputs.end(),
                                   [&](ArrayId out) { return !d.arrays[static_cast<std::size_t>(out)].has(axis); });
    if (lacks && !cheap_in_each_group(d, op)) return false;
  }
  return !consumed(d, axis);
}

std::optional<AxisId> preferred_stream(const Diagram& d, const std::vector<AxisRole>& roles) {
  // Axes that an operation consumes come first: streaming another one fuses nothing, it only cuts outputs into chunks.
  // Among them axes of shifted rows come last, since their chunks overlap, unless two operations consume one: then the
  // arrays between these are never held whole (scores of a sliding window). Then the axis that most arrays carry, the
  // first declared.
  std::optional<AxisId> best;
  std::tuple<bool, bool, std::ptrdiff_t> most{false, false, 0};
  for (std::size_t i = 0; i < d.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (roles[i] != AxisRole::whole || d.axes[i].role || !streamability(d, axis).streamable) continue;
    const auto carriers = std::count_if(d.arrays.begin(), d.arrays.end(), [&](const Array& a) { return a.has(axis); });
    const std::tuple<bool, bool, std::ptrdiff_t> rank{consumed(d, axis), !overlaps(d, axis) || consumers(d, axis) > 1,
                                                      carriers};
    if (rank > most) {
      best = axis;
      most = rank;
    }
  }
  return best;
}

Location where(const Diagram& d, std::optional<OpId> op) {
  if (!op) return Location{d.name, 0, 0};
  const Location& at = d.operations[static_cast<std::size_t>(*op)].location;
  return at.file.empty() ? Location{d.name, 0, 0} : at;
}

std::string other_streams(const Diagram& d) {
  std::vector<std::string> names;
  for (const Streamability& s : streamability(d)) {
    if (s.streamable) names.push_back(d.axes[static_cast<std::size_t>(s.axis)].name);
  }
  return names.empty() ? "no axis of this diagram streams" : "one of " + joined(names);
}

/// Turns grouped axes that an operation consumes into split axes; throws Error if that is illegal.
void settle_groups(Streamed& s) {
  const Diagram& d = s.diagram;
  for (std::size_t i = 0; i < d.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (!s.grouped(axis)) continue;
    s.roles[i] = consumed(d, axis) ? AxisRole::split : AxisRole::group;
    if (s.roles[i] == AxisRole::group) continue;
    const AxisAnalysis analysis = analyse(d, axis, AxisUse::split);
    if (!analysis.legal()) {
      throw Error(where(d, analysis.blocker), "", "axis " + d.axes[i].name + " cannot be grouped: " + analysis.why,
                  "leave " + d.axes[i].name + " whole, or stream it where derive allows");
    }
  }
}

/// Finds the axis that the loop walks: the one of role stream, else a split one, within its groups.
void settle_stream(Streamed& s) {
  const Diagram& d = s.diagram;
  for (std::size_t i = 0; i < d.axes.size(); ++i) {
    if (s.roles[i] != AxisRole::stream) continue;
    if (s.stream) {
      throw Error(d.name,
                  "two streamed axes, " + d.axes[static_cast<std::size_t>(*s.stream)].name + " and " + d.axes[i].name,
                  "at most one: group or keep whole the other");
    }
    const Streamability found = streamability(d, static_cast<AxisId>(i));
    if (!found.streamable) {
      throw Error(where(d, found.blocker), "", "axis " + d.axes[i].name + " cannot stream: " + found.why,
                  other_streams(d));
    }
    s.stream = found.axis;
  }
  for (std::size_t i = 0; i < d.axes.size() && !s.stream; ++i) {
    if (s.roles[i] == AxisRole::split && streamability(d, static_cast<AxisId>(i)).streamable) {
      s.stream = static_cast<AxisId>(i);
    }
  }
}

ArrayId log_sum_exp_of(Streamed& s, OpId softmax) {
  Diagram& d = s.diagram;
  Operation& op = d.operations[static_cast<std::size_t>(softmax)];
  if (op.outputs.size() == 1) {
    std::string name = "lse_" + d.arrays[static_cast<std::size_t>(op.outputs[0])].name;
    while (d.find_array(name)) name += "_";
    d.arrays.push_back(Array{name, state_axes(d, softmax), op.location});
    op.outputs.push_back(static_cast<ArrayId>(d.arrays.size()) - 1);
  }
  const ArrayId lse = op.outputs[1];
  if (!d.is_output(lse)) {
    d.outputs.push_back(lse);
    s.statistics.push_back(lse);
  }
  return lse;
}

/// Lists the outputs that the groups of a split axis leave as partial results. A weighted combine needs each group's
/// log-sum-exp as well: it becomes an output, counted like any other. (eq. 19.2)
void settle_combines(Streamed& s) {
  for (std::size_t i = 0; i < s.roles.size(); ++i) {
    if (s.roles[i] != AxisRole::split) continue;
    const auto axis = static_cast<AxisId>(i);
    const AxisAnalysis before = analyse(s.diagram, axis, AxisUse::split);
    for (ArrayId id : std::vector<ArrayId>(s.diagram.outputs)) {
      const ArrayStatus& status = before.arrays[static_cast<std::size_t>(id)];
      if (status.kind == ArrayStatus::Kind::reduced && status.combine == Combine::Kind::weighted) {
        log_sum_exp_of(s, *status.pending);
      }
    }
    const AxisAnalysis after = analyse(s.diagram, axis, AxisUse::split);
    for (ArrayId id : s.diagram.outputs) {
      const ArrayStatus& status = after.arrays[static_cast<std::size_t>(id)];
      if (status.kind != ArrayStatus::Kind::reduced) continue;
      Combine combine{axis, id, status.combine, std::nullopt};
      if (status.combine == Combine::Kind::weighted) combine.log_sum_exp = log_sum_exp_of(s, *status.pending);
      s.combines.push_back(combine);
    }
  }
}

}  // namespace

bool consumed(const Diagram& d, AxisId axis) { return consumers(d, axis) > 0; }

Streamability streamability(const Diagram& diagram, AxisId axis) {
  const AxisAnalysis analysis = analyse(diagram, axis, AxisUse::stream);
  Streamability result{axis, analysis.legal(), analysis.blocker, analysis.why};
  if (result.streamable) result.why = describe_accumulators(diagram, axis, analysis);
  return result;
}

Streamability splittability(const Diagram& diagram, AxisId axis) {
  const AxisAnalysis analysis = analyse(diagram, axis, AxisUse::split);
  return {axis, analysis.legal(), analysis.blocker, analysis.why};
}

std::vector<Streamability> streamability(const Diagram& diagram) {
  std::vector<Streamability> all;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) all.push_back(streamability(diagram, static_cast<AxisId>(i)));
  return all;
}

Streamed derive(const Diagram& diagram) {
  std::vector<AxisRole> roles(diagram.axes.size(), AxisRole::whole);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (groups_by_itself(diagram, static_cast<AxisId>(i))) roles[i] = AxisRole::group;
    roles[i] = diagram.axes[i].role.value_or(roles[i]);
  }
  const bool given = std::count(roles.begin(), roles.end(), AxisRole::stream) > 0;
  const auto stream = given ? std::nullopt : preferred_stream(diagram, roles);
  if (stream) role(roles, *stream) = AxisRole::stream;
  Streamed streamed = derive(diagram, roles);
  explain_refusals(streamed);
  return streamed;
}

Streamed derive(const Diagram& diagram, const std::vector<AxisRole>& roles) {
  if (roles.size() != diagram.axes.size()) {
    throw Error(diagram.name,
                std::to_string(roles.size()) + " roles for " + std::to_string(diagram.axes.size()) + " axes",
                "one role an axis");
  }
  Streamed s;
  s.diagram = diagram;
  s.roles = roles;
  settle_groups(s);
  settle_stream(s);
  settle_combines(s);
  if (s.stream) {
    const AxisAnalysis analysis = analyse(s.diagram, *s.stream, AxisUse::stream);
    write_program(s, &analysis);
    s.skips = skippable(s.diagram, *s.stream);
  } else {
    write_program(s, nullptr);
  }
  explain(s);
  return s;
}

std::vector<AxisRole> roles_of(const Diagram& diagram, const std::vector<std::string>& grouped,
                               const std::string& streamed) {
  std::vector<AxisRole> roles(diagram.axes.size(), AxisRole::whole);
  for (const std::string& name : grouped) role(roles, diagram.axis(name)) = AxisRole::group;
  if (!streamed.empty()) {
    AxisRole& r = role(roles, diagram.axis(streamed));
    if (r == AxisRole::group) throw Error(diagram.name, "axis '" + streamed + "' is grouped and streamed", "one role");
    r = AxisRole::stream;
  }
  return roles;
}

}  // namespace napkin::internal
