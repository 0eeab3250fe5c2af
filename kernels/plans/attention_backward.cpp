#include "kernels/plans/attention_backward.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/attention/backward/arguments.cuh"
#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {
namespace {

constexpr const char *kernel_name = "attention_backward_sm90", *wide_name = "attention_backward_wide_sm90";
constexpr std::int64_t float_bytes = 4;

Initialiser::Enumerator enumerator_of(SumOrder order) {
  switch (order) {
    case SumOrder::bulk: return {"SumOrder::bulk"};
    case SumOrder::atomic: return {"SumOrder::atomic"};
    case SumOrder::ordered: return {"SumOrder::ordered"};
  }
  return {};
}

SumOrder sum_order_of(std::string_view word) {
  if (word == "bulk") return SumOrder::bulk;
  return word == "atomic" ? SumOrder::atomic : SumOrder::ordered;
}

Initialiser written(const AttentionBackwardConfig& config) {
  const auto& [q, x, warpgroups, stages, o_stages, s_stages, overlap, dq, by_gradient, d, dv, bf16, mask, packed,
               padded, cycles, q_offset, k_offset, v_offset, do_offset, lse_offset, delta_offset, ds_offset, dq_offset,
               p_offset, barriers_offset, producer_registers, consumer_registers, queries_registers] = config;
  Initialiser out("napkin::AttentionBackwardConfig");
  out.set("q", q).set("x", x).set("warpgroups", warpgroups).set("stages", stages).set("o_stages", o_stages);
  out.set("s_stages", s_stages).set("overlap", overlap).set("dq", enumerator_of(dq));
  out.set("by_gradient", by_gradient).set("d", d).set("dv", dv);
  out.set("bf16", bf16).set("mask", enumerator(mask)).set("packed", packed);
  out.set("padded", padded).set("cycles", cycles);
  out.set("q_offset", q_offset).set("k_offset", k_offset).set("v_offset", v_offset).set("do_offset", do_offset);
  out.set("lse_offset", lse_offset).set("delta_offset", delta_offset).set("ds_offset", ds_offset);
  out.set("dq_offset", dq_offset).set("p_offset", p_offset).set("barriers_offset", barriers_offset);
  out.set("producer_registers", producer_registers).set("consumer_registers", consumer_registers);
  out.set("queries_registers", queries_registers);
  return out;
}

AttentionBackwardConfig config_of(const PlacedDiagram& placed, const AttentionBackwardCall& call,
                                  const PlacementReader& read) {
  AttentionBackwardConfig c{};
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.by_gradient = placed.mapping->name == wide_name;
  c.warpgroups = c.by_gradient ? 3 : read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.o_stages = read.knob("o_stages");
  c.s_stages = read.knob("s_stages");
  c.overlap = !c.by_gradient && read.word("overlap") == "on";
  c.dq = sum_order_of(read.word("dq"));
  set_question(c, placed, call, read);
  set_copies(c, read, c.by_gradient ? "keys" : "consumer");
  c.do_offset = read.offset("dO");
  c.lse_offset = read.offset("L");
  c.delta_offset = read.offset("Delta");
  c.ds_offset = read.offset("dS");
  c.dq_offset = c.dq == SumOrder::bulk ? read.offset("dQ_out") : 0;
  if (c.by_gradient) {
    c.p_offset = read.offset("P_given");
    c.queries_registers = read.registers("queries");
  }
  return c;
}

/// Returns the number of parts of dQ's tile that warpgroups compute; each has its place in the scratch memory.
int parts_of(const AttentionBackwardConfig& c) { return c.by_gradient ? c.d / 64 : c.warpgroups; }

/// Returns the part of the configuration that the kernels before and after depend on, so that tiles share their
/// variants.
AttentionBackwardConfig rows_config(AttentionBackwardConfig c) {
  AttentionBackwardConfig out{};
  out.q = c.q;
  out.warpgroups = parts_of(c);
  out.d = c.d;
  out.dv = c.dv;
  out.bf16 = c.bf16;
  out.packed = c.packed;
  out.padded = c.padded;
  return out;
}

/// Returns the tiles of queries for which a head's scratch has room; each packed sequence begins a tile.
Count scratch_tiles(const AttentionBackwardCall& call, int b, int q, int tile_q) {
  return call.packed() ? Count(call.q_rows) / tile_q + Count(b) : ceil_div(q, tile_q);
}

/// Returns the number of heads whose first blocks start before any second block, a divisor of all heads. With a causal
/// mask first blocks are the longest, so that the last ones to start are short. Half of the L2 should hold their Q, dO
/// and dQ, unless all their blocks run at once.
Count heads_together(const PlacedDiagram& placed, const AttentionBackwardConfig& c, Count rows, Count heads,
                     Count at_once) {
  const std::vector<Level>& levels = placed.machine->levels;
  const auto cache =
      std::find_if(levels.begin(), levels.end(), [](const Level& level) { return level.kind == LevelKind::cache; });
  if (placed.problem->mask.kind != Mask::Kind::causal || cache == levels.end() || !cache->capacity.known()) return 1;
  const Count bytes = rows * ((c.d + c.dv) * element_bytes + c.d * float_bytes);
  const Count held = Count(static_cast<std::int64_t>(cache->capacity.best().value / 2)) / bytes;
  Count out = std::max(std::min(std::max(held, at_once), heads), Count(1));
  while (heads % out != 0) out = out - Count(1);
  return out;
}

AttentionBackwardShape shape_of(const PlacedDiagram& placed, const AttentionBackwardCall& call,
                                const AttentionBackwardConfig& c, const PlacementReader& read) {
  AttentionBackwardShape s{};
  s.b = read.size("b");
  s.g = read.size("g");
  s.q = read.size("q");
  s.x = read.size("x");
  s.d = read.size("d");
  s.dv = read.size("dv");
  const Count h = read.size("h"), x_tiles = ceil_div(s.x, c.x), q_grid = ceil_div(s.q, c.q);
  s.tiles = to_int(Count(s.b) * h * x_tiles, "tiles");
  s.q_tiles = to_int(scratch_tiles(call, s.b, s.q, c.q), "tiles of queries");
  static_cast<void>(to_int(Count(s.b) * h * s.g * q_grid, "tiles of queries"));
  s.x_tiles = divisor(x_tiles.get());
  s.q_grid = divisor(q_grid.get());
  s.h = divisor(h.get());
  const Count at_once = call.at_once ? Count(*call.at_once) : Count(launch_device(*placed.machine).sms);
  const Count together = heads_together(placed, c, Count(s.q) * s.g, Count(s.b) * h, at_once / x_tiles);
  s.together = divisor(together.get());
  const Count section = together * x_tiles, sections = Count(s.b) * h / together;
  s.section = divisor(section.get());
  s.sections = to_int(sections, "sections");
  // One section more than run at once, so that the blocks which zero a section's sums began one block earlier than it
  // needs them.
  s.ahead = to_int(std::min(sections, Count(1) + ceil_div(at_once, section)), "sections");
  // Under a causal mask the later half of a section's blocks have few products, which would end before the zeroing and
  // rounding.
  const bool causal = placed.problem->mask.kind == Mask::Kind::causal;
  s.asides = to_int(causal ? ceil_div(section, 2) : section, "blocks");
  s.section_tiles = to_int(together * s.g * q_grid, "tiles of queries");
  s.groups = divisor(s.g);
  s.left = to_int(std::min(Count(placed.problem->mask.left), Count(s.q) + s.x), "window");
  s.right = to_int(std::min(Count(placed.problem->mask.right), Count(s.q) + s.x), "window");
  return s;
}

/// Bytes of the scratch's parts, each a multiple of 128.
struct Scratch {
  Count lse, delta, sums, turns, sections;
  [[nodiscard]] Count total() const { return lse + delta + sums + turns + sections * 2; }
};

Scratch scratch_of(const AttentionBackwardConfig& c, const AttentionBackwardCall& call, const PlacementReader& read) {
  const int b = read.size("b"), tile_q = c.q;
  const Count heads = Count(call.packed() ? 1 : b) * read.size("h") * read.size("g");
  const Count tiles = heads * scratch_tiles(call, b, read.size("q"), tile_q);
  const auto bytes = [](Count numbers) { return round_up(numbers * float_bytes, 128); };
  return {bytes(tiles * tile_q), bytes(tiles * tile_q), bytes(tiles * tile_q * c.d), bytes(tiles * 4 * parts_of(c)),
          bytes(Count(b) * read.size("h"))};
}

std::vector<TensorBox> boxes_of(const PlacedDiagram& placed, const AttentionBackwardCall& call,
                                const AttentionBackwardConfig& c, const PlacementReader& read) {
  const AttentionBoxes boxes(lengths_of(placed), call);
  const HeadColumns d{read.size("d"), c.d}, dv{read.size("dv"), c.dv};
  const HeadColumns part{read.size("d"), c.d / read.column_parts("K")};  // a part of dQ reads whole spans of K
  return {boxes.queries(offsetof(AttentionBackwardArguments, q_map), "Q", call.q, d, 1, c.q),
          boxes.keys(offsetof(AttentionBackwardArguments, k_map), "K", call.k, part, c.x),
          boxes.keys(offsetof(AttentionBackwardArguments, v_map), "V", call.v, dv, c.x),
          boxes.queries(offsetof(AttentionBackwardArguments, do_map), "dO", call.d_o, dv, 1, c.q)};
}

RowsPointer rows_of(const std::string& name, const TensorView& view) {
  constexpr std::int64_t step = 16 / element_bytes;
  require(view.row % step == 0 && view.head % step == 0 && view.batch % step == 0, name,
          "has rows that do not begin at multiples of 16 bytes", "strides that are multiples of 8");
  return {nullptr, view.row, view.head, view.batch};
}

/// Makes the arguments without memory; pointers into the scratch are offsets from its beginning.
AttentionBackwardArguments arguments_of(const AttentionBackwardCall& call, const AttentionBackwardShape& shape,
                                        const AttentionBackwardConfig& c, const PlacementReader& read) {
  AttentionBackwardArguments a{};
  a.shape = shape;
  a.o = rows_of("O", call.o);
  a.d_o = rows_of("dO", call.d_o);
  a.dq = rows_of("dQ", call.dq);
  a.dk = rows_of("dK", call.dk);
  a.dv = rows_of("dV", call.dv);
  const Scratch scratch = scratch_of(c, call, read);
  a.rows_delta = reinterpret_cast<float*>(scratch.lse.get());
  a.dq_sum = reinterpret_cast<float*>((scratch.lse + scratch.delta).get());
  a.turns = reinterpret_cast<unsigned int*>((scratch.lse + scratch.delta + scratch.sums).get());
  a.zeroed = a.turns + scratch.turns.get() / static_cast<std::int64_t>(sizeof(unsigned int));
  a.added = a.zeroed + scratch.sections.get() / static_cast<std::int64_t>(sizeof(unsigned int));
  set_scale(a, call.scale, shape.d);
  return a;
}

void bind_arguments(AttentionBackwardArguments& a, const AttentionBackwardCall& call) {
  a.shape.q_starts = reinterpret_cast<const int*>(call.q_starts);
  a.shape.x_starts = reinterpret_cast<const int*>(call.x_starts);
  const auto rows = [](RowsPointer& to, const char* name, const TensorView& view) {
    to.first = reinterpret_cast<void*>(aligned(name, view.address));
  };
  rows(a.o, "O", call.o);
  rows(a.d_o, "dO", call.d_o);
  rows(a.dq, "dQ", call.dq);
  rows(a.dk, "dK", call.dk);
  rows(a.dv, "dV", call.dv);
  a.lse = reinterpret_cast<const float*>(call.log_sum_exp);
  const auto before = reinterpret_cast<std::uint64_t>(a.rows_lse), now = aligned("scratch", call.scratch);
  const auto move = [&](auto*& part) {
    part =
        reinterpret_cast<std::remove_reference_t<decltype(part)>>(reinterpret_cast<std::uint64_t>(part) - before + now);
  };
  move(a.rows_delta);
  move(a.dq_sum);
  move(a.turns);
  move(a.zeroed);
  move(a.added);
  move(a.rows_lse);
  a.cycles = reinterpret_cast<unsigned long long*>(call.cycles);
}

void check(const AttentionBackwardCall& call, const AttentionBackwardConfig& c, const PlacementReader& read) {
  const int parts = parts_of(c), halves = c.by_gradient ? 2 : 0;
  require(c.x == 64 * (c.by_gradient ? 1 : c.warpgroups), kernel_name, "a tile's keys do not fill its warpgroups",
          "64 keys for each that has keys of its own");
  require(c.q == 64 * parts || (c.q == 64 && c.d % (16 * parts) == 0), kernel_name,
          "a warpgroup's part of dQ is neither 64 rows nor a share of the columns", "another q");
  require(read.resources().barriers >= Count(2 * (c.stages + c.o_stages + c.s_stages) + 3 + halves), kernel_name,
          "needs more barriers than the plan has", "those of the bundled mapping");
  require(call.log_sum_exp != 0, kernel_name, "needs the forward pass's log-sum-exp", "its array");
  require(!call.packed() || (call.x_starts != 0 && call.q_rows > 0 && call.x_rows > 0), kernel_name,
          "packed sequences need both starts and rows", "q_starts, x_starts, q_rows and x_rows");
}

LaunchPlan plan_of(const std::string& source, const char* kernel, const AttentionBackwardConfig& config,
                   const AttentionBackwardArguments& arguments, int blocks, int threads) {
  LaunchPlan out;
  out.source = source;
  out.expression = name_expression(kernel, written(config));
  out.architecture = "sm_90a";
  out.grid = static_cast<unsigned>(blocks);
  out.threads = static_cast<unsigned>(threads);
  out.arguments = bytes_of_arguments(arguments);
  return out;
}

}  // namespace

Bytes scratch_bytes(const PlacedDiagram& placed, const AttentionBackwardCall& call) {
  const PlacementReader read(placed);
  return Bytes(scratch_of(config_of(placed, call, read), call, read).total());
}

AttentionBackwardPlans attention_backward_plans(const PlacedDiagram& placed, const AttentionBackwardCall& call) {
  const PlacementReader read(placed);
  const char* kernel = placed.mapping->name == wide_name ? wide_name : kernel_name;
  read.check(kernel);
  const AttentionBackwardConfig config = config_of(placed, call, read), rows = rows_config(config);
  check(call, config, read);
  const AttentionBackwardShape shape = shape_of(placed, call, config, read);
  const AttentionBackwardArguments arguments = arguments_of(call, shape, config, read);
  const int query_tiles = shape.sections * shape.section_tiles;
  const std::string source = std::string("kernels/attention/backward/") + kernel + ".cuh",
                    rows_source = std::string("kernels/attention/backward/") + kernel_name + ".cuh";
  AttentionBackwardPlans out;
  out.delta = plan_of(rows_source, "attention_backward_delta", rows, arguments, query_tiles, 128);
  out.gradients = plan_of(source, kernel, config, arguments, shape.tiles, (config.warpgroups + 1) * 128);
  out.gradients.shared = static_cast<unsigned>(read.shared_total());
  out.gradients.boxes = boxes_of(placed, call, config, read);
  out.convert = plan_of(rows_source, "attention_backward_convert", rows, arguments, shape.ahead * shape.section_tiles,
                        rows.warpgroups * 128);
  for (LaunchPlan* plan : {&out.delta, &out.gradients, &out.convert}) {
    plan->workspace = static_cast<std::uint64_t>(scratch_of(config, call, read).total().get());
    bind_backward({plan, 1}, call);
  }
  return out;
}

void bind_backward(std::span<LaunchPlan> plans, const AttentionBackwardCall& call) {
  for (LaunchPlan& plan : plans) {
    change_arguments<AttentionBackwardArguments>(plan, [&](AttentionBackwardArguments& a) { bind_arguments(a, call); });
    if (plan.boxes.empty()) continue;  // a small kernel without tensor maps
    bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"dO", call.d_o.address}});
  }
}

}  // namespace napkin::internal
