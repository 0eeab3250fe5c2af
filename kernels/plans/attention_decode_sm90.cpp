#include <algorithm>

#include "kernels/attention/decode/arguments_decode.cuh"
#include "kernels/plans/attention_boxes.hpp"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/attention_shape.hpp"
#include "model/resource/parts.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view decode_kernel = "attention_decode_sm90";

/// The division of a placement's keys, and its parts in the scratch memory: each part's log-sum-exp, then its output.
struct Parts {
  Count tiles, parts, batch_tiles, log_sum_exps, outputs;  ///< the last two in numbers, of all parts

  static Count aligned_up(Count bytes) { return ceil_div(bytes, 256) * 256; }
  [[nodiscard]] Count o_offset() const { return aligned_up(log_sum_exps * sizeof(float)); }
  [[nodiscard]] LaunchScratch scratch() const {
    if (parts <= Count(1)) return {};
    return {tiles, Bytes(o_offset() + outputs * sizeof(float))};
  }
};

Parts parts_of(const PlacedDiagram& placed, int sequences) {
  Parts out;
  const PartsMemory memory = parts_memory(placed);
  out.tiles = memory.tiles;
  out.parts = memory.parts;
  out.batch_tiles = ceil_div(out.tiles, sequences);
  const ArrayId o = placed.streamed->diagram.outputs.front();
  for (const OutputParts& one : memory.outputs) (one.output == o ? out.outputs : out.log_sum_exps) = one.whole;
  return out;
}

/// Returns the chunks of a part.
int chunks_of(const PlacementReader& read) {
  const int x = read.knob("x"), keys = read.knob("shared.x");
  require(keys % x == 0, decode_kernel, "deals out parts of whole chunks", "shared.x a multiple of x");
  return keys / x;
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

std::vector<TensorBox> decode_boxes_of(const AttentionLengths& lengths, const AttentionCall& call,
                                       const AttentionConfig& c) {
  AttentionBoxes boxes(lengths, call);
  if (call.pages.table != 0) {
    boxes.x = call.pages.size;
    boxes.key_sequences = call.pages.count;
  }
  const int keys = box_keys(call, c);
  const HeadColumns d{lengths.d, c.d}, dv{lengths.dv, c.dv};
  return {boxes.queries(offsetof(AttentionArguments, q_map), "Q", call.q, d, c.g, 64 / c.g),
          boxes.keys(offsetof(AttentionArguments, k_map), "K", call.k, d, keys),
          boxes.keys(offsetof(AttentionArguments, v_map), "V", call.v, dv, keys),
          boxes.queries(offsetof(AttentionArguments, o_map), "O", call.o, dv, c.g, 64 / c.g)};
}

/// Makes the parameter; the parts of O begin at an offset until it is bound.
AttentionDecodeArguments decode_arguments_of(const AttentionCall& call, const AttentionShape& shape,
                                             const AttentionConfig& c, const Parts& parts, int chunks) {
  AttentionDecodeArguments a{};
  a.forward = attention_arguments(call, shape);
  a.parts = divisor(parts.parts.get());
  a.batch_tiles = divisor(parts.batch_tiles.get());
  a.part_chunks = chunks;
  a.box_keys = box_keys(call, c);
  a.boxes = c.x / a.box_keys;
  a.page = divisor(call.pages.table == 0 ? 1 : call.pages.size);
  a.table_row = to_int(Count(call.pages.row), "pages of a sequence");
  a.page_count = to_int(Count(call.pages.count), "pages");
  if (parts.parts > Count(1)) a.part_o = reinterpret_cast<float*>(parts.o_offset().get());
  return a;
}

void check_decode(const AttentionConfig& c, const PlacementReader& read) {
  require(c.q * c.g == 64 * c.warpgroups && 64 % c.g == 0, decode_kernel, "a tile's rows do not fill its warpgroups",
          "q * g = 64 * warpgroups");
  require(read.resources().barriers >= Count(2 * c.warpgroups + 4 * c.stages + 3), decode_kernel,
          "needs more barriers than the plan has", "barriers: 5");
}

void check_decode(const AttentionCall& call, const AttentionConfig& c, const Parts& parts, int keys) {
  require(!call.packed() && call.dump == 0, decode_kernel, "takes neither packed sequences nor a dump",
          "lengths in place of starts");
  require((call.arrived != 0 && call.parts != 0) || parts.parts <= Count(1), decode_kernel,
          "leaves parts of the result in device memory", "counters and memory of attention_scratch()");
  if (call.pages.table == 0) return;
  const std::int64_t page = call.pages.size;
  require(page >= 8 && page % 8 == 0 && (page % c.x == 0 || (c.x % page == 0 && c.x / page <= 32)), decode_kernel,
          "brings whole boxes of a page", "a page of 8, 16, 32, ... keys that divides x or is a multiple of it");
  require(call.pages.row >= ceil_div(keys, page).get() && call.pages.count > 0, decode_kernel,
          "has no page for some key", "a table of ceil(x / page) numbers a sequence");
}

void fill_decode(LaunchPlan& out, const AttentionConfig& config, int chunks, const PlacedDiagram& placed,
                 const AttentionCall& call, const LaunchDevice& device) {
  const AttentionLengths lengths = lengths_of(placed);
  const AttentionShape shape = attention_shape(lengths, config.q, config.g, device);
  const Parts parts = parts_of(placed, lengths.b);
  check_decode(call, config, parts, lengths.x);
  out.grid = static_cast<unsigned>(to_int(parts.tiles * parts.parts, "blocks"));
  out.counters = parts.scratch().counters;
  out.scratch = parts.scratch().bytes;
  out.arguments = bytes_of_arguments(decode_arguments_of(call, shape, config, parts, chunks));
  out.boxes = decode_boxes_of(lengths, call, config);
}

}  // namespace

bool takes_packed(const Mapping& mapping) { return !takes_pages(mapping); }
bool takes_pages(const Mapping& mapping) { return mapping.name == decode_kernel; }

LaunchScratch attention_scratch(const PlacedDiagram& placed) {
  if (placed.mapping->name != decode_kernel) return {};
  return parts_of(placed, 1).scratch();
}

FormHalves attention_decode_sm90_form(const PlacedDiagram& placed, const AttentionCall& call) {
  const PlacementReader read(placed);
  read.check(decode_kernel);
  const AttentionConfig config = decode_config_of(placed, call, read);
  check_decode(config, read);
  LaunchPlan out;
  out.source = attention_decode_sm90_source;
  out.expression = name_expression(decode_kernel, written_forward(config));
  out.architecture = "sm_90a";
  out.threads = static_cast<unsigned>(config.warpgroups + 1) * 128;
  out.shared = static_cast<unsigned>(read.shared_total());
  return {std::move(out), [config, chunks = chunks_of(read)](LaunchPlan& plan, const PlacedDiagram& at,
                                                             const AttentionCall& one, const LaunchDevice& device) {
            fill_decode(plan, config, chunks, at, one, device);
          }};
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

}  // namespace napkin::internal
