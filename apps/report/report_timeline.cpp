// The sections of a report that show who works when, and which number of the machine matters how much.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/html.hpp"
#include "apps/report/report_parts.hpp"
#include "apps/report/text.hpp"
#include "apps/report/timeline.hpp"
#include "apps/report/timeline_lanes.hpp"
#include "apps/report/units.hpp"

namespace napkin::report {
namespace {

constexpr std::size_t bars_at_first = 12;
constexpr double least_effect_shown = 0.002;  // an elasticity; smaller ones are for napkin sensitivity --json

std::string busy_table(const PredictedAnswer& predicted) {
  auto pipes = predicted.pipes;
  std::stable_sort(pipes.begin(), pipes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  html::Table table{"How busy each pipe is over the whole call", {{"pipe"}, {"busy", true}, {""}}, {}};
  for (const auto& [name, busy] : pipes) {
    if (busy >= 0.005) table.rows.push_back({html::text(name), html::share(busy), html::bar(busy, "wide")});
  }
  return table.rows.empty() ? "" : html::table(table);
}

std::string chain_of(const std::vector<std::string>& nodes) {
  std::string out;
  for (const std::string& node : nodes) out += (out.empty() ? "" : " → ") + html::code(node);
  return out;
}

std::string iteration_words(const TimelineAnswer& timeline) {
  const Period& p = timeline.period;
  std::string out = fmt::format("An iteration takes <b>{} clocks</b>. The busiest pipe, {}, needs {} of them",
                                count_text(std::llround(p.clocks)), html::text(pipe_name(p.pipe)),
                                count_text(std::llround(p.pipe.clocks)));
  if (!p.cycle.nodes.empty())
    out += fmt::format("; the longest cycle of waits, the critical cycle, needs {}",
                       count_text(std::llround(p.cycle.clocks)));
  out += p.contention >= 0.5 ? fmt::format("; {} are lost where the block's agents meet on a pipe.",
                                           count_text(std::llround(p.contention)))
                             : ".";
  return out;
}

std::string block_words(const TimelineAnswer& timeline) {
  return html::paragraph(
      fmt::format("A block runs {:.1f} iterations on average and takes {} clocks, {} of them at its ends.",
                  timeline.block_iterations, count_text(std::llround(timeline.block.next)),
                  count_text(std::llround(timeline.ends.next))));
}

std::string today_text(const SensitivityRow& row) { return fmt::format("{:.5g} {}", row.value, row.unit); }

std::string then_text(const SensitivityRow& row) {
  if (!row.next_factor) return "nothing else";
  return fmt::format("{}, from ×{:.3g}", html::text(row.next_bound), *row.next_factor);
}

html::Table tornado(const SensitivityAnswer& answer, std::size_t from, std::size_t to, const std::string& caption) {
  html::Table table{caption,
                    {{"number"},
                     {"today", true},
                     {"basis"},
                     {"1 % more changes the time by", true},
                     {"faster | slower"},
                     {"twice as good", true},
                     {"what limits when it gets up to 16 times as good"}},
                    {}};
  const double largest = std::abs(answer.rows.front().elasticity);
  for (std::size_t i = from; i < to; ++i) {
    const SensitivityRow& row = answer.rows[i];
    table.rows.push_back({html::code(row.name), html::number(today_text(row)), html::text(row.basis),
                          html::percent(row.elasticity / 100, 3), html::diverging(row.elasticity / largest),
                          html::percent(row.if_better, 1), then_text(row)});
  }
  return table;
}

}  // namespace

std::string timeline_section(const ReportAnswer& answer) {
  const std::string busy = answer.query.predicted ? busy_table(*answer.query.predicted) : "";
  if (!answer.timeline) return busy.empty() ? "" : html::section("timeline", "Who works when", "", busy);
  const TimelineAnswer& timeline = *answer.timeline;
  std::string said = fmt::format("Timeline of the first {} iterations of a block, a lane for each pipe and each agent.",
                                 timeline.iterations);
  std::string body = html::figure(
      svg_of(timeline), said,
      "A bar is one run of an operation. An outline marks the critical cycle, which binds when no pipe is full.",
      "wide");
  if (!timeline.period.cycle.nodes.empty())
    body += html::paragraph("<b>Critical cycle:</b> " + chain_of(timeline.period.cycle.nodes) + ".");
  body += block_words(timeline);
  if (!timeline.timed)
    body +=
        "<p class=\"note\" role=\"note\">Nobody has timed this GPU's instructions: the picture has the datasheet's "
        "rates, and the predicted time goes by "
        "the fullest pipe instead.</p>\n";
  return html::section("timeline", "Who works when", iteration_words(timeline), body + busy);
}

std::string sensitivity_section(const ReportAnswer& answer) {
  if (!answer.sensitive || answer.sensitive->rows.empty()) return "";
  const SensitivityAnswer& sensitive = *answer.sensitive;
  const std::size_t all = static_cast<std::size_t>(
      std::count_if(sensitive.rows.begin(), sensitive.rows.end(),
                    [](const SensitivityRow& row) { return std::abs(row.elasticity) >= least_effect_shown; }));
  const std::size_t first = std::max<std::size_t>(std::min(all, bars_at_first), 1);
  std::string body =
      html::table(tornado(sensitive, 0, first, "The numbers that matter most, each changed while the clock ran again"));
  if (all > first)
    body += html::details(
        fmt::format("{} more numbers with less effect", all - first),
        html::table(tornado(sensitive, first, all, "Numbers with less effect, by the scale of the table above")));
  return html::section("sensitivity", "What would change it",
                       fmt::format("{} numbers of the machine and of the kernel were each changed a little, and the "
                                   "clock ran again. A plain bar to the left: more of it makes "
                                   "the kernel faster. A striped bar to the right: slower.",
                                   count_text(sensitive.numbers)),
                       body);
}

}  // namespace napkin::report
