#include <algorithm>
#include <cstring>

#include "kernels/attention/fp8/arguments_fp8.cuh"
#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {
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
  set_question(c, placed, call, read);
  c.d /= 2;       // pairs
  c.bf16 = true;  // type of O
  set_copies(c, read);
  out.turned_offset = read.offset("V_turned");
  out.merges = read.word("accumulate") != "running";
  // A log-sum-exp is of P before it is rounded.
  out.product_sums = read.word("accumulate") == "with_sums" && call.log_sum_exp == 0;
  out.block_scales = read.word("scales") == "block";
  return out;
}

Initialiser written(const AttentionFp8Config& config) {
  const auto& [forward, turned_offset, merges, product_sums, block_scales] = config;
  Initialiser out("napkin::AttentionFp8Config");
  out.set("forward", written_forward(forward));
  out.set("turned_offset", turned_offset).set("merges", merges).set("product_sums", product_sums);
  out.set("block_scales", block_scales);
  return out;
}

std::vector<TensorBox> fp8_boxes_of(const AttentionLengths& lengths, const AttentionCall& call,
                                    const AttentionConfig& c) {
  AttentionBoxes in(lengths, call), out = in;
  in.type = DType::f16;
  out.type = DType::bf16;
  const TensorView q = pairs_of_bytes("Q", call.q, in.g * in.h, in.q, in.b),
                   k = pairs_of_bytes("K", call.k, in.h, in.x, in.b), v = pairs_of_bytes("V", call.v, in.h, in.x, in.b);
  return {in.queries(offsetof(AttentionArguments, q_map), "Q", q, {c.d, c.d}, c.g, 64 / c.g),
          in.keys(offsetof(AttentionArguments, k_map), "K", k, {c.d, c.d}, c.x),
          in.keys(offsetof(AttentionArguments, v_map), "V", v, {c.dv / 2, c.dv / 2}, c.x),
          out.queries(offsetof(AttentionArguments, o_map), "O", call.o, {c.dv, c.dv}, c.g, 64 / c.g)};
}

/// Writes the strides of a call's scales field by field, without the padding after them: plans are compared by all
/// bytes.
void put_scales(Fp8ScaleView& out, const std::string& name, const ScaleView& view, const AttentionFp8Config& config) {
  require(view.block == 0 || config.block_scales, name, "has scales of blocks", "--tile scales=block");
  out.first = nullptr;
  out.batch = to_int(Count(view.batch), name);
  out.head = to_int(Count(view.head), name);
  out.block = to_int(Count(view.block), name);
}

void check_fp8(const AttentionFp8Config& config, const PlacementReader& read) {
  const AttentionConfig& c = config.forward;
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, fp8_kernel, "a tile's rows do not fill its warpgroups",
          "q * g = 64 * warpgroups");
  require(read.offset("O_out") == c.q_offset, fp8_kernel, "stages O on Q, and the plan does not", "alias: Q");
  require(c.stages > 1, fp8_kernel, "asks for a chunk before it turns the last one over", "two stages and more");
  // Two barriers for each buffer of Q and warpgroup, six for each stage, and those for passing on the next tile.
  require(read.resources().barriers >= Count(2 * c.q_stages * c.warpgroups + 6 * c.stages + 3), fp8_kernel,
          "needs more barriers than the plan has", "barriers: 17");
  require(!config.block_scales || (config.merges && 128 % c.x == 0), fp8_kernel, "has no one scale for a chunk",
          "accumulate=with_sums or chunk, and an x that divides 128");
}

void check_fp8(const AttentionCall& call, const AttentionFp8Config& config) {
  require(config.forward.order != TileOrder::longest_first || call.ticket != 0, fp8_kernel,
          "order longest_first needs a ticket", "two zeroed i32");
  require(!call.halves, fp8_kernel, "multiplies V of e4m3", "napkin_fp8_sm90, for V of f16");
  require(call.dump == 0, fp8_kernel, "dumps nothing", "attention_sm90 with --dtype bf16");
  require(!call.packed() || !config.block_scales, fp8_kernel, "takes no scales of blocks with packed sequences",
          "scales of heads");
  check_call(call, fp8_kernel);
}

void fill_fp8(LaunchPlan& out, const AttentionFp8Config& config, const AttentionLengths& lengths,
              const AttentionCall& call, const LaunchDevice& device) {
  const AttentionConfig& c = config.forward;
  const AttentionShape shape = attention_shape(lengths, c.q, c.g, device);
  check_fp8(call, config);
  AttentionFp8Arguments a;
  std::memset(static_cast<void*>(&a), 0, sizeof a);
  a.forward = attention_arguments(call, shape);
  put_scales(a.q_scale, "q_scale", call.q_scale, config);
  put_scales(a.k_scale, "k_scale", call.k_scale, config);
  put_scales(a.v_scale, "v_scale", call.v_scale, config);
  out.grid = static_cast<unsigned>(std::min(shape.tiles, std::max(device.sms, 1)));
  out.arguments = bytes_of_arguments(a);
  out.boxes = fp8_boxes_of(lengths, call, c);
}

}  // namespace

FormHalves attention_fp8_sm90_form(const PlacedDiagram& placed, const AttentionCall& call) {
  const PlacementReader read(placed);
  read.check(fp8_kernel, {DType::e4m3});
  const AttentionFp8Config config = fp8_config_of(placed, call, read);
  check_fp8(config, read);
  LaunchPlan out;
  out.source = attention_fp8_sm90_source;
  out.expression = name_expression(fp8_kernel, written(config));
  out.architecture = "sm_90a";
  out.threads = static_cast<unsigned>(config.forward.warpgroups + 1) * 128;
  out.shared = static_cast<unsigned>(read.shared_total());
  return {std::move(out),
          [config](LaunchPlan& plan, const PlacedDiagram& at, const AttentionCall& one, const LaunchDevice& device) {
            fill_fp8(plan, config, lengths_of(at), one, device);
          }};
}

void bind_fp8_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionFp8Arguments>(plan, [&](AttentionFp8Arguments& a) {
    bind_common(a.forward, call);
    a.forward.ticket = reinterpret_cast<int*>(call.ticket);
    a.q_scale.first = reinterpret_cast<const float*>(call.q_scale.address);
    a.k_scale.first = reinterpret_cast<const float*>(call.k_scale.address);
    a.v_scale.first = reinterpret_cast<const float*>(call.v_scale.address);
  });
  bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"O", call.o.address}});
}

}  // namespace napkin::internal
