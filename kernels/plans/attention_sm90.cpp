#include <algorithm>

#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin {

/// Writes the configuration. The names bound here are checked by number, the written names by the kernel's compiler.
Initialiser written(const AttentionConfig& config) {
  const auto& [q, x, warpgroups, stages, q_stages, overlap, pingpong, p_shared, rescale_rarely, g, cluster, order, d,
               dv, bf16, mask, packed, padded, cycles, dump, q_offset, k_offset, v_offset, p_offset, barriers_offset,
               producer_registers, consumer_registers] = config;
  Initialiser out("napkin::AttentionConfig");
  out.set("q", q).set("x", x).set("warpgroups", warpgroups).set("stages", stages).set("q_stages", q_stages);
  out.set("overlap", overlap)
      .set("pingpong", pingpong)
      .set("p_shared", p_shared)
      .set("rescale_rarely", rescale_rarely)
      .set("g", g)
      .set("cluster", cluster);
  out.set("order", enumerator(order))
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
  c.rescale_rarely = read.word("rescale") == "rarely" && call.dump == 0;  // what is dumped has the running maximum
  c.g = read.knob("g");
  c.cluster = read.knob("cluster");
  c.order = tile_order_of(read.word("order"));
  c.dump = call.dump != 0;
  set_question(c, placed, call, read);
  set_copies(c, read);
  c.p_offset = c.p_shared ? read.offset("P_shared") : 0;
  return c;
}

std::vector<TensorBox> boxes_of(const PlacedDiagram& placed, const AttentionCall& call, const AttentionConfig& c,
                                const PlacementReader& read) {
  const AttentionBoxes boxes(placed, call, read);
  const HeadColumns d{read.size("d"), c.d}, dv{read.size("dv"), c.dv};
  return {boxes.queries(offsetof(AttentionArguments, q_map), "Q", call.q, d, c.g, 64 / c.g),
          boxes.keys(offsetof(AttentionArguments, k_map), "K", call.k, d, c.x / c.cluster),
          boxes.keys(offsetof(AttentionArguments, v_map), "V", call.v, dv, c.x / c.cluster),
          boxes.queries(offsetof(AttentionArguments, o_map), "O", call.o, dv, c.g, 64 / c.g)};
}

void check(const AttentionCall& call, const AttentionConfig& c, const AttentionShape& shape,
           const PlacementReader& read) {
  const std::string where = "attention_sm90";
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, where, "a tile's rows do not fill its warpgroups",
          "q * g = 64 * warpgroups");
  require(read.offset("O_out") == c.q_offset, where, "stages O on Q, and the plan does not", "alias: Q");
  // Two a copy of Q and warpgroup, four a stage of K and V, and the tile mailbox.
  require(read.resources().barriers >= Count(2 * c.q_stages * c.warpgroups + 4 * c.stages + 3), where,
          "needs more barriers than the plan has", "barriers: 11");
  require(c.order != TileOrder::longest_first || call.ticket != 0, where, "order longest_first needs a ticket",
          "two zeroed i32");
  check_call(call, where);
  require(c.cluster == 1 || (shape.q_tiles.value % c.cluster == 0 && c.order != TileOrder::longest_first && !c.packed &&
                             c.mask == MaskKind::none),
          where, "a cluster shares one head's keys",
          "tiles of q a multiple of the cluster, another order, sequences of one length, no mask");
}

}  // namespace

LaunchPlan attention_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  const PlacementReader read(placed);
  read.check("attention_sm90");
  const AttentionConfig config = sm90_config_of(placed, call, read);
  const AttentionShape shape = attention_shape(placed, config.q, config.g, device, read);
  check(call, config, shape, read);

  LaunchPlan out;
  out.source = attention_sm90_source;
  out.expression = name_expression("attention_sm90", written(config));
  out.architecture = "sm_90a";
  const int resident = std::max(device.sms / config.cluster, 1) * config.cluster;
  out.grid = static_cast<unsigned>(config.order == TileOrder::grid ? shape.tiles : std::min(shape.tiles, resident));
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.cluster = static_cast<unsigned>(config.cluster);
  out.shared = static_cast<unsigned>(read.shared_total());
  out.arguments = bytes_of_arguments(attention_arguments(call, shape, read));
  out.boxes = boxes_of(placed, call, config, read);
  bind_sm90(out, call);
  return out;
}

void bind_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionArguments>(plan, [&](AttentionArguments& a) {
    bind_common(a, call);
    a.ticket = reinterpret_cast<int*>(call.ticket);
  });
  bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"O", call.o.address}});
}

}  // namespace napkin
