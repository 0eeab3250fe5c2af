#include <algorithm>
#include <numbers>

#include "kernels/attention/arguments_fp8.cuh"
#include "kernels/launch/attention_shape.hpp"

namespace napkin {
namespace {

constexpr std::string_view fp8_kernel = "attention_fp8_sm90";

AttentionFp8Config fp8_config_of(const PlacedDiagram& placed, const AttentionCall& call, const PlacementReader& read) {
  AttentionFp8Config out{};
  AttentionConfig& c = out.forward;
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warpgroups = read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.q_stages = read.knob("q_stages");
  c.overlap = true;
  c.pingpong = read.word("pingpong") == "on";
  c.g = read.knob("g");
  c.cluster = 1;
  c.order = tile_order_of(read.word("order"));
  c.d = read.size("d") / 2;
  c.dv = read.size("dv");
  c.bf16 = true;  // of O
  c.mask = mask_kind_of(placed.problem->mask);
  c.packed = call.packed();
  c.cycles = call.cycles != 0;
  c.q_offset = read.offset("Q");
  c.k_offset = read.offset("K");
  c.v_offset = read.offset("V");
  c.barriers_offset = read.end();
  c.producer_registers = read.registers("producer");
  c.consumer_registers = read.registers("consumer");
  out.turned_offset = read.offset("V_turned");
  out.merges = read.word("accumulate") == "chunk";
  out.block_scales = read.word("scales") == "block";
  return out;
}

Initialiser written(const AttentionFp8Config& config) {
  const auto& [forward, turned_offset, merges, block_scales] = config;
  Initialiser out("napkin::AttentionFp8Config");
  out.set("forward", written(forward));
  out.set("turned_offset", turned_offset).set("merges", merges).set("block_scales", block_scales);
  return out;
}

/// A stride of e4m3 in pairs of them.
std::int64_t pairs(const std::string& name, std::int64_t stride, std::int64_t length) {
  require(length == 1 || stride % 16 == 0, name, "has a stride of " + std::to_string(stride) + " elements",
          "a multiple of 16 elements");
  return stride / 2;
}

/// Q, K and V as pairs of e4m3, which are 16 bits like a number of the other kernels.
std::vector<TensorBox> fp8_boxes_of(const AttentionCall& call, const AttentionConfig& c, const PlacementReader& read) {
  const int g = read.size("g");
  const std::int64_t h = read.size("h"), b = call.packed() ? 1 : read.size("b");
  const std::int64_t q = call.packed() ? call.q_rows : read.size("q"), x = call.packed() ? call.x_rows : read.size("x");
  const auto rows = static_cast<std::uint32_t>(64 / c.g), heads = static_cast<std::uint32_t>(c.g);
  const auto keys = [&](std::size_t offset, const std::string& name, const TensorView& view, int columns) {
    return box_of(offset, name, DType::f16, {columns, x, h, b},
                  {pairs(name, view.row, x), pairs(name, view.head, h), pairs(name, view.batch, b)},
                  {span_of(columns), static_cast<std::uint32_t>(c.x), 1, 1});
  };
  const TensorView &in = call.q, &o = call.o;
  return {box_of(offsetof(AttentionArguments, q_map), "Q", DType::f16, {c.d, g, q, h, b},
                 {pairs("Q", in.head, g), pairs("Q", in.row, q), pairs("Q", in.head * g, h), pairs("Q", in.batch, b)},
                 {span_of(c.d), heads, rows, 1, 1}),
          keys(offsetof(AttentionArguments, k_map), "K", call.k, c.d),
          keys(offsetof(AttentionArguments, v_map), "V", call.v, c.dv / 2),
          box_of(offsetof(AttentionArguments, o_map), "O", DType::bf16, {c.dv, g, q, h, b},
                 {o.head, o.row, o.head * g, o.batch}, {span_of(c.dv), heads, rows, 1, 1})};
}

Fp8ScaleView scales_of(const std::string& name, const ScaleView& view, const AttentionFp8Config& config) {
  require(view.block == 0 || config.block_scales, name, "has scales of blocks", "--tile scales=block");
  return {nullptr, to_int(Count(view.batch), name), to_int(Count(view.head), name), to_int(Count(view.block), name)};
}

void check_fp8(const AttentionCall& call, const AttentionFp8Config& config, const PlacementReader& read) {
  const AttentionConfig& c = config.forward;
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, fp8_kernel, "a tile's rows do not fill its warpgroups",
          "q * g = 64 * warpgroups");
  require(read.offset("O_out") == c.q_offset, fp8_kernel, "stages O on Q, and the plan does not", "alias: Q");
  require(c.stages > 1, fp8_kernel, "asks for a chunk before it turns the last one over", "two stages and more");
  // Two a copy of Q and warpgroup, six a stage, and the tile mailbox.
  require(read.resources().barriers >= Count(2 * c.q_stages * c.warpgroups + 6 * c.stages + 3), fp8_kernel,
          "needs more barriers than the plan has", "barriers: 17");
  require(c.order != TileOrder::longest_first || call.ticket != 0, fp8_kernel, "order longest_first needs a ticket",
          "two zeroed i32");
  require(!config.block_scales || (config.merges && 128 % c.x == 0), fp8_kernel, "has no one scale for a chunk",
          "accumulate=chunk, and an x that divides 128");
  require(call.dump == 0, fp8_kernel, "dumps nothing", "attention_sm90 with --dtype bf16");
  require(!call.packed() || !config.block_scales, fp8_kernel, "takes no scales of blocks with packed sequences",
          "scales of heads");
  check_call(call, fp8_kernel);
}

}  // namespace

LaunchPlan attention_fp8_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  const PlacementReader read(placed);
  read.check(fp8_kernel, {DType::e4m3});
  const AttentionFp8Config config = fp8_config_of(placed, call, read);
  const AttentionConfig& c = config.forward;
  const AttentionShape shape = attention_shape(placed, c.q, c.g, device, read);
  check_fp8(call, config, read);
  AttentionFp8Arguments a{};
  a.forward.shape = shape;
  a.forward.o_row = call.o.row;
  a.forward.o_head = call.o.head;
  a.forward.o_batch = call.o.batch;
  const double scale = softmax_scale(call, read);
  a.forward.scale = static_cast<float>(scale);
  a.forward.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
  a.q_scale = scales_of("q_scale", call.q_scale, config);
  a.k_scale = scales_of("k_scale", call.k_scale, config);
  a.v_scale = scales_of("v_scale", call.v_scale, config);

  LaunchPlan out;
  out.source = attention_fp8_sm90_source;
  out.expression = name_expression(fp8_kernel, written(config));
  out.architecture = "sm_90a";
  out.grid = static_cast<unsigned>(std::min(shape.tiles, std::max(device.sms, 1)));
  out.threads = static_cast<unsigned>(c.warpgroups + 1) * 128;
  out.shared = static_cast<unsigned>(read.shared_total());
  out.arguments = bytes_of_arguments(a);
  out.boxes = fp8_boxes_of(call, c, read);
  bind_fp8_sm90(out, call);
  return out;
}

void bind_fp8_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionFp8Arguments>(plan, [&](AttentionFp8Arguments& a) {
    bind_common(a.forward, call);
    a.forward.ticket = reinterpret_cast<int*>(call.ticket);
    a.q_scale.first = reinterpret_cast<const float*>(call.q_scale.address);
    a.k_scale.first = reinterpret_cast<const float*>(call.k_scale.address);
    a.v_scale.first = reinterpret_cast<const float*>(call.v_scale.address);
  });
  const std::pair<const char*, std::uint64_t> arrays[] = {
      {"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"O", call.o.address}};
  require(plan.boxes.size() == std::size(arrays), plan.source, "has other boxes", "a plan of this program");
  for (std::size_t i = 0; i < std::size(arrays); ++i)
    plan.boxes[i].address = aligned(arrays[i].first, arrays[i].second);
}

}  // namespace napkin
