#include "model/diagram/seen.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

class Pairs {
 public:
  Pairs(const Diagram& diagram, const std::array<AxisId, 2>& mask) : d_(diagram), mask_(mask) {}

  /// Returns true if both mask axes are the array's, and it is 0 at hidden pairs.
  [[nodiscard]] bool is_zero(ArrayId array) const {
    const auto maker = d_.producer(array);
    if (!has_both(array) || !maker) return false;
    const Operation& op = d_.operations[at(*maker)];
    if (op.mask == mask_ && op.outputs.front() == array) return true;
    switch (op.kind) {
      case OpKind::contract:
      case OpKind::multiply: return any_zero(op.inputs);
      case OpKind::sum:
      case OpKind::copy: return is_zero(op.inputs.front());
      case OpKind::map: return keeps_zero(op.function) && is_zero(op.inputs.front());
      default: return false;
    }
  }

  /// Returns true if both mask axes are the array's, and its values at hidden pairs are not needed.
  [[nodiscard]] bool is_unused(ArrayId array) const {
    const std::vector<OpId> users = d_.consumers(array);
    if (!has_both(array) || d_.is_output(array) || users.empty()) return false;
    return std::all_of(users.begin(), users.end(), [&](OpId user) {
      const Operation& op = d_.operations[at(user)];
      if (op.mask == mask_) return true;
      const bool product = op.kind == OpKind::contract || op.kind == OpKind::multiply;
      if (product && std::any_of(op.inputs.begin(), op.inputs.end(),
                                 [&](ArrayId other) { return other != array && is_zero(other); }))
        return true;
      const bool keeps_pairs = !op.owns(mask_[0]) && !op.owns(mask_[1]) && op.kind != OpKind::softmax;
      return keeps_pairs && std::all_of(op.outputs.begin(), op.outputs.end(), [&](ArrayId o) { return is_unused(o); });
    });
  }

  [[nodiscard]] bool spares(const Operation& op) const {
    if (op.kind == OpKind::contract || op.kind == OpKind::multiply) {
      if (any_zero(op.inputs)) return true;
    }
    return is_zero(op.outputs.front()) || is_unused(op.outputs.front());
  }

 private:
  [[nodiscard]] bool has_both(ArrayId array) const {
    const Array& its = d_.arrays[at(array)];
    return its.has(mask_[0]) && its.has(mask_[1]);
  }
  [[nodiscard]] bool any_zero(const std::vector<ArrayId>& arrays) const {
    return std::any_of(arrays.begin(), arrays.end(), [&](ArrayId array) { return is_zero(array); });
  }

  const Diagram& d_;
  const std::array<AxisId, 2>& mask_;
};

}  // namespace

bool of_seen_pairs(const Diagram& diagram, OpId operation, const std::array<AxisId, 2>& mask) {
  return Pairs(diagram, mask).spares(diagram.operations[at(operation)]);
}

bool read_at_seen_pairs(const Diagram& diagram, ArrayId array, const std::array<AxisId, 2>& mask) {
  const std::vector<OpId> users = diagram.consumers(array);
  return !diagram.is_output(array) &&
         std::all_of(users.begin(), users.end(), [&](OpId user) { return of_seen_pairs(diagram, user, mask); });
}

}  // namespace napkin::internal
