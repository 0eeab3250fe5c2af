#include <algorithm>
#include <bit>

#include "kernels/jit/source.hpp"
#include "kernels/matmul/arguments.cuh"
#include "kernels/plans/matmul.hpp"
#include "kernels/plans/placement_reader.hpp"
#include "model/resource/order.hpp"
#include "model/resource/parts.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view fp8_product = "matmul_fp8_sm90";

/// Returns the elements of A and B in one 16-bit element of the kernel and the copy engine.
int packed(const MatmulConfig& c) { return c.fp8 ? 2 : 1; }

Initialiser::Enumerator enumerator_of(MatmulOrder order) {
  switch (order) {
    case MatmulOrder::grid: return {"MatmulOrder::grid"};
    case MatmulOrder::grouped: return {"MatmulOrder::grouped"};
    case MatmulOrder::hilbert: return {"MatmulOrder::hilbert"};
  }
  return {};
}

MatmulOrder order_of(std::string_view word) {
  if (word == "grid") return MatmulOrder::grid;
  return word == "grouped" ? MatmulOrder::grouped : MatmulOrder::hilbert;
}

/// Writes the configuration. Field names are checked by the kernel's compiler, their number by the bindings here.
Initialiser written(const MatmulConfig& config) {
  const auto& [a, c, b, warpgroups, stages, cluster, order, bf16, ragged, cycles, a_offset, b_offset, c_offset,
               barriers_offset, producer_registers, consumer_registers, split, fp8, merges] = config;
  Initialiser out("napkin::MatmulConfig");
  out.set("a", a).set("c", c).set("b", b).set("warpgroups", warpgroups).set("stages", stages).set("cluster", cluster);
  out.set("order", enumerator_of(order)).set("bf16", bf16).set("ragged", ragged).set("cycles", cycles);
  out.set("a_offset", a_offset)
      .set("b_offset", b_offset)
      .set("c_offset", c_offset)
      .set("barriers_offset", barriers_offset);
  out.set("producer_registers", producer_registers).set("consumer_registers", consumer_registers);
  // Without parts the field is left out, so that the variant keeps the name under which its machine code was recorded.
  if (split) out.set("split", split);
  if (fp8) out.set("fp8", fp8).set("merges", merges);
  return out;
}

MatmulConfig config_of(const PlacedDiagram& placed, const MatmulCall& call, const PlacementReader& read) {
  MatmulConfig c{};
  c.a = read.knob("a");
  c.c = read.knob("c");
  c.fp8 = placed.mapping->name == fp8_product;
  c.merges = c.fp8 && read.word("accumulate") == "chunk";
  c.b = read.knob("b") / packed(c);
  c.warpgroups = read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.cluster = read.knob("cluster");
  c.order = order_of(read.word("order"));
  c.bf16 = placed.problem->dtype != DType::f16;
  c.cycles = call.cycles != 0;
  c.a_offset = read.offset("A");
  c.b_offset = read.offset("B");
  c.split = read.knob("split") > 1;
  c.ragged = !c.split && read.size("c") % 8 != 0;
  if (!c.split) c.c_offset = read.offset("C_out");
  c.barriers_offset = read.end();
  c.producer_registers = read.registers("producer");
  c.consumer_registers = read.registers("consumer");
  return c;
}

/// Returns the clusters that the device holds at once.
int resident_clusters(const MatmulConfig& c, const LaunchDevice& device) { return std::max(device.sms / c.cluster, 1); }

MatmulShape shape_of(const MatmulConfig& c, const LaunchDevice& device, const PlacementReader& read) {
  const Count height = Count(c.a) * c.cluster, rows = ceil_div(read.size("a"), height),
              columns = ceil_div(read.size("c"), c.c);
  MatmulShape s{};
  s.tiles = to_int(rows * columns, "tiles");
  s.chunks = to_int(ceil_div(read.size("b"), Count(c.b) * packed(c)), "chunks");
  s.rows = divisor(rows.get());
  s.columns = to_int(columns, "columns of tiles");
  s.side = to_int(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(rows, columns).get()))),
                  "tiles of a side");
  const Count group = grouped_rows(rows, resident_clusters(c, device), height, c.c);
  s.group = divisor(group.get());
  s.group_tiles = divisor((group * columns).get());
  s.last_group = divisor(rows % group == Count(0) ? group.get() : (rows % group).get());
  return s;
}

std::vector<TensorBox> boxes_of(const MatmulCall& call, const MatmulConfig& c, const PlacementReader& read) {
  constexpr int warp_rows = 16;  // a warp stores its rows by itself
  const std::int64_t a = read.size("a"), b = read.size("b") / packed(c), columns = read.size("c");
  const auto box = [&](std::size_t offset, const std::string& name, const MatrixView& view, std::int64_t inner,
                       std::int64_t outer, int width, int height) {
    return box_of(offset, name, c.bf16 ? DType::bf16 : DType::f16, {inner, outer}, {view.row},
                  {span_of(width), static_cast<std::uint32_t>(height)});
  };
  const auto pairs = [&](const std::string& name, const MatrixView& view, std::int64_t rows) {
    require(rows == 1 || view.row % 16 == 0, name, "has a stride of " + std::to_string(view.row) + " elements",
            "a multiple of 16 elements");
    return MatrixView{view.address, view.row / packed(c)};
  };
  const TensorBox out = box(offsetof(MatmulArguments, c_map), "C", call.c, columns, a, c.c, warp_rows);
  if (!c.fp8)
    return {box(offsetof(MatmulArguments, a_map), "A", call.a, b, a, c.b, c.a),
            box(offsetof(MatmulArguments, b_map), "B", call.b, columns, b, c.c, c.b / c.cluster), out};
  return {box(offsetof(MatmulArguments, a_map), "A", pairs("A", call.a, a), b, a, c.b, c.a),
          box(offsetof(MatmulArguments, b_map), "B", pairs("B", call.b, columns), b, columns, c.b, c.c / c.cluster),
          out};
}

void check(const MatmulConfig& c, const PlacementReader& read) {
  const std::string where = c.fp8 ? std::string(fp8_product) : "matmul_sm90";
  const int whole = 8 * packed(c);  // elements in 16 bytes
  require(c.a % (64 * c.warpgroups) == 0, where, "a tile's rows do not fill its warpgroups",
          "a multiple of 64 * warpgroups");
  require(c.a <= 256 && c.c <= 256 && c.c % (2 * whole) == 0, where, "a tile is larger than a box or an instruction",
          "a and c at most 256, c in steps of " + std::to_string(2 * whole));
  require(c.b % 16 == 0 && (c.fp8 || c.b % (16 * c.cluster) == 0), where, "a chunk is not whole instructions",
          "b a multiple of 16 in each block of a cluster, of e4m3 of 32");
  require(c.stages >= 2, where, "gives a stage back when the next one's products have been issued",
          "stages of 2 or more");
  // Three for each stage: full, empty, and the stage's tile. The plan counts four, since it does not know that A and B
  // share theirs.
  require(read.resources().barriers >= Count(3 * c.stages), where, "counts more barriers than the plan",
          "two a copy of A and of B");
  require(!c.split || c.order == MatmulOrder::grid, where, "launches a block for each part of a tile", "order=grid");
  require(read.size("b") % whole == 0, where,
          "b is " + std::to_string(read.size("b")) +
              ": rows of A are copied 16 bytes at a time, and what lies "
              "beyond b would be multiplied too",
          "a multiple of " + std::to_string(whole) + ", the rest zeros");
}

}  // namespace

LaunchPlan matmul_plan(const PlacedDiagram& placed, const MatmulCall& call, const LaunchDevice& device) {
  const PlacementReader read(placed);
  const bool fp8 = placed.mapping->name == fp8_product;
  fp8 ? read.check(fp8_product, {DType::e4m3}) : read.check("matmul_sm90");
  const MatmulConfig config = config_of(placed, call, read);
  check(config, read);
  const LaunchScratch scratch = matmul_scratch(placed);
  const PartsMemory parts = parts_memory(placed);
  MatmulArguments arguments{};
  arguments.shape = shape_of(config, device, read);
  if (config.split) {
    const auto b = static_cast<std::size_t>(placed.streamed->diagram.axis("b"));
    const Count clusters = ceil_div(parts.tiles, config.cluster);  // clusters of one part
    arguments.parts.tiles = divisor(clusters.get());
    arguments.parts.count = to_int(parts.parts, "parts");
    arguments.parts.chunks =
        to_int(ceil_div(placed.block().extent[b], Count(config.b) * packed(config)), "chunks of a part");
    arguments.shape.tiles = to_int(clusters * parts.parts, "parts of all tiles");
  }
  arguments.c_row = call.c.row;
  arguments.c_rows = read.size("a");
  arguments.c_columns = read.size("c");

  LaunchPlan out;
  out.source = fp8 ? "kernels/matmul/matmul_fp8_sm90.cuh" : "kernels/matmul/matmul_sm90.cuh";
  out.expression = name_expression(fp8 ? fp8_product : "matmul_sm90", written(config));
  out.architecture = "sm_90a";
  const int tiles = arguments.shape.tiles;
  const int clusters = config.order == MatmulOrder::grid ? tiles : std::min(tiles, resident_clusters(config, device));
  out.grid = static_cast<unsigned>(to_int(Count(clusters) * config.cluster, "blocks"));
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.cluster = static_cast<unsigned>(config.cluster);
  out.shared = static_cast<unsigned>(read.shared_total());
  out.arguments = bytes_of_arguments(arguments);
  out.boxes = boxes_of(call, config, read);
  out.counters = scratch.counters;
  out.scratch = scratch.bytes;
  bind(out, call);
  return out;
}

LaunchScratch matmul_scratch(const PlacedDiagram& placed) {
  const PartsMemory memory = parts_memory(placed);
  if (memory.outputs.empty()) return {};
  constexpr int warps = 4;  // warps of a warpgroup, each of which adds up rows of its own
  return {memory.tiles * PlacementReader(placed).knob("warpgroups") * warps,
          Bytes(memory.tiles * memory.parts * memory.outputs.front().tile * sizeof(float))};
}

void bind(LaunchPlan& plan, const MatmulCall& call) {
  change_arguments<MatmulArguments>(plan, [&](MatmulArguments& a) {
    a.c = reinterpret_cast<void*>(call.c.address);
    a.cycles = reinterpret_cast<unsigned long long*>(call.cycles);
    require(a.parts.count <= 1 || (call.sums != 0 && call.arrived != 0), plan.source,
            "leaves parts of the result in device memory", "sums and counters of matmul_scratch()");
    a.parts.sums = reinterpret_cast<float*>(aligned("sums", call.sums));
    a.parts.arrived = reinterpret_cast<int*>(call.arrived);
    a.a_scale = reinterpret_cast<const float*>(call.a_scale);
    a.b_scale = reinterpret_cast<const float*>(call.b_scale);
  });
  bind_boxes(plan, {{"A", call.a.address}, {"B", call.b.address}, {"C", call.c.address}});
}

}  // namespace napkin::internal
