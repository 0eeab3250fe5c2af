// How statements that take axes in parts become loops.

#include <algorithm>

#include "model/diagram/normalised.hpp"
#include "model/fusion/program.hpp"

namespace napkin::internal {
namespace {

/// A statement with the loops that must still be put around it.
struct Item {
  std::size_t place = 0;
  std::vector<Part> parts;
};
using Items = std::vector<Item>;
using Steps = std::vector<Step>;

class Nester {
 public:
  Nester(const Streamed& streamed, const std::vector<Statement>& statements) : s_(streamed), statements_(statements) {}

  Steps run(const PartsOf& parts) const {
    Items items;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      items.push_back({i, parts ? parts(statements_[i]) : std::vector<Part>{}});
      std::erase_if(items.back().parts, [&](const Part& part) { return !may_take(statements_[i], part.axis); });
    }
    return nested(items);
  }

 private:
  const Operation& op(const Statement& s) const { return s_.diagram.operations[at(*s.operation)]; }
  bool has(ArrayId array, AxisId axis) const { return s_.diagram.arrays[at(array)].has(axis); }
  bool is_streamed_softmax(const Statement& s) const {
    return s.kind == Statement::Kind::compute && !s.array &&
           s_.operations[at(*s.operation)].accumulator == AccumulatorKind::online_softmax;
  }

  /// Returns true if the statement may be done in parts of an axis: the result has the axis, or sums over it, so that
  /// parts add up.
  bool may_take(const Statement& s, AxisId axis) const {
    if (s.kind == Statement::Kind::store) return has(*s.array, axis);
    if (s.kind != Statement::Kind::compute || s.array) return false;
    if (is_streamed_softmax(s)) return has(op(s).outputs[0], axis) && !is_normalised(op(s));
    if (!op(s).owns(axis)) return has(op(s).outputs[0], axis);
    const auto kind = s_.operations[at(*s.operation)].accumulator;
    return kind == AccumulatorKind::sum || kind == AccumulatorKind::max;
  }

  Steps nested(const Items& items) const {
    Steps out;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Part* renewed = renewed_part(items[i]);
      if (renewed == nullptr) {
        append(out, alone(items[i]));
        continue;
      }
      const Together found = together({items.begin() + static_cast<std::ptrdiff_t>(i), items.end()});
      if (found.others_first) append(out, nested(found.others));
      out.push_back(loop(*renewed, nested(without(found.with, renewed->axis))));
      if (!found.others_first) append(out, nested(found.others));
      break;
    }
    return out;
  }

  const Part* renewed_part(const Item& item) const {
    const Statement& s = statements_[item.place];
    if (!is_streamed_softmax(s)) return nullptr;
    const auto found = std::find_if(item.parts.begin(), item.parts.end(),
                                    [&](const Part& part) { return part.renews && op(s).owns(part.axis); });
    return found == item.parts.end() ? nullptr : &*found;
  }

  /// The first softmax and the statements that use its part: products of it, and arrays that its factor rescales. No
  /// other statement between them needs their results, so the others may go before them.
  struct Together {
    Items with, others;
    bool others_first = false;
  };
  Together together(const Items& items) const {
    const Statement& softmax = statements_[items.front().place];
    std::vector<ArrayId> made = {op(softmax).outputs[0]};
    Together out{{items.front()}, {}, false};
    for (std::size_t i = 1; i < items.size(); ++i) {
      const Statement& s = statements_[items[i].place];
      const bool goes = goes_along(s, *softmax.operation, made);
      (goes ? out.with : out.others).push_back(items[i]);
      if (!goes) continue;
      out.others_first = !out.others.empty();
      if (s.kind == Statement::Kind::compute && s_.stream && has(op(s).outputs[0], *s_.stream))
        made.push_back(op(s).outputs[0]);
    }
    return out;
  }
  bool goes_along(const Statement& s, OpId softmax, const std::vector<ArrayId>& made) const {
    if (s.kind == Statement::Kind::rescale) return s.operation == softmax;
    if (s.kind != Statement::Kind::compute || s.array) return false;
    const std::vector<ArrayId>& in = op(s).inputs;
    return std::find_first_of(in.begin(), in.end(), made.begin(), made.end()) != in.end();
  }

  Items without(Items items, AxisId axis) const {
    for (Item& item : items) std::erase_if(item.parts, [&](const Part& part) { return part.axis == axis; });
    return items;
  }

  Steps alone(const Item& item) const {
    const Step step{Step::Kind::statement, statements_[item.place], item.place, {}, {}};
    std::vector<Part> around = item.parts;
    if (!is_streamed_softmax(step.statement)) return looped(around, {step});
    const auto shared = std::find_if(around.begin(), around.end(),
                                     [&](const Part& part) { return op(step.statement).owns(part.axis); });
    if (shared == around.end()) return looped(around, {step});
    const Part part = *shared;
    around.erase(shared);
    return looped(around, in_pieces(step, part));
  }

  /// Returns a softmax's steps in pieces: the maximum over all parts of the chunk comes first.
  Steps in_pieces(const Step& softmax, const Part& part) const {
    const auto piece = [&](Step::Kind kind) {
      Step step = softmax;
      step.kind = kind;
      return step;
    };
    return {piece(Step::Kind::begin), loop(part, {piece(Step::Kind::raise)}), piece(Step::Kind::shift),
            loop(part, {piece(Step::Kind::exponentials)})};
  }

  Steps looped(const std::vector<Part>& around, Steps body) const {
    for (std::size_t i = around.size(); i-- > 0;) body = {loop(around[i], std::move(body))};
    return body;
  }
  static Step loop(const Part& part, Steps body) { return {Step::Kind::loop, {}, 0, part, std::move(body)}; }
  static void append(Steps& to, Steps from) { std::move(from.begin(), from.end(), std::back_inserter(to)); }

  const Streamed& s_;
  const std::vector<Statement>& statements_;
};

}  // namespace

Program program_of(const Streamed& streamed, const PartsOf& parts) {
  return {{Nester(streamed, streamed.head).run(parts), Nester(streamed, streamed.loop).run(parts),
           Nester(streamed, streamed.tail).run(parts)}};
}

}  // namespace napkin::internal
