#include <algorithm>

#include "kernels/attention/sm80/arguments_sm80.cuh"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {
namespace {

/// Writes the configuration. Field names are checked by the kernel's compiler, their number by the bindings here.
Initialiser written(const AttentionSm80Config& config) {
  const auto& [q, x, warps, stages, q_registers, swizzle, rescale_rarely, d, dv, bf16, mask, packed, padded, cycles,
               dump, q_offset, k_offset, v_offset, o_offset, blocks] = config;
  Initialiser out("napkin::AttentionSm80Config");
  out.set("q", q)
      .set("x", x)
      .set("warps", warps)
      .set("stages", stages)
      .set("q_registers", q_registers)
      .set("swizzle", swizzle);
  out.set("rescale_rarely", rescale_rarely).set("d", d).set("dv", dv).set("bf16", bf16);
  out.set("mask", enumerator(mask)).set("packed", packed).set("padded", padded).set("cycles", cycles).set("dump", dump);
  out.set("q_offset", q_offset)
      .set("k_offset", k_offset)
      .set("v_offset", v_offset)
      .set("o_offset", o_offset)
      .set("blocks", blocks);
  return out;
}

AttentionSm80Config sm80_config_of(const PlacedDiagram& placed, const AttentionCall& call,
                                   const PlacementReader& read) {
  AttentionSm80Config c{};
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warps = read.knob("warps");
  c.stages = read.knob("stages");
  c.q_registers = read.word("q_in") == "registers";
  c.swizzle = read.word("swizzle") == "on";
  c.rescale_rarely = read.word("rescale") == "rarely";
  set_question(c, placed, call, read);
  c.dump = call.dump != 0;
  c.q_offset = read.offset(c.q_registers ? "Q_stage" : "Q");
  c.k_offset = read.offset("K");
  c.v_offset = read.offset("V");
  c.o_offset = read.offset(c.q_registers ? "O_over_V" : "O_over_Q");
  c.blocks = std::max(1, to_int(read.resources().blocks_per_sm, "blocks"));
  return c;
}

/// Returns checked strides; rows are copied 16 bytes at a time. A stride along an axis of one element is never used.
Strides strides_of(const std::string& name, const TensorView& view, std::int64_t rows, std::int64_t heads,
                   std::int64_t batches, bool packed) {
  const auto checked = [&](std::int64_t stride, std::int64_t size) {
    if (size != 1 && stride % 8 != 0)
      throw Error(name, "has a stride of " + std::to_string(stride) + " elements", "a multiple of 8 elements");
    return static_cast<long long>(size == 1 ? 0 : stride);
  };
  return {checked(view.row, rows), checked(view.head, heads), packed ? 0 : checked(view.batch, batches)};
}

/// Sets the order to head tile after head tile, each from its first row: sections of one head tile.
AttentionShape in_grid_order(AttentionShape shape) {
  shape.section = shape.last_section = divisor(1);
  shape.section_tiles = shape.q_tiles;
  shape.rows_ascend = 1;
  return shape;
}

AttentionSm80Arguments sm80_arguments_of(const AttentionCall& call, const AttentionShape& shape) {
  const std::int64_t key_heads = shape.h.value, query_heads = key_heads * shape.g;
  const std::int64_t queries = call.packed() ? call.q_rows : shape.q, keys = call.packed() ? call.x_rows : shape.x;
  AttentionSm80Arguments a{};
  a.q_strides = strides_of("Q", call.q, queries, query_heads, shape.b, call.packed());
  a.k_strides = strides_of("K", call.k, keys, key_heads, shape.b, call.packed());
  a.v_strides = strides_of("V", call.v, keys, key_heads, shape.b, call.packed());
  a.o_strides = strides_of("O", call.o, queries, query_heads, shape.b, call.packed());
  a.shape = shape;
  set_scale(a, call.scale, shape.d);
  return a;
}

constexpr std::string_view sm80_kernel = "attention_sm80";

void check(const AttentionSm80Config& c) {
  const std::string_view where = sm80_kernel;
  require(c.q % (16 * c.warps) == 0, where, "a tile's rows do not fill its warps", "q a multiple of 16 * warps");
  require(c.x % 16 == 0, where, "x is " + std::to_string(c.x), "a multiple of 16");
  require(c.d % 32 == 0 && c.dv % 32 == 0, where, "d or dv is none that the kernel takes", "a multiple of 32");
}

}  // namespace

FormHalves attention_sm80_form(const PlacedDiagram& placed, const AttentionCall& call) {
  const PlacementReader read(placed);
  read.check(sm80_kernel);
  const AttentionSm80Config config = sm80_config_of(placed, call, read);
  check(config);
  LaunchPlan out;
  out.source = attention_sm80_source;
  out.expression = name_expression(sm80_kernel, written(config));
  out.architecture = placed.machine->architecture;
  out.threads = static_cast<unsigned>(config.warps) * 32;
  out.shared = static_cast<unsigned>(read.shared_total());
  return {std::move(out),
          [q = config.q, grid = read.word("order") == "grid"](LaunchPlan& plan, const PlacedDiagram& at,
                                                              const AttentionCall& one, const LaunchDevice& device) {
            check_call(one, sm80_kernel);
            const AttentionShape sections = attention_shape(lengths_of(at), q, 1, device);
            const AttentionShape shape = grid ? in_grid_order(sections) : sections;
            plan.grid = static_cast<unsigned>(shape.tiles);
            plan.arguments = bytes_of_arguments(sm80_arguments_of(one, shape));
          }};
}

void bind_sm80(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionSm80Arguments>(plan, [&](AttentionSm80Arguments& a) {
    bind_common(a, call);
    a.q = reinterpret_cast<const void*>(aligned("Q", call.q.address));
    a.k = reinterpret_cast<const void*>(aligned("K", call.k.address));
    a.v = reinterpret_cast<const void*>(aligned("V", call.v.address));
  });
}

}  // namespace napkin::internal
