// The details of a configuration as text and as JSON: rounds, parts of buffers, instructions, resident blocks.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/report/text/configuration.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

std::int64_t whole(Count count) { return count.get(); }

std::string times(Count count) { return whole(count) == 1 ? "once" : fmt::format("{} times", whole(count)); }

std::string offset_text(const PartOffset& one) {
  return fmt::format("{}: {} i has {} rows, from byte i * {}", one.variable, one.agent, whole(one.rows),
                     count_text(one.bytes.value.get()));
}

std::string copy_text(const CopyCount& one) {
  return fmt::format("{}: 16 B a thread, {} x {} values a warp; {} x {} of them for its {} x {}", one.variable,
                     whole(one.step_rows), whole(one.step_columns), whole(one.down), whole(one.across), whole(one.rows),
                     whole(one.columns));
}

std::string product_text(const ProductLoop& one) {
  std::string text =
      fmt::format("{}: {} of {} x {} x {}, m {}, n {}, k {}", one.operation, one.instruction, whole(one.m),
                  whole(one.n), whole(one.k), times(one.times_m), times(one.times_n), times(one.times_k));
  if (!one.loops) return text;
  return text + fmt::format("; loops over k, m, n by ({}, {}, {}) pieces of 8 x 16 B", whole(one.pieces_k),
                            whole(one.pieces_m), whole(one.pieces_n));
}

/// Writes how a product's operands lie, a line for each: "V of O: along dv, transposed; 32 loads of 16 B a thread, a
/// warp".
std::string operands_text(const std::vector<ProductLoop>& products) {
  std::string out;
  for (const ProductLoop& product : products) {
    for (const OperandLayout& one : product.operands) {
      out += fmt::format("    {} of {}: along {}, {}", one.array, product.operation, one.along,
                         one.as_stored ? "which is summed over, as it lies" : "transposed");
      if (one.loads > Count(0))
        out += fmt::format("; {} loads of 16 B a thread{}", whole(one.loads), one.once ? ", once" : "");
      out += "\n";
    }
  }
  return out.empty() ? "" : "\n  operands of matrix instructions, by their axis of unit stride\n" + out;
}

std::string meeting_text(const Meeting& one) {
  const std::string who = one.agent.empty() ? fmt::format("all {} threads", whole(one.threads))
                                            : fmt::format("the {} threads of one {}", whole(one.threads), one.agent);
  return fmt::format("{}: {} before it is read{}", one.variable, who,
                     one.again ? ", and before the next one takes its place" : "");
}

std::string staged_text(const StagedResult& one) {
  return fmt::format("{}: a warp writes {} B a thread {}, then takes out 16 B a thread {}", one.variable,
                     one.width.value.get(), times(one.writes), times(one.reads));
}

std::string piece_text(const PieceLayout& one) {
  return fmt::format("{}: {} x {} by rows -> {} x {} x {} x {}: a row leaves in {} pieces of {} B, {} B apart",
                     one.variable, whole(one.rows), whole(one.columns), whole(ceil_div(one.columns, one.piece_columns)),
                     whole(ceil_div(one.rows, one.piece_rows)), whole(one.piece_rows), whole(one.piece_columns),
                     whole(ceil_div(one.columns, one.piece_columns)), one.piece.value.get(),
                     count_text(one.stride.value.get()));
}

/// Writes a part of the text, a line for each entry.
template <class One>
std::string lines(std::string_view title, const std::vector<One>& all, std::string (*text)(const One&)) {
  std::string out;
  for (const One& one : all) out += "    " + text(one) + "\n";
  return out.empty() ? "" : fmt::format("\n  {}\n{}", title, out);
}

std::string resident_text(const Detail& detail) {
  if (detail.resident.empty()) return "";
  std::string text = "\n  blocks that a node holds by each resource alone:";
  for (const Resident& one : detail.resident) text += fmt::format(" {} {},", one.resource, whole(one.blocks));
  text.back() = '\n';
  Table table({"blocks", "warps", "registers a thread, at most", "<"});
  for (const RegisterCap& cap : detail.caps) {
    const std::string missing = whole(cap.missing) == 0
                                    ? ""
                                    : fmt::format("{} fewer than planned: a compiler held to them spills {} B a thread",
                                                  whole(cap.missing), 4 * whole(cap.missing));
    table.add({std::to_string(whole(cap.blocks)), std::to_string(whole(cap.warps)), std::to_string(whole(cap.most)),
               missing});
  }
  return text + table.text(Style{}, "  ");
}

std::string shares_text(const std::vector<NodeShare>& shares) {
  if (shares.empty()) return "";
  constexpr std::size_t shown = 3;
  Count iterations, visits;
  for (const NodeShare& one : shares) iterations += one.iterations, visits += one.blocks;
  std::string text = fmt::format(
      "\n  equal shares: {} iterations on {} nodes, {} each at most; nodes begin or go on with a block {} times\n",
      whole(iterations), shares.size(), whole(shares.front().iterations), whole(visits));
  for (std::size_t node = 0; node < std::min(shares.size(), shown); ++node) {
    const NodeShare& one = shares[node];
    text += fmt::format("    node {}: {} iterations from number {}, block {} iteration {}\n", node,
                        whole(one.iterations), whole(one.first), whole(one.block), whole(one.iteration));
  }
  return text;
}

}  // namespace

std::string text_of(const Detail& detail) {
  return lines("an instance's part of a buffer that all share", detail.offsets, offset_text) +
         lines("copies by threads (cp.async)", detail.copies, copy_text) +
         lines("matrix instructions of an instance, an iteration", detail.products, product_text) +
         operands_text(detail.products) +
         lines("operands that the matrix unit reads in pieces", detail.pieces, piece_text) +
         lines("results on their way out", detail.staged, staged_text) +
         lines("threads that meet at a barrier", detail.meetings, meeting_text) + resident_text(detail) +
         shares_text(detail.shares);
}

std::string rounds_of(const Detail& detail) {
  if (detail.rounds.empty()) return "";
  std::string text = fmt::format("in rounds r = 0 .. n{} of n iterations:\n",
                                 detail.ahead == 1 ? "" : fmt::format(" + {}", detail.ahead - 1));
  for (const RoundStage& stage : detail.rounds) {
    const std::string iteration = stage.behind == 0 ? "r" : fmt::format("r - {}", stage.behind);
    text += fmt::format("  if 0 <= {} < n: {} of iteration {} by {}\n", iteration, fmt::join(stage.operations, ", "),
                        iteration, stage.agent);
  }
  if (detail.unrolled > Count(1))
    text += fmt::format(
        "  copies come round every {} rounds: unrolled by {}, no round moves a value to make room for the next\n",
        whole(detail.unrolled), whole(detail.unrolled));
  return text;
}

namespace {

Json operands_json(const std::vector<OperandLayout>& operands) {
  Json out = Json::array();
  for (const OperandLayout& one : operands)
    out.push_back({{"array", one.array},
                   {"along", one.along},
                   {"as_stored", one.as_stored},
                   {"loads", whole(one.loads)},
                   {"once", one.once}});
  return out;
}

Json meetings_json(const std::vector<Meeting>& meetings) {
  Json out = Json::array();
  for (const Meeting& one : meetings)
    out.push_back({{"variable", one.variable},
                   {"agent", one.agent.empty() ? Json() : Json(one.agent)},
                   {"threads", whole(one.threads)},
                   {"again", one.again}});
  return out;
}

Json staged_json(const std::vector<StagedResult>& staged) {
  Json out = Json::array();
  for (const StagedResult& one : staged)
    out.push_back({{"variable", one.variable},
                   {"width", one.width.value.get()},
                   {"writes", whole(one.writes)},
                   {"reads", whole(one.reads)}});
  return out;
}

Json copies_json(const std::vector<CopyCount>& copies) {
  Json out = Json::array();
  for (const CopyCount& one : copies)
    out.push_back({{"variable", one.variable},
                   {"part", {whole(one.rows), whole(one.columns)}},
                   {"instruction", {whole(one.step_rows), whole(one.step_columns)}},
                   {"count", {whole(one.down), whole(one.across)}}});
  return out;
}

}  // namespace

Json json_of(const Detail& detail) {
  Json rounds = Json::array(), offsets = Json::array(), products = Json::array(), pieces = Json::array(),
       caps = Json::array(), shares = Json::array(), resident = Json::object();
  for (const RoundStage& one : detail.rounds)
    rounds.push_back({{"agent", one.agent}, {"operations", one.operations}, {"behind", one.behind}});
  for (const PartOffset& one : detail.offsets)
    offsets.push_back({{"variable", one.variable},
                       {"agent", one.agent},
                       {"rows", whole(one.rows)},
                       {"bytes", one.bytes.value.get()}});
  for (const ProductLoop& one : detail.products)
    products.push_back({{"operation", one.operation},
                        {"operands", operands_json(one.operands)},
                        {"instruction", one.instruction},
                        {"size", {whole(one.m), whole(one.n), whole(one.k)}},
                        {"times", {whole(one.times_m), whole(one.times_n), whole(one.times_k)}},
                        {"pieces", {whole(one.pieces_m), whole(one.pieces_n), whole(one.pieces_k)}}});
  for (const PieceLayout& one : detail.pieces)
    pieces.push_back({{"variable", one.variable},
                      {"part", {whole(one.rows), whole(one.columns)}},
                      {"piece", {whole(one.piece_rows), whole(one.piece_columns)}},
                      {"bytes", one.piece.value.get()},
                      {"stride", one.stride.value.get()}});
  for (const Resident& one : detail.resident) resident[one.resource] = whole(one.blocks);
  for (const RegisterCap& one : detail.caps)
    caps.push_back({{"blocks", whole(one.blocks)},
                    {"warps", whole(one.warps)},
                    {"registers", whole(one.most)},
                    {"missing", whole(one.missing)}});
  for (const NodeShare& one : detail.shares)
    shares.push_back({{"first", whole(one.first)},
                      {"iterations", whole(one.iterations)},
                      {"block", whole(one.block)},
                      {"iteration", whole(one.iteration)},
                      {"blocks", whole(one.blocks)}});
  return {{"ahead", detail.ahead},
          {"unrolled", whole(detail.unrolled)},
          {"rounds", rounds},
          {"offsets", offsets},
          {"copies", copies_json(detail.copies)},
          {"products", products},
          {"pieces", pieces},
          {"resident", resident},
          {"register_caps", caps},
          {"shares", shares},
          {"meetings", meetings_json(detail.meetings)},
          {"staged", staged_json(detail.staged)}};
}

}  // namespace napkin::internal::report
