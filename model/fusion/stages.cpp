#include "model/fusion/stages.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"
#include "model/diagram/slice.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

std::string names_in(const Diagram& diagram, const std::vector<AxisId>& axes) {
  std::vector<std::string> words;
  for (const AxisId axis : axes) words.push_back(diagram.axes[at(axis)].name);
  return joined(words);
}

/// Returns the axes that every operation maps over, other than `stream` and those by which rows are chosen.
std::vector<AxisId> weaved_axes(const Diagram& diagram, AxisId stream) {
  std::vector<AxisId> out;
  for (AxisId axis = 0; axis < std::ssize(diagram.axes); ++axis) {
    const bool owned = std::any_of(diagram.operations.begin(), diagram.operations.end(),
                                   [&](const Operation& op) { return op.owns(axis); });
    const bool carried = std::all_of(diagram.operations.begin(), diagram.operations.end(), [&](const Operation& op) {
      return diagram.arrays[at(op.outputs.front())].has(axis);
    });
    const bool chosen = std::any_of(diagram.arrays.begin(), diagram.arrays.end(),
                                    [&](const Array& array) { return !array.reindexed.empty() && array.has(axis); });
    if (axis != stream && !owned && carried && !chosen) out.push_back(axis);
  }
  return out;
}

/// Returns the operations from `first` on, without axes over which they are weaved.
Diagram unweaved(Diagram diagram, const std::vector<AxisId>& axes, OpId first) {
  const auto gone = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  for (Array& array : diagram.arrays)
    array.axes.erase(std::remove_if(array.axes.begin(), array.axes.end(), gone), array.axes.end());
  for (Operation& op : diagram.operations) {
    if (op.mask && (gone((*op.mask)[0]) || gone((*op.mask)[1]))) op.mask.reset();
  }
  Problem problem;
  problem.sizes.assign(diagram.axes.size(), Count(1));
  std::string name = diagram.name;
  const auto last = static_cast<OpId>(diagram.operations.size()) - 1;
  Diagram out = slice_of(diagram, problem, first, last).diagram;
  out.name = std::move(name);
  return out;
}

/// Returns the first operation of the loop that accumulates over the streamed axis, or 0.
OpId first_over(const Streamed& streamed) {
  for (std::size_t i = 0; i < streamed.operations.size(); ++i) {
    const auto& accumulator = streamed.operations[i].accumulator;
    if (accumulator && *accumulator != AccumulatorKind::concatenate) return static_cast<OpId>(i);
  }
  return 0;
}

class Stages {
 public:
  explicit Stages(const Streamed& derived) : s_(derived), d_(derived.diagram) {}

  std::vector<Stage> run() {
    add("unfused", "every array is there whole, one operation after the other", d_, {});
    if (s_.stream) {
      stream_ = d_.axes[at(*s_.stream)].name;
      const std::vector<AxisId> weaved = weaved_axes(d_, *s_.stream);
      const OpId first = first_over(s_);
      const std::string why = streamability(d_, *s_.stream).why, composed = "fusion theorem 1 (input composition)";
      const std::string before = "what makes the streamed input is computed chunk by chunk";
      if (first > 0 || !weaved.empty()) add("streamed", why, unweaved(d_, weaved, first), stream_);
      if (first > 0 && !weaved.empty()) add(composed, before, unweaved(d_, weaved, 0), stream_);
      if (!weaved.empty())
        add("fusion theorem 3 (weaving)", names_in(d_, weaved) + " in front of every operation", d_, stream_);
      else
        add(first > 0 ? composed : "streamed", first > 0 ? before : why, d_, stream_);
    }
    if (std::any_of(s_.roles.begin(), s_.roles.end(), [](AxisRole r) { return r == AxisRole::group; }))
      out_.push_back({"groups", "each group of the weaved axes by itself", s_});
    return std::move(out_);
  }

 private:
  /// Adds a stage, unless it cannot be derived: a part of a diagram may end with an operation that does not stream by
  /// itself.
  void add(const std::string& rule, const std::string& text, const Diagram& diagram, const std::string& stream) {
    try {
      out_.push_back({rule, text, derive(diagram, roles_of(diagram, {}, stream))});
    } catch (const Error&) {  // shows the next stage only
    }
  }

  const Streamed& s_;
  const Diagram& d_;
  std::string stream_;
  std::vector<Stage> out_;
};

}  // namespace

std::vector<Stage> stages_of(const Streamed& derived) { return Stages(derived).run(); }

std::optional<Recursion> recursion_of(const Streamed& streamed) {
  if (!streamed.stream) return std::nullopt;
  const Diagram& d = streamed.diagram;
  Recursion out;
  out.axis = *streamed.stream;
  const auto name = [&](ArrayId id) { return d.arrays[at(id)].name; };
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    if (streamed.operations[i].phase == Phase::loop) out.functions.push_back(name(d.operations[i].outputs.front()));
  }
  std::string why = streamability(d, out.axis).why;
  why.erase(0, why.find(": ") == std::string::npos ? 0 : why.find(": ") + 2);
  for (std::size_t from = 0; from <= why.size();) {
    const std::size_t to = std::min(why.find("; ", from), why.size());
    out.accumulators.push_back(why.substr(from, to - from));
    from = to + 2;
  }
  for (const ArrayId id : streamed.maintained) {
    out.state.push_back(name(id));
    out.head.push_back(name(id) + " = " + (initial_value(streamed, id) == 0 ? "0" : "-infinity"));
  }
  for (const Auxiliary& one : streamed.auxiliaries) {
    if (one.name.starts_with("delta")) continue;  // a factor of one chunk, not passed on to the next
    out.state.push_back(one.name);
    const bool least = std::isinf(one.initial);
    out.head.push_back(one.name + " = " + (least ? "-infinity" : print_scale(d, Scale{one.initial, {}, 0, 1})));
  }
  for (const Statement& one : streamed.tail) {
    if (one.kind == Statement::Kind::normalise) out.tail.push_back(name(*one.array) + " /= z");
    if (one.kind == Statement::Kind::compute && one.operation)
      out.tail.push_back(name(one.array ? *one.array : d.operations[at(*one.operation)].outputs.front()));
  }
  return out;
}

}  // namespace napkin::internal
