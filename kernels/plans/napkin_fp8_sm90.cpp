#include "kernels/attention/napkin/arguments_napkin.cuh"
#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view napkin_kernel = "napkin_fp8_sm90";
constexpr int napkin_warpgroup_rows = 128;

NapkinConfig napkin_config_of(const PlacedDiagram& placed, const AttentionCall& call, const PlacementReader& read) {
  NapkinConfig out{};
  AttentionConfig& c = out.forward;
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warpgroups = read.knob("warpgroups");
  c.stages = 2;
  c.q_stages = 1;
  c.g = 1;
  c.cluster = 1;
  c.order = TileOrder::grid;
  set_question(c, placed, call, read);
  c.d /= 2;  // pairs
  set_copies(c, read);
  c.p_offset = read.offset("P");
  out.u_x = read.knob("u_x");
  out.d_block = read.knob("d_block");
  out.d_step = read.knob("d_step");
  out.single = read.word("accumulate") == "f32";
  out.partial_offset = read.offset(out.single ? "dO_f32" : "dO");
  return out;
}

Initialiser written(const NapkinConfig& config) {
  const auto& [forward, u_x, d_block, d_step, single, partial_offset] = config;
  Initialiser out("napkin::NapkinConfig");
  out.set("forward", written_forward(forward));
  out.set("u_x", u_x).set("d_block", d_block).set("d_step", d_step);
  out.set("single", single).set("partial_offset", partial_offset);
  return out;
}

std::vector<TensorBox> napkin_boxes_of(const AttentionLengths& lengths, const AttentionCall& call,
                                       const NapkinConfig& config) {
  const AttentionConfig& c = config.forward;
  AttentionBoxes in(lengths, call);
  in.type = DType::f16;
  const TensorView q = pairs_of_bytes("Q", call.q, in.g * in.h, in.q, in.b),
                   k = pairs_of_bytes("K", call.k, in.h, in.x, in.b);
  return {in.queries(offsetof(AttentionArguments, q_map), "Q", q, {c.d, c.d}, 1, napkin_warpgroup_rows),
          in.keys(offsetof(AttentionArguments, k_map), "K", k, {c.d, c.d}, c.x),
          in.keys(offsetof(AttentionArguments, v_map), "V", call.v, {c.dv, config.d_block}, c.x)};
}

void check_napkin(const NapkinConfig& config, const PlacementReader& read) {
  const AttentionConfig& c = config.forward;
  require(c.q == napkin_warpgroup_rows * c.warpgroups, napkin_kernel, "a tile's rows do not fill its warpgroups",
          "q = 128 * warpgroups");
  require(!c.padded, napkin_kernel, "takes no padded heads", "d and dv of 64 or 128");
  require(read.resources().barriers >= Count(c.warpgroups + 4 * c.stages), napkin_kernel,
          "needs more barriers than the plan has", "barriers: 0");
}

void check_napkin(const AttentionCall& call) {
  require(call.q_scale.address == 0 && call.k_scale.address == 0 && call.v_scale.address == 0, napkin_kernel,
          "takes no scales of e4m3 numbers", "the softmax's scale, into which those of Q and K go");
  require(call.halves, napkin_kernel, "multiplies V of f16", "attention_fp8_sm90, for V of e4m3");
  require(call.dump == 0, napkin_kernel, "dumps nothing", "attention_sm90 with --dtype bf16");
  check_call(call, napkin_kernel);
}

}  // namespace

FormHalves napkin_fp8_sm90_form(const PlacedDiagram& placed, const AttentionCall& call) {
  const PlacementReader read(placed);
  read.check(napkin_kernel, {DType::e4m3});
  const NapkinConfig config = napkin_config_of(placed, call, read);
  check_napkin(config, read);
  LaunchPlan out;
  out.source = napkin_fp8_sm90_source;
  out.expression = name_expression(napkin_kernel, written(config));
  out.architecture = "sm_90a";
  out.threads = static_cast<unsigned>(config.forward.warpgroups + 1) * 128;
  out.shared = static_cast<unsigned>(read.shared_total());
  return {std::move(out),
          [config](LaunchPlan& plan, const PlacedDiagram& at, const AttentionCall& one, const LaunchDevice& device) {
            const AttentionLengths lengths = lengths_of(at);
            const AttentionShape shape = attention_shape(lengths, config.forward.q, config.forward.g, device);
            check_napkin(one);
            plan.grid = static_cast<unsigned>(shape.tiles);
            plan.arguments = bytes_of_arguments(attention_arguments(one, shape));
            plan.boxes = napkin_boxes_of(lengths, one, config);
          }};
}

void bind_napkin_fp8_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionArguments>(plan, [&](AttentionArguments& a) { bind_common(a, call); });
  bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}});
}

}  // namespace napkin::internal
