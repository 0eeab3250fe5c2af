// The work of a placed diagram: operations of contractions, exponentials, conversions. (model/README.md, "The two
// rules")
#include <algorithm>
#include <array>
#include <optional>

#include "model/diagram/seen.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

constexpr std::array<std::string_view, 10> exponential_maps = {
    "exp", "gelu", "silu", "sigmoid", "tanh", "softplus", "gelu_slope", "silu_slope", "tanh_slope", "sigmoid_slope"};

class Worker {
 public:
  explicit Worker(const PlacedDiagram& placed) : p_(placed), s_(*placed.streamed), d_(placed.streamed->diagram) {}

  [[nodiscard]] Work work() const {
    Work out;
    for (const PlacedOperation& op : p_.operations) {
      const Operation& o = d_.operations[at(op.operation)];
      if (o.kind == OpKind::contract) {
        const Count a_product = std::ssize(o.inputs);  // n factors: n - 1 multiplications and an addition
        out.flops += Flops(a_product * products(op.operation, o));
        out.executed_flops += Flops(a_product * op.m * op.n * op.k * op.repeats * runs(op.phase));
      }
      out.exponentials += exponentials(op, o) * runs(op.phase);
      out.conversions += conversions(op, o);
    }
    return out;
  }

 private:
  /// Returns the index tuples of an operation at full size; masked pairs do not count.
  [[nodiscard]] Count products(OpId id, const Operation& o) const {
    std::vector<AxisId> axes = d_.arrays[at(o.outputs[0])].axes;
    for (const AxisId own : o.own) {
      if (std::find(axes.begin(), axes.end(), own) == axes.end()) axes.push_back(own);
    }
    const auto pair = mask_of(id, axes);
    Count out = 1;
    for (const AxisId axis : axes) {
      if (!pair || (axis != (*pair)[0] && axis != (*pair)[1])) out *= p_.problem->sizes[at(axis)];
    }
    if (!pair) return out;
    const auto [row, column] = *pair;
    return out * visible_pairs(p_.problem->mask, p_.problem->sizes[at(row)].get(), p_.problem->sizes[at(column)].get());
  }

  /// Returns the mask whose hidden pairs the operation skips: if whole chunks are left out, or if they do not matter.
  [[nodiscard]] std::optional<std::array<AxisId, 2>> mask_of(OpId id, const std::vector<AxisId>& axes) const {
    const auto has = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    if (p_.problem->mask.kind == Mask::Kind::none) return std::nullopt;
    if (p_.across && has(*p_.across) && has(*s_.stream)) return s_.skips;
    for (const auto& pair : mask_axes(d_)) {
      if (has(pair[0]) && has(pair[1]) && of_seen_pairs(d_, id, pair)) return pair;
    }
    return std::nullopt;
  }

  /// Returns the number of runs of a phase's operations, all blocks.
  [[nodiscard]] Count runs(Phase phase) const {
    const PlacedLevel& block = p_.block();
    if (phase != Phase::loop || !s_.stream) return block.groups;
    Count out = p_.across ? p_.walk.total.chunks : p_.walk.all_chunks;
    for (std::size_t i = 0; i < block.groups_of.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (axis != *s_.stream && axis != p_.across) out *= block.groups_of[i];
    }
    return out;
  }

  /// Returns the elements of an array in a block's tile, for the streamed axis in a chunk.
  [[nodiscard]] Count tile(const std::vector<AxisId>& axes) const {
    Count out = 1;
    for (const AxisId axis : axes) out *= s_.stream == axis ? p_.block().chunk : p_.block().extent[at(axis)];
    return out;
  }

  /// Returns the exponentials of one run in one block: a softmax takes one an element and, streamed, one a row for the
  /// rescale.
  [[nodiscard]] Count exponentials(const PlacedOperation& op, const Operation& o) const {
    const std::vector<AxisId>& axes = d_.arrays[at(o.outputs[0])].axes;
    if (o.kind == OpKind::map) {
      const bool takes =
          std::find(exponential_maps.begin(), exponential_maps.end(), o.function) != exponential_maps.end();
      return takes ? tile(axes) : Count(0);
    }
    if (o.kind != OpKind::softmax) return 0;
    const bool online = s_.operations[at(op.operation)].accumulator == AccumulatorKind::online_softmax;
    if (!online) return tile(axes);
    Count row = 1;
    for (const AxisId axis : axes) {
      if (!o.owns(axis)) row *= p_.block().extent[at(axis)];
    }
    return tile(axes) + row;
  }

  /// Returns the values that change type in all blocks: from the accumulator's type (fp32 unless the mapping says
  /// otherwise; vector units compute in fp32) to the result variable's, and from there to the staging variable's.
  [[nodiscard]] Count conversions(const PlacedOperation& op, const Operation& o) const {
    if (p_.machine->tensor.empty()) return 0;  // the abstract machine has one type
    DType made = DType::f32;
    const std::string& output = d_.arrays[at(o.outputs[0])].name;
    for (const OperationMapping& m : p_.mapping->operations) {
      if (m.output == output && !m.accumulate.empty()) {
        made = m.accumulate == "T" ? p_.problem->dtype : parse_dtype(m.accumulate, p_.mapping->file);
      }
    }
    Count out;
    for (const ArrayId array : o.outputs) {
      DType kept = made;
      const auto holds = [&](const Variable& v) {
        return std::find(v.arrays.begin(), v.arrays.end(), array) != v.arrays.end();
      };
      for (const Variable& v : p_.variables) {
        if (!v.output_staging && holds(v)) kept = v.type;
      }
      const std::vector<AxisId>& axes = d_.arrays[at(array)].axes;
      const bool streams = s_.stream && d_.arrays[at(array)].has(*s_.stream);
      if (kept != made) out += tile(axes) * runs(op.phase);
      for (const Variable& v : p_.variables) {
        if (!v.output_staging || !holds(v) || v.type == kept) continue;
        out += tile(axes) * runs(streams ? op.phase : Phase::tail);
      }
    }
    return out;
  }

  const PlacedDiagram& p_;
  const Streamed& s_;
  const Diagram& d_;
};

}  // namespace

Work work(const PlacedDiagram& placed) {
  if (placed.packed.empty()) return Worker(placed).work();
  Work sum;
  for (const PackedPart& part : placed.packed) {
    if (part.blank) continue;
    const Work one = Worker(part.placed).work();
    sum.flops += one.flops;
    sum.executed_flops += one.executed_flops;
    sum.exponentials += one.exponentials;
    sum.conversions += one.conversions;
  }
  return sum;
}

}  // namespace napkin::internal
