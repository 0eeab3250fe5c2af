#include <algorithm>

#include "kernels/attention/decode/arguments_decode.cuh"
#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_shape.hpp"
#include "model/resource/parts.hpp"

namespace napkin {
namespace {

constexpr std::string_view decode_kernel = "attention_decode_sm90";

/// The division of a placement's keys, and its parts in the scratch memory: each part's log-sum-exp, then its output.
struct Parts {
  Count tiles, parts, batch_tiles, log_sum_exps, outputs;  ///< the last two in numbers, of all parts
  int chunks = 0;

  static Count aligned_up(Count bytes) { return ceil_div(bytes, 256) * 256; }
  [[nodiscard]] Count o_offset() const { return aligned_up(log_sum_exps * sizeof(float)); }
  [[nodiscard]] LaunchScratch scratch() const {
    if (parts <= Count(1)) return {};
    return {tiles, Bytes(o_offset() + outputs * sizeof(float))};
  }
};

Parts parts_of(const PlacedDiagram& placed, const PlacementReader& read) {
  Parts out;
  const int x = read.knob("x"), keys = read.knob("shared.x");
  require(keys % x == 0, decode_kernel, "deals out parts of whole chunks", "shared.x a multiple of x");
  out.chunks = keys / x;
  const PartsMemory memory = parts_memory(placed);
  out.tiles = memory.tiles;
  out.parts = memory.parts;
  out.batch_tiles = ceil_div(out.tiles, read.size("b"));
  const ArrayId o = placed.streamed->diagram.outputs.front();
  for (const OutputParts& one : memory.outputs) (one.output == o ? out.outputs : out.log_sum_exps) = one.whole;
  return out;
}

AttentionConfig decode_config_of(const PlacedDiagram& placed, const AttentionCall& call, const PlacementReader& read) {
  AttentionConfig c{};
  c.q = read.knob("q");
  c.x = read.knob("x");
  c.warpgroups = read.knob("warpgroups");
  c.stages = read.knob("stages");
  c.q_stages = 1;
  c.overlap = read.word("overlap") == "on";
  c.rescale_rarely = read.word("rescale") == "rarely";
  c.g = read.knob("g");
  c.cluster = 1;
  c.order = TileOrder::grid;
  set_question(c, placed, call, read);
  set_copies(c, read);
  return c;
}

/// Returns the keys that a copy loads: a chunk, or its part in a page.
int box_keys(const AttentionCall& call, const AttentionConfig& c) {
  return call.pages.table == 0 ? c.x : to_int(std::min<std::int64_t>(call.pages.size, c.x), "page");
}

std::vector<TensorBox> decode_boxes_of(const PlacedDiagram& placed, const AttentionCall& call, const AttentionConfig& c,
                                       const PlacementReader& read) {
  AttentionBoxes boxes(placed, call, read);
  if (call.pages.table != 0) {
    boxes.x = call.pages.size;
    boxes.key_sequences = call.pages.count;
  }
  const int keys = box_keys(call, c);
  const HeadColumns d{read.size("d"), c.d}, dv{read.size("dv"), c.dv};
  return {boxes.queries(offsetof(AttentionArguments, q_map), "Q", call.q, d, c.g, 64 / c.g),
          boxes.keys(offsetof(AttentionArguments, k_map), "K", call.k, d, keys),
          boxes.keys(offsetof(AttentionArguments, v_map), "V", call.v, dv, keys),
          boxes.queries(offsetof(AttentionArguments, o_map), "O", call.o, dv, c.g, 64 / c.g)};
}

AttentionDecodeArguments decode_arguments_of(const AttentionCall& call, const AttentionShape& shape,
                                             const AttentionConfig& c, const Parts& parts,
                                             const PlacementReader& read) {
  AttentionDecodeArguments a{};
  a.forward = attention_arguments(call, shape, read);
  a.parts = divisor(parts.parts.get());
  a.batch_tiles = divisor(parts.batch_tiles.get());
  a.part_chunks = parts.chunks;
  a.box_keys = box_keys(call, c);
  a.boxes = c.x / a.box_keys;
  a.page = divisor(call.pages.table == 0 ? 1 : call.pages.size);
  a.table_row = to_int(Count(call.pages.row), "pages of a sequence");
  a.page_count = to_int(Count(call.pages.count), "pages");
  return a;
}

void check_decode(const AttentionCall& call, const AttentionConfig& c, const Parts& parts,
                  const PlacementReader& read) {
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, decode_kernel, "a tile's rows do not fill its warpgroups",
          "q * g = 64 * warpgroups");
  require(read.resources().barriers >= Count(2 * c.warpgroups + 4 * c.stages + 3), decode_kernel,
          "needs more barriers than the plan has", "barriers: 5");
  require(!call.packed() && call.dump == 0, decode_kernel, "takes neither packed sequences nor a dump",
          "lengths in place of starts");
  require((call.arrived != 0 && call.parts != 0) || parts.parts <= Count(1), decode_kernel,
          "leaves parts of the result in device memory", "counters and memory of attention_scratch()");
  if (call.pages.table == 0) return;
  const std::int64_t page = call.pages.size;
  require(page >= 8 && page % 8 == 0 && (page % c.x == 0 || (c.x % page == 0 && c.x / page <= 32)), decode_kernel,
          "brings whole boxes of a page", "a page of 8, 16, 32, ... keys that divides x or is a multiple of it");
  require(call.pages.row >= ceil_div(read.size("x"), page).get() && call.pages.count > 0, decode_kernel,
          "has no page for some key", "a table of ceil(x / page) numbers a sequence");
}

}  // namespace

bool takes_packed(const Mapping& mapping) { return mapping.name != decode_kernel; }

LaunchScratch attention_scratch(const PlacedDiagram& placed) {
  if (placed.mapping->name != decode_kernel) return {};
  return parts_of(placed, PlacementReader(placed)).scratch();
}

LaunchPlan attention_decode_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                      const LaunchDevice& device) {
  const PlacementReader read(placed);
  read.check(decode_kernel);
  const AttentionConfig config = decode_config_of(placed, call, read);
  const AttentionShape shape = attention_shape(placed, config.q, config.g, device, read);
  const Parts parts = parts_of(placed, read);
  check_decode(call, config, parts, read);

  LaunchPlan out;
  out.source = attention_decode_sm90_source;
  out.expression = name_expression("attention_decode_sm90", written(config));
  out.architecture = "sm_90a";
  out.grid = static_cast<unsigned>(to_int(parts.tiles * parts.parts, "blocks"));
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.shared = static_cast<unsigned>(read.shared_total());
  AttentionDecodeArguments arguments = decode_arguments_of(call, shape, config, parts, read);
  if (parts.parts > Count(1)) arguments.part_o = reinterpret_cast<float*>(parts.o_offset().get());  // until it is bound
  out.counters = parts.scratch().counters;
  out.scratch = parts.scratch().bytes;
  out.arguments = bytes_of_arguments(arguments);
  out.boxes = decode_boxes_of(placed, call, config, read);
  bind_decode_sm90(out, call);
  return out;
}

void bind_decode_sm90(LaunchPlan& plan, const AttentionCall& call) {
  change_arguments<AttentionDecodeArguments>(plan, [&](AttentionDecodeArguments& a) {
    bind_common(a.forward, call);
    a.lengths = reinterpret_cast<const int*>(call.lengths);
    a.pages = reinterpret_cast<const int*>(call.pages.table);
    const auto before = reinterpret_cast<std::uint64_t>(a.part_lse), now = aligned("parts", call.parts);
    a.part_o = reinterpret_cast<float*>(reinterpret_cast<std::uint64_t>(a.part_o) - before + now);
    a.part_lse = reinterpret_cast<float*>(now);
    a.arrived = reinterpret_cast<int*>(call.arrived);
  });
  bind_boxes(plan, {{"Q", call.q.address}, {"K", call.k.address}, {"V", call.v.address}, {"O", call.o.address}});
}

}  // namespace napkin
