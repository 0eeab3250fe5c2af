// The sections of a report that show the algorithm and what its tile moves and holds.

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/diagram/picture.hpp"
#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/pseudocode.hpp"

namespace napkin::internal::report {
namespace {

using html::number;

/// Returns the share of the whole time in which the route into a level is busy: its pipe's, as the answer has it, else
/// the share that its bytes take at the bandwidth of one reader.
std::optional<double> busy_of(const QueryAnswer& query, const LevelAnswer& level) {
  if (!query.predicted) return std::nullopt;
  const Vocabulary& terms = query.head.terms;
  for (const auto& [pipe, busy] : query.predicted->pipes) {
    if (terms.pipe(pipe) == terms.route(level.name)) return busy;
  }
  return level.time && query.predicted->time > 0 ? std::optional(*level.time / query.predicted->time) : std::nullopt;
}

std::string moved_table(const QueryAnswer& query) {
  html::Table table{"What crosses each route, all groups together",
                    {{"over"},
                     {"busy"},
                     {"loaded", true},
                     {"stored", true},
                     {"delivered", true},
                     {"groups", true},
                     {"a group", true},
                     {"bandwidth, read alone", true},
                     {"takes at that", true}},
                    {}};
  for (std::size_t l = 0; l < query.levels.size(); ++l) {
    const LevelAnswer& level = query.levels[l];
    if (hands_on(query.levels, l)) continue;
    const std::optional<double> busy = busy_of(query, level);
    table.rows.push_back({html::text(query.head.terms.route(level.name)),
                          busy ? html::bar(*busy) + html::share(*busy) : "", number(transfer_text(level.load)),
                          number(transfer_text(level.store)),
                          number(level.delivered ? transfer_text(*level.delivered) : "-"), count_text(level.groups),
                          number(transfer_text(level.transfer_per_group)),
                          level.bandwidth ? number(rate_text(*level.bandwidth)) : "not known",
                          level.time ? html::time(*level.time) : "not known"});
  }
  return html::table(table);
}

std::string held_table(const QueryAnswer& query) {
  html::Table table{"What a level holds at once, against what there is",
                    {{"level"},
                     {"allocated of what there is"},
                     {"allocated", true},
                     {"there is", true},
                     {"live", true},
                     {"as drawn", true}},
                    {}};
  for (const LevelAnswer& level : query.levels) {
    if (level.memory == 0 && level.memory_live == 0) continue;
    const double part = level.memory_limit && *level.memory_limit > 0
                            ? static_cast<double>(level.memory) / static_cast<double>(*level.memory_limit)
                            : 0;
    table.rows.push_back({html::text(level.name),
                          level.memory_limit ? html::bar(part) + html::share(part) + (part > 1 ? " too much" : "") : "",
                          number(memory_text(level.memory)),
                          level.memory_limit ? number(memory_text(*level.memory_limit)) : "no limit",
                          number(memory_text(level.memory_live)), number(memory_text(level.memory_lower_bound))});
  }
  return table.rows.empty() ? "" : html::table(table);
}

std::string formulas_of(const QueryAnswer& query) {
  const FormulaAnswer& formula = query.formula;
  if (formula.transfer.empty()) return "";
  std::string out =
      "<h3>As formulas</h3>\n" +
      html::paragraph("Of the lowest staged level, in axis names: g for a group's size, s for a chunk's.") +
      "<pre>H = " + html::text(formula.transfer) + "\nM = " + html::text(formula.memory) + "</pre>\n";
  const std::optional<OptimumAnswer>& optimum = query.optimum;
  if (!optimum) return out;
  const auto whole = [](double bytes) { return number(transfer_text(static_cast<std::int64_t>(bytes))); };
  out += html::paragraph(
      fmt::format("{} that any tile could move with that memory is {} {} bytes.",
                  query.head.mask.kind == Mask::Kind::none ? "The least" : "Without the mask, the least",
                  whole(optimum->transfer), html::code((optimum->exact ? "= " : ">= ") + optimum->formula)));
  return out;
}

std::string combined(const QueryAnswer& query) {
  return query.combine ? html::paragraph("Results in parts: " + html::text(combine_text(*query.combine)) + ".") : "";
}

}  // namespace

std::string diagram_section(const ReportAnswer& answer, const ColumnDiagram& columns) {
  const Streamed& streamed = answer.streamed;
  std::string operations;
  for (std::size_t i = 0; i < streamed.diagram.operations.size(); ++i)
    operations += (operations.empty() ? "" : "; ") + print_operation(streamed.diagram, static_cast<int>(i));
  return html::section(
      "diagram", "The algorithm, as the kernel streams it",
      "An array is a bundle of lines, one for each axis, and its colour the level where it lies. A change of colour is "
      "a "
      "transfer, with the bytes of all groups below it. A box covers the lines that it consumes.",
      html::picture(svg_of(drawing_of(columns)), "Diagram of the operations: " + operations,
                    "Time runs to the right; the brackets hold the loop. g_ marks a group's size, s_ a chunk's; below "
                    "each column stands what the levels hold there.") +
          html::details("The program of one group, as pseudocode",
                        "<pre>" + html::text(print_pseudocode(streamed)) + "</pre>\n"));
}

std::string levels_section(const ReportAnswer& answer) {
  const QueryAnswer& query = answer.query;
  if (query.levels.empty()) return "";
  return html::section(
      "levels", "What it moves and holds",
      "A group is what one block computes. <b>Delivered</b> is what the receiver's counter sees of the loads, padding "
      "and repeats included. <b>Busy</b> is the route's share of the whole time: nodes that read the same bytes "
      "together are served faster than one alone.",
      moved_table(query) +
          html::paragraph(
              "<b>As drawn</b> is the rule of the diagram, <b>live</b> all that is still needed, and <b>allocated</b> "
              "the kernel's buffers with copies and alignment.") +
          held_table(query) + combined(query) + formulas_of(query));
}

}  // namespace napkin::internal::report
