#include <cmath>
#include <cstring>

#include "kernels/attention/arguments.cuh"
#include "kernels/jit/source.hpp"
#include "kernels/launch/attention.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/resources.hpp"

namespace napkin {
namespace {

constexpr int element_bytes = 2;

Initialiser::Enumerator enumerator(TileOrder order) {
  switch (order) {
    case TileOrder::grid: return {"TileOrder::grid"};
    case TileOrder::persistent: return {"TileOrder::persistent"};
    case TileOrder::longest_first: return {"TileOrder::longest_first"};
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

/// The names bound here are checked by number, the names written by the kernel's compiler.
Initialiser written(const AttentionConfig& config) {
  const auto& [q, x, warpgroups, stages, q_stages, overlap, pingpong, p_shared, g, cluster, order, d, dv, bf16, mask, packed, log_sum_exp, cycles,
               q_offset, k_offset, v_offset, p_offset, barriers_offset, producer_registers, consumer_registers] = config;
  Initialiser out("napkin::AttentionConfig");
  out.set("q", q).set("x", x).set("warpgroups", warpgroups).set("stages", stages).set("q_stages", q_stages);
  out.set("overlap", overlap).set("pingpong", pingpong).set("p_shared", p_shared).set("g", g).set("cluster", cluster);
  out.set("order", enumerator(order)).set("d", d).set("dv", dv).set("bf16", bf16).set("mask", enumerator(mask)).set("packed", packed);
  out.set("log_sum_exp", log_sum_exp).set("cycles", cycles);
  out.set("q_offset", q_offset).set("k_offset", k_offset).set("v_offset", v_offset).set("p_offset", p_offset);
  out.set("barriers_offset", barriers_offset);
  out.set("producer_registers", producer_registers).set("consumer_registers", consumer_registers);
  return out;
}

/// The placement's numbers by name.
class Reader {
 public:
  explicit Reader(const PlacedDiagram& placed) : placed_(placed), plan_(plan(placed)) {}

  [[nodiscard]] int size(std::string_view axis) const {
    return to_int(placed_.problem->sizes[static_cast<std::size_t>(placed_.streamed->diagram.axis(axis))], "axis " + std::string(axis));
  }
  [[nodiscard]] int knob(std::string_view name) const { return to_int(value_of(*placed_.mapping, placed_.tile, name), std::string(name)); }
  [[nodiscard]] std::string_view word(std::string_view name) const {
    const auto& knobs = placed_.mapping->knobs;
    return knobs[static_cast<std::size_t>(*placed_.mapping->find_knob(name))].words[static_cast<std::size_t>(knob(name))];
  }
  /// Where a variable lies in shared memory; 0 where it does not.
  [[nodiscard]] int offset(std::string_view variable) const {
    const Slot* slot = find(variable);
    return slot == nullptr ? 0 : to_int(slot->offset.value, std::string(variable));
  }
  /// Behind the last variable.
  [[nodiscard]] int end() const {
    Count last;
    for (const Slot& slot : plan_.shared) last = std::max(last, (slot.offset + slot.size).value);
    return to_int(round_up(last, 8), "shared memory");
  }
  [[nodiscard]] int registers(std::string_view agent) const {
    for (const PlacedAgent& a : placed_.agents) {
      if (placed_.mapping->agents[static_cast<std::size_t>(a.mapping)].name == agent && a.registers) {
        return to_int(*a.registers, "registers");
      }
    }
    throw Error(placed_.mapping->name, "sets no registers of agent '" + std::string(agent) + "'");
  }
  [[nodiscard]] int shared_total() const { return to_int(plan_.shared_total.value, "shared memory"); }
  [[nodiscard]] bool shared_fits() const { return plan_.shared_total <= plan_.shared_limit; }

 private:
  [[nodiscard]] const Slot* find(std::string_view variable) const {
    for (const Slot& slot : plan_.shared) {
      const auto& mapped = placed_.variables[static_cast<std::size_t>(slot.variable)].mapping;
      if (placed_.mapping->variables[static_cast<std::size_t>(mapped)].name == variable) return &slot;
    }
    return nullptr;
  }

  const PlacedDiagram& placed_;
  Plan plan_;
};

TileOrder order_of(std::string_view word) {
  if (word == "grid") return TileOrder::grid;
  return word == "persistent" ? TileOrder::persistent : TileOrder::longest_first;
}

MaskKind mask_of(const Mask& mask) {
  if (mask.kind == Mask::Kind::none) return MaskKind::none;
  return mask.kind == Mask::Kind::causal ? MaskKind::causal : MaskKind::window;
}

AttentionConfig config_of(const PlacedDiagram& placed, const AttentionCall& call, const Reader& read) {
  AttentionConfig c{};
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warpgroups = read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.q_stages = read.knob("q_stages");
  c.overlap = read.word("overlap") == "on";
  c.pingpong = read.word("pingpong") == "on";
  c.p_shared = read.word("p_in") == "shared";
  c.g = read.knob("g");
  c.cluster = read.knob("cluster");
  c.order = order_of(read.word("order"));
  c.d = read.size("d");
  c.dv = read.size("dv");
  c.bf16 = placed.problem->dtype == DType::bf16;
  c.mask = mask_of(placed.problem->mask);
  c.packed = call.packed();
  c.log_sum_exp = call.log_sum_exp != 0;
  c.cycles = call.cycles != 0;
  c.q_offset = read.offset("Q");
  c.k_offset = read.offset("K");
  c.v_offset = read.offset("V");
  c.p_offset = read.offset("P_shared");
  c.barriers_offset = read.end();
  c.producer_registers = read.registers("producer");
  c.consumer_registers = std::min(read.registers("consumer"), 240);
  return c;
}

/// Elements of one swizzle span: the widest of 64, 32 and 16 that divides.
std::uint32_t span_of(int columns) { return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16; }

void require(bool holds, const std::string& where, const std::string& what, const std::string& right) {
  if (!holds) throw Error(where, what, right);
}

/// Strides in elements become bytes; along an axis of one element any stride will do, and the copy engine wants one.
TensorBox box_of(std::size_t offset, const std::string& name, const TensorView& view, DType type, std::vector<std::uint64_t> sizes,
                 const std::vector<std::int64_t>& strides, std::vector<std::uint32_t> box) {
  require(view.address % 16 == 0, name, "starts at an address that is no multiple of 16 bytes", "align it to 16 bytes");
  TensorBox out{offset, view.address, type, std::move(sizes), {}, std::move(box), 0};
  out.swizzle = static_cast<int>(out.box[0]) * element_bytes;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t bytes = strides[i] * element_bytes;
    const bool used = out.sizes[i + 1] > 1;
    require(!used || (bytes >= 0 && bytes % 16 == 0 && bytes < std::int64_t{1} << 40), name,
            "has a stride of " + std::to_string(strides[i]) + " elements", "a multiple of 8 elements, below 2^39");
    out.strides.push_back(used ? static_cast<std::uint64_t>(bytes) : 16);
  }
  return out;
}

std::uint64_t whole(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::vector<TensorBox> boxes_of(const PlacedDiagram& placed, const AttentionCall& call, const AttentionConfig& c, const Reader& read) {
  const int g = read.size("g");
  const std::int64_t h = read.size("h"), b = call.packed() ? 1 : read.size("b");
  const std::int64_t q = call.packed() ? call.q_rows : read.size("q"), x = call.packed() ? call.x_rows : read.size("x");
  const DType type = placed.problem->dtype;
  const auto queries = [&](std::size_t offset, const std::string& name, const TensorView& view, int columns) {
    return box_of(offset, name, view, type, {whole(columns), whole(g), whole(q), whole(h), whole(b)},
                  {view.head, view.row, view.head * g, view.batch},
                  {span_of(columns), static_cast<std::uint32_t>(c.g), static_cast<std::uint32_t>(64 / c.g), 1, 1});
  };
  const auto keys = [&](std::size_t offset, const std::string& name, const TensorView& view, int columns) {
    return box_of(offset, name, view, type, {whole(columns), whole(x), whole(h), whole(b)}, {view.row, view.head, view.batch},
                  {span_of(columns), static_cast<std::uint32_t>(c.x / c.cluster), 1, 1});
  };
  return {queries(offsetof(AttentionArguments, q_map), "Q", call.q, c.d), keys(offsetof(AttentionArguments, k_map), "K", call.k, c.d),
          keys(offsetof(AttentionArguments, v_map), "V", call.v, c.dv), queries(offsetof(AttentionArguments, o_map), "O", call.o, c.dv)};
}

AttentionShape shape_of(const PlacedDiagram& placed, const AttentionCall& call, const AttentionConfig& c, const LaunchDevice& device,
                        const Reader& read) {
  AttentionShape s{};
  s.b = read.size("b");
  s.g = read.size("g");
  s.q = read.size("q");
  s.x = read.size("x");
  const Count h = read.size("h"), q_tiles = ceil_div(s.q, c.q), groups = ceil_div(s.g, c.g);
  const Count head_tiles = Count(s.b) * h * groups;
  s.tiles = to_int(head_tiles * q_tiles, "tiles");
  s.q_tiles = divisor(q_tiles.get());
  s.h = divisor(h.get());
  s.groups = divisor(groups.get());
  // As many head tiles at a time as keep K and V in half of the L2.
  const Count head_bytes = Count(s.x) * (c.d + c.dv) * element_bytes;
  const Count fit = (device.l2.value / 2 + head_bytes / 2) / head_bytes;
  const Count section = std::max(Count(1), std::min(head_tiles, fit));
  s.section = divisor(section.get());
  s.section_tiles = divisor((section * q_tiles).get());
  s.last_section = divisor(head_tiles % section == Count(0) ? section.get() : (head_tiles % section).get());
  // The kernel adds them to row numbers: beyond the array is as good as its end.
  s.left = to_int(std::min(Count(placed.problem->mask.left), Count(s.q) + s.x), "window");
  s.right = to_int(std::min(Count(placed.problem->mask.right), Count(s.q) + s.x), "window");
  s.q_starts = reinterpret_cast<const int*>(call.q_starts);
  s.x_starts = reinterpret_cast<const int*>(call.x_starts);
  return s;
}

AttentionArguments arguments_of(const AttentionCall& call, const AttentionShape& shape, const Reader& read) {
  AttentionArguments a{};
  a.shape = shape;
  a.o = reinterpret_cast<void*>(call.o.address);
  a.o_row = call.o.row;
  a.o_head = call.o.head;
  a.o_batch = call.o.batch;
  a.lse = reinterpret_cast<float*>(call.log_sum_exp);
  const double scale = call.scale.value_or(1 / std::sqrt(static_cast<double>(read.size("d"))));
  require(std::isfinite(scale) && scale > 0, "scale", "is not positive", "a positive number");
  a.scale = static_cast<float>(scale);
  a.scale_log2 = static_cast<float>(scale * 1.4426950408889634);
  a.ticket = reinterpret_cast<int*>(call.ticket);
  a.cycles = reinterpret_cast<unsigned long long*>(call.cycles);
  return a;
}

void check(const PlacedDiagram& placed, const AttentionCall& call, const AttentionConfig& c, const AttentionShape& shape, const Reader& read) {
  const std::string where = "attention_sm90";
  require(placed.mapping->name == where, placed.mapping->name, "is not the mapping of this kernel", where);
  require(placed.problem->dtype == DType::bf16 || placed.problem->dtype == DType::f16, where, "takes bf16 and f16", "");
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, where, "a tile's rows do not fill its warpgroups", "q * g = 64 * warpgroups");
  require(read.offset("O_out") == c.q_offset, where, "stages O on Q, and the plan does not", "alias: Q");
  require(read.shared_fits(), where, "a block needs " + std::to_string(read.shared_total()) + " bytes of shared memory, more than there are",
          "smaller tiles or fewer copies");
  // Barriers are eight bytes: two a copy of Q, four a stage of K and V, and the tile mailbox.
  require(c.barriers_offset + 8 * (3 + 2 * c.q_stages + 4 * c.stages) <= read.shared_total(), where, "the plan leaves no room for the barriers", "");
  require(c.order != TileOrder::longest_first || call.ticket != 0, where, "order longest_first needs a ticket", "");
  require(!call.packed() || (call.x_starts != 0 && call.q_rows > 0 && call.x_rows > 0), where, "packed sequences need both starts and rows", "");
  require(c.cluster == 1 || (shape.q_tiles.value % c.cluster == 0 && c.order != TileOrder::longest_first && !c.packed), where,
          "a cluster shares one head's keys", "tiles of q a multiple of the cluster, another order, sequences of one length");
}

}  // namespace

LaunchPlan attention_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  const Reader read(placed);
  const AttentionConfig config = config_of(placed, call, read);
  const AttentionShape shape = shape_of(placed, call, config, device, read);
  check(placed, call, config, shape, read);
  const AttentionArguments arguments = arguments_of(call, shape, read);

  LaunchPlan out;
  out.source = "kernels/attention/attention_sm90.cuh";
  out.expression = name_expression("attention_sm90", written(config));
  out.architecture = "sm_90a";
  const int resident = std::max(device.sms / config.cluster, 1) * config.cluster;
  out.grid = static_cast<unsigned>(config.order == TileOrder::grid ? shape.tiles : std::min(shape.tiles, resident));
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.cluster = static_cast<unsigned>(config.cluster);
  out.shared = static_cast<unsigned>(read.shared_total());
  out.arguments.resize(sizeof arguments);
  std::memcpy(out.arguments.data(), &arguments, sizeof arguments);
  out.boxes = boxes_of(placed, call, config, read);
  return out;
}

}  // namespace napkin
