#include "kernels/plans/attention_shape.hpp"

#include <algorithm>
#include <cmath>

#include "model/resource/order.hpp"

namespace napkin::internal {

Initialiser::Enumerator enumerator(TileOrder order) {
  switch (order) {
    case TileOrder::grid: return {"TileOrder::grid"};
    case TileOrder::persistent: return {"TileOrder::persistent"};
    case TileOrder::longest_first: return {"TileOrder::longest_first"};
    case TileOrder::told: return {"TileOrder::told"};
  }
  return {};
}

Initialiser::Enumerator enumerator(MaskKind mask) {
  switch (mask) {
    case MaskKind::none: return {"MaskKind::none"};
    case MaskKind::causal: return {"MaskKind::causal"};
    case MaskKind::window: return {"MaskKind::window"};
  }
  return {};
}

TileOrder tile_order_of(std::string_view word) {
  if (word == "grid") return TileOrder::grid;
  return word == "persistent" ? TileOrder::persistent : TileOrder::longest_first;
}

MaskKind mask_kind_of(const Mask& mask) {
  if (mask.kind == Mask::Kind::none) return MaskKind::none;
  return mask.kind == Mask::Kind::causal ? MaskKind::causal : MaskKind::window;
}

AttentionLengths lengths_of(const PlacedDiagram& placed) {
  const Diagram& diagram = placed.streamed->diagram;
  const auto size = [&](const char* axis) {
    return to_int(placed.problem->sizes[static_cast<std::size_t>(diagram.axis(axis))], axis);
  };
  return {size("b"),           size("h"), size("g"), size("q"), size("x"), size("d"), size("dv"), placed.problem->dtype,
          placed.problem->mask};
}

AttentionShape attention_shape(const AttentionLengths& lengths, int tile_q, int tile_g, const LaunchDevice& device) {
  AttentionShape s{};
  s.b = lengths.b;
  s.g = lengths.g;
  s.q = lengths.q;
  s.x = lengths.x;
  s.d = lengths.d;
  s.dv = lengths.dv;
  const Count h = lengths.h, q_tiles = ceil_div(s.q, tile_q), groups = ceil_div(s.g, tile_g);
  const Count head_tiles = Count(s.b) * h * groups;
  s.tiles = to_int(head_tiles * q_tiles, "tiles");
  s.q_tiles = divisor(q_tiles.get());
  s.h = divisor(h.get());
  s.groups = divisor(groups.get());
  const Count head_bytes = bytes_of(Count(s.x) * (Count(s.d) + s.dv), lengths.dtype).value;
  const Count section = section_planes(head_tiles, head_bytes, device.l2, lengths.mask.kind != Mask::Kind::none);
  s.section = divisor(section.get());
  s.section_tiles = divisor((section * q_tiles).get());
  s.last_section = divisor(head_tiles % section == Count(0) ? section.get() : (head_tiles % section).get());
  // The kernel adds them to row numbers, so a limit beyond the array is set to its end.
  s.left = to_int(std::min(Count(lengths.mask.left), Count(s.q) + s.x), "window");
  s.right = to_int(std::min(Count(lengths.mask.right), Count(s.q) + s.x), "window");
  return s;
}

double softmax_scale(const std::optional<double>& wanted, int d) {
  const double scale = wanted.value_or(1 / std::sqrt(static_cast<double>(d)));
  require(std::isfinite(scale) && scale > 0, "scale", "is not positive", "a positive number");
  return scale;
}

AttentionArguments attention_arguments(const AttentionCall& call, const AttentionShape& shape) {
  AttentionArguments a{};
  a.shape = shape;
  a.o_row = call.o.row;
  a.o_head = call.o.head;
  a.o_batch = call.o.batch;
  set_scale(a, call.scale, shape.d);
  return a;
}

void bind(LaunchPlan& plan, const AttentionCall& call) {
  if (plan.source == attention_decode_sm90_source) return bind_decode_sm90(plan, call);
  if (plan.source == attention_fp8_sm90_source) return bind_fp8_sm90(plan, call);
  if (plan.source == napkin_fp8_sm90_source) return bind_napkin_fp8_sm90(plan, call);
  plan.source == attention_sm80_source ? bind_sm80(plan, call) : bind_sm90(plan, call);
}

void check_call(const AttentionCall& call, std::string_view kernel) {
  require(!call.packed() || (call.x_starts != 0 && call.q_rows > 0 && call.x_rows > 0), kernel,
          "packed sequences need both starts and rows", "q_starts, x_starts, q_rows and x_rows");
  require(call.pages.table == 0 && call.lengths == 0, kernel, "takes neither pages nor counts of keys",
          "attention_decode_sm90, on Hopper");
  require(call.dump == 0 || (!call.packed() && call.cycles == 0), kernel,
          "dumps neither packed sequences nor beside its cycles", "sequences of one length, a launch of its own");
}

}  // namespace napkin::internal
