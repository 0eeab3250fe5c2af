// The field's convention of an algorithm's FLOP: contractions alone, two for a multiply-add, a causal mask half of
// them.
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

/// Products of one contraction over all its axes at full size.
double products(const PlacedDiagram& placed, const Operation& op) {
  const Sizes& sizes = placed.problem->sizes;
  double product = 1;
  for (const AxisId a : placed.streamed->diagram.arrays[static_cast<std::size_t>(op.outputs.front())].axes) {
    product *= real(sizes[static_cast<std::size_t>(a)]);
  }
  for (const AxisId a : op.own) product *= real(sizes[static_cast<std::size_t>(a)]);
  return product;
}

/// The share of its products that the question's mask leaves to a contraction: 1 where it lacks an axis of the mask.
double visible_share(const PlacedDiagram& placed, const Operation& op) {
  const Mask& mask = placed.problem->mask;
  if (mask.kind == Mask::Kind::none) return 1;
  const Diagram& d = placed.streamed->diagram;
  const auto ranges_over = [&](AxisId axis) {
    return op.owns(axis) || d.arrays[static_cast<std::size_t>(op.outputs.front())].has(axis);
  };
  for (const Operation& other : d.operations) {
    if (!other.mask || !ranges_over((*other.mask)[0]) || !ranges_over((*other.mask)[1])) continue;
    if (mask.kind == Mask::Kind::causal) return 0.5;
    const Count rows = placed.problem->sizes[static_cast<std::size_t>((*other.mask)[0])];
    const Count columns = placed.problem->sizes[static_cast<std::size_t>((*other.mask)[1])];
    return real(visible_pairs(mask, rows.get(), columns.get())) / (real(rows) * real(columns));
  }
  return 1;
}

}  // namespace

double conventional_flops(const PlacedDiagram& placed) {
  double flops = 0;
  for (const PackedPart& part : placed.packed) flops += part.blank ? 0 : conventional_flops(part.placed);
  if (!placed.packed.empty()) return flops;
  for (const Operation& op : placed.streamed->diagram.operations) {
    if (op.kind == OpKind::contract) flops += 2 * products(placed, op) * visible_share(placed, op);
  }
  return flops;
}

}  // namespace napkin
