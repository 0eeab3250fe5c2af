#include <algorithm>

#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {

/// Writes the configuration. Field names are checked by the kernel's compiler, their number by the bindings here.
Initialiser written_forward(const AttentionConfig& config) {
  const auto& [q, x, warpgroups, stages, q_stages, overlap, pingpong, p_shared, rescale_rarely, g, cluster, order,
               by_columns, d, dv, bf16, mask, packed, padded, cycles, dump, q_offset, k_offset, v_offset, p_offset,
               barriers_offset, producer_registers, consumer_registers] = config;
  Initialiser out("napkin::AttentionConfig");
  out.set("q", q).set("x", x).set("warpgroups", warpgroups).set("stages", stages).set("q_stages", q_stages);
  out.set("overlap", overlap)
      .set("pingpong", pingpong)
      .set("p_shared", p_shared)
      .set("rescale_rarely", rescale_rarely)
      .set("g", g)
      .set("cluster", cluster);
  out.set("order", enumerator(order))
      .set("by_columns", by_columns)
      .set("d", d)
      .set("dv", dv)
      .set("bf16", bf16)
      .set("mask", enumerator(mask))
      .set("packed", packed)
      .set("padded", padded);
  out.set("cycles", cycles).set("dump", dump);
  out.set("q_offset", q_offset).set("k_offset", k_offset).set("v_offset", v_offset).set("p_offset", p_offset);
  out.set("barriers_offset", barriers_offset);
  out.set("producer_registers", producer_registers).set("consumer_registers", consumer_registers);
  return out;
}

namespace {

constexpr std::string_view sm90_kernel = "attention_sm90", wide_kernel = "attention_wide_sm90";

AttentionConfig sm90_config_of(const PlacedDiagram& placed, const AttentionCall& call, const PlacementReader& read) {
  AttentionConfig c{};
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warpgroups = read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.q_stages = read.knob("q_stages");
  c.overlap = read.word("overlap") == "on";
  c.pingpong = read.word("pingpong") == "on";
  c.p_shared = read.word("p_in") == "shared";
  c.rescale_rarely = read.word("rescale") == "rarely" && call.dump == 0;  // a dump shows the running maximum
  c.g = read.knob("g");
  c.cluster = read.knob("cluster");
  c.order = tile_order_of(read.word("order"));
  c.by_columns = placed.mapping->name == wide_kernel;
  c.dump = call.dump != 0;
  set_question(c, placed, call, read);
  set_copies(c, read);
  c.p_offset = c.p_shared ? read.offset("P_shared") : 0;
  return c;
}

std::vector<TensorBox> boxes_of(const AttentionLengths& lengths, const AttentionCall& call, const AttentionConfig& c) {
  const AttentionBoxes boxes(lengths, call);
  const HeadColumns d{lengths.d, c.d}, dv{lengths.dv, c.dv};
  return {boxes.queries(offsetof(AttentionArguments, q_map), "Q", call.q, d, c.g, 64 / c.g),
          boxes.keys(offsetof(AttentionArguments, k_map), "K", call.k, d, c.x / c.cluster),
          boxes.keys(offsetof(AttentionArguments, v_map), "V", call.v, dv, c.x / c.cluster),
          boxes.queries(offsetof(AttentionArguments, o_map), "O", call.o, dv, c.g, 64 / c.g)};
}

void check(const AttentionConfig& c, const PlacementReader& read) {
  const int row_parts = c.by_columns ? 1 : c.warpgroups, column_parts = c.by_columns ? c.warpgroups : 1;
  require(c.q * c.g == 64 * row_parts && 64 % c.g == 0, sm90_kernel, "a tile's rows do not fill its warpgroups",
          "64 rows q * g for each warpgroup that has its own");
  require(c.dv % column_parts == 0 && c.dv / column_parts <= 256, sm90_kernel, "a warpgroup's O has too many columns",
          "at most 256");
  require(read.offset("O_out") == c.q_offset, sm90_kernel, "stages O on Q, and the plan does not", "alias: Q");
  // Two barriers for each buffer of Q and warpgroup, four for each stage of K and V, and three for passing on the next
  // tile.
  require(read.resources().barriers >= Count(2 * c.q_stages * row_parts + 4 * c.stages + 3), sm90_kernel,
          "needs more barriers than the plan has", "barriers: 11");
}

void check(const AttentionCall& call, const AttentionConfig& c, const AttentionShape& shape) {
  require(c.order != TileOrder::longest_first || call.ticket != 0, sm90_kernel, "order longest_first needs a ticket",
          "two zeroed i32");
  check_call(call, sm90_kernel);
  require(c.cluster == 1 || (shape.q_tiles.value % c.cluster == 0 && c.order != TileOrder::longest_first && !c.packed &&
                             c.mask == MaskKind::none),
          sm90_kernel, "a cluster shares one head's keys",
          "tiles of q a multiple of the cluster, another order, sequences of one length, no mask");
}

void fill(LaunchPlan& out, const AttentionConfig& config, const AttentionLengths& lengths, const AttentionCall& call,
          const LaunchDevice& device) {
  const AttentionShape shape = attention_shape(lengths, config.q, config.g, device);
  check(call, config, shape);
  const int resident = std::max(device.sms / config.cluster, 1) * config.cluster;
  out.grid = static_cast<unsigned>(config.order == TileOrder::grid ? shape.tiles : std::min(shape.tiles, resident));
  out.arguments = bytes_of_arguments(attention_arguments(call, shape));
  out.boxes = boxes_of(lengths, call, config);
}

}  // namespace

FormHalves attention_sm90_form(const PlacedDiagram& placed, const AttentionCall& call) {
  const PlacementReader read(placed);
  read.check(placed.mapping->name == wide_kernel ? wide_kernel : sm90_kernel);
  const AttentionConfig config = sm90_config_of(placed, call, read);
  check(config, read);
  LaunchPlan out;
  out.source = attention_sm90_source;
  out.expression = name_expression(sm90_kernel, written_forward(config));
  out.architecture = "sm_90a";
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.cluster = static_cast<unsigned>(config.cluster);
  out.shared = static_cast<unsigned>(read.shared_total());
  return {std::move(out), [config](LaunchPlan& plan, const PlacedDiagram& at, const AttentionCall& one,
                                   const LaunchDevice& device) { fill(plan, config, lengths_of(at), one, device); }};
}

void bind_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionArguments>(plan, [&](AttentionArguments& a) {
    bind_common(a, call);
    a.ticket = reinterpret_cast<int*>(call.ticket);
  });
  bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"O", call.o.address}});
}

}  // namespace napkin::internal
