#include "model/fusion/rewrite.hpp"

#include <algorithm>

#include "model/fusion/derive.hpp"
#include "model/fusion/rewrite_parts.hpp"

namespace napkin::internal {
namespace {

constexpr int most_moves = 64;  // moves of operations past others, for one axis, at most

/// Returns true for an operation that may be moved from before a linear operation to after it.
bool is_movable(const Operation& op) {
  return !op.mask && (op.kind == OpKind::add || op.kind == OpKind::subtract || op.kind == OpKind::multiply ||
                      op.kind == OpKind::divide);
}

bool is_sum(const Operation& op) { return op.kind == OpKind::add || op.kind == OpKind::subtract; }

/// Returns true if the operation is linear in that operand: f(A + B) = f(A) + f(B), and f(A r) = f(A) r.
bool is_linear_in(const Operation& op, ArrayId operand) {
  if (op.mask) return false;
  if (std::count(op.inputs.begin(), op.inputs.end(), operand) != 1) return false;
  switch (op.kind) {
    case OpKind::contract:
    case OpKind::sum:
    case OpKind::multiply:
    case OpKind::copy: return true;
    case OpKind::divide: return op.inputs[0] == operand;
    case OpKind::map: return is_linear_map(op.function);
    default: return false;
  }
}

class Mover {
 public:
  explicit Mover(Diagram& diagram) : d_(diagram) {}

  /// Moves the operation after all of its consumers. Returns false, and changes nothing, if one of them does not allow
  /// it.
  bool move(OpId id) {
    const Operation moved = op(id);
    if (!is_movable(moved)) return false;
    const ArrayId between = moved.outputs[0];
    if (d_.is_output(between)) return false;
    const std::vector<OpId> consumers = d_.consumers(between);
    for (OpId consumer : consumers) {
      if (!allows(op(consumer), moved, between)) return false;
    }
    // From the last one on, so that the places of earlier operations stay.
    for (auto at = consumers.rbegin(); at != consumers.rend(); ++at) replace(*at, moved, between);
    d_.operations.erase(d_.operations.begin() + id);
    rewrite::remove_unused(d_);
    return true;
  }

 private:
  [[nodiscard]] const Operation& op(OpId id) const { return d_.operations[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Array& array(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)]; }

  [[nodiscard]] bool has_any(ArrayId id, const std::vector<AxisId>& axes) const {
    return std::any_of(axes.begin(), axes.end(), [&](AxisId a) { return array(id).has(a); });
  }
  [[nodiscard]] bool has_all(ArrayId id, const std::vector<AxisId>& axes) const {
    return std::all_of(axes.begin(), axes.end(), [&](AxisId a) { return array(id).has(a); });
  }

  /// Returns true if the move is allowed: a term of a sum must carry the axes that the consumer sums over, or it would
  /// be repeated along them; a factor must not.
  [[nodiscard]] bool allows(const Operation& consumer, const Operation& moved, ArrayId between) const {
    if (!is_linear_in(consumer, between)) return false;
    std::vector<AxisId> own;
    for (AxisId a : consumer.own) {
      if (array(between).has(a)) own.push_back(a);
    }
    if (is_sum(moved)) {
      return std::all_of(moved.inputs.begin(), moved.inputs.end(), [&](ArrayId in) { return has_all(in, own); });
    }
    return has_all(moved.inputs[0], own) &&
           std::none_of(moved.inputs.begin() + 1, moved.inputs.end(), [&](ArrayId in) { return has_any(in, own); });
  }

  /// Applies the consumer to that operand in place of `between`.
  ArrayId applied(std::vector<Operation>& out, Operation consumer, ArrayId between, ArrayId operand) {
    std::replace(consumer.inputs.begin(), consumer.inputs.end(), between, operand);
    const ArrayId result = rewrite::add_array(d_, array(consumer.outputs[0]), rewrite::result_axes(d_, consumer));
    consumer.outputs = {result};
    out.push_back(std::move(consumer));
    return result;
  }

  void replace(OpId at, const Operation& moved, ArrayId between) {
    const Operation consumer = op(at);
    std::vector<Operation> instead;
    Operation last = moved;
    last.location = consumer.location;
    last.outputs = consumer.outputs;
    for (std::size_t i = 0; i < (is_sum(moved) ? moved.inputs.size() : 1); ++i)
      last.inputs[i] = applied(instead, consumer, between, moved.inputs[i]);
    instead.push_back(std::move(last));
    d_.operations.erase(d_.operations.begin() + at);
    d_.operations.insert(d_.operations.begin() + at, instead.begin(), instead.end());
  }

  Diagram& d_;
};

/// Returns the operations to move if `blocker` refuses: itself, or the sum or factor that it takes.
std::vector<OpId> suspects(const Diagram& d, OpId blocker) {
  std::vector<OpId> out{blocker};
  for (ArrayId in : d.operations[static_cast<std::size_t>(blocker)].inputs) {
    if (const auto producer = d.producer(in)) out.push_back(*producer);
  }
  return out;
}

/// Moves the operations that refuse until the axis streams.
bool make_stream(Diagram& d, AxisId axis) {
  for (int i = 0; i < most_moves; ++i) {
    const Streamability found = streamability(d, axis);
    if (found.streamable) return true;
    if (!found.blocker) return false;
    bool moved = false;
    for (OpId id : suspects(d, *found.blocker)) {
      const Operation& op = d.operations[static_cast<std::size_t>(id)];
      const std::string what =
          std::string(name_of(op.kind)) + " (" + d.arrays[static_cast<std::size_t>(op.outputs[0])].name + ")";
      moved = Mover(d).move(id);
      if (!moved) continue;
      d.rewritings.push_back("linearity: " + what + " moves past the operation that takes it, so that " +
                             d.axes[static_cast<std::size_t>(axis)].name + " can stream");
      break;
    }
    if (!moved) return false;
  }
  return false;
}

}  // namespace

Diagram linearised(const Diagram& diagram) {
  Diagram out = diagram;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (!consumed(diagram, axis) || streamability(out, axis).streamable) continue;
    Diagram trial = out;
    if (make_stream(trial, axis)) out = std::move(trial);
  }
  if (!out.rewritings.empty()) check(out);
  return out;
}

}  // namespace napkin::internal
