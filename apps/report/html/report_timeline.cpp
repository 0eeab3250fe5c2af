// The sections of a report that show who works when, and which number of the machine matters how much.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/text/sensitivity.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/timeline.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::size_t bars_at_first = 10;
constexpr double least_effect_shown = 0.002;  // an elasticity; smaller ones are for napkin sensitivity --json

std::string busy_table(const ReportAnswer& answer) {
  constexpr double least_shown = 0.01;
  auto pipes = answer.query.predicted->pipes;
  if (answer.timeline) {
    const auto engines = engines_of(*answer.timeline);
    pipes.insert(pipes.end(), engines.begin(), engines.end());
  }
  std::stable_sort(pipes.begin(), pipes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  html::Table table{"How busy each pipe is over the whole call", {{"pipe"}, {"busy", true}, {""}}, {}};
  for (const auto& [name, busy] : pipes) {
    if (busy >= least_shown)
      table.rows.push_back({pipe_term(answer, name), html::share(busy), html::bar(busy, "wide")});
  }
  return table.rows.empty() ? "" : "<div class=\"pipes\">\n" + html::table(table) + "</div>\n";
}

/// Lists the steps of the longest chain of waits, each with its explanation: "P.exp[0]" is the first instance of
/// "P.exp".
std::string chain_of(const ReportAnswer& answer, const std::vector<std::string>& nodes) {
  std::string out;
  for (const std::string& node : nodes)
    out +=
        (out.empty() ? "" : " → ") + html::explained(html::code(node), about(answer, node.substr(0, node.find('['))));
  return out;
}

std::string block_words(const TimelineAnswer& timeline) {
  return fmt::format("A block runs {:.1f} iterations on average and takes {} clocks, {} of them at its ends.",
                     timeline.block_iterations, count_text(std::llround(timeline.block.next)),
                     count_text(std::llround(timeline.ends.next)));
}

std::string then_text(const ReportAnswer& answer, const SensitivityRow& row) {
  if (!row.next_factor) return "nothing else";
  return fmt::format("{}, from ×{:.3g}", pipe_term(answer, row.next_bound), *row.next_factor);
}

html::Table tornado(const ReportAnswer& answer, std::size_t from, std::size_t to, const std::string& caption) {
  html::Table table{caption,
                    {{"number"},
                     {"1 % more changes the time by", true},
                     {"faster | slower"},
                     {"twice as good", true},
                     {"today", true},
                     {"basis"},
                     {"what limits when it gets up to 16 times as good"}},
                    {}};
  const std::vector<SensitivityRow>& rows = answer.sensitive->rows;
  const double largest = std::abs(rows.front().elasticity);
  for (std::size_t i = from; i < to; ++i) {
    const SensitivityRow& row = rows[i];
    table.rows.push_back({term(answer, row.name), html::percent(row.elasticity / 100, 3),
                          html::diverging(row.elasticity / largest), html::percent(row.if_better, 1),
                          html::number(value_text(row)), html::text(row.basis), then_text(answer, row)});
  }
  return table;
}

}  // namespace

std::string timeline_part(const ReportAnswer& answer) {
  const std::string busy = answer.query.predicted ? busy_table(answer) : "";
  if (!answer.timeline) return busy;
  const TimelineAnswer& timeline = *answer.timeline;
  constexpr TimelinePicture beside_text{860, false};
  std::string caption = "A bar is one run of an operation, coloured by the stage that it belongs to. ";
  if (!timeline.period.cycle.nodes.empty())
    caption += "The longest chain of waits: " + chain_of(answer, timeline.period.cycle.nodes) + ". ";
  std::string out = fmt::format("<h3>The first {} iterations of a block</h3>\n", timeline.iterations);
  out +=
      html::figure(svg_of(timeline, beside_text),
                   fmt::format("Timeline of the first {} iterations of a block, a lane for each pipe and each agent.",
                               timeline.iterations),
                   caption + block_words(timeline), "wide");
  if (!timeline.timed)
    out +=
        "<p class=\"note\" role=\"note\">Nobody has timed this GPU's instructions: the picture has the datasheet's "
        "rates, and the predicted time goes by the fullest pipe instead.</p>\n";
  return out + busy;
}

std::string sensitivity_section(const ReportAnswer& answer) {
  if (!answer.sensitive || answer.sensitive->rows.empty()) return "";
  const SensitivityAnswer& sensitive = *answer.sensitive;
  const std::size_t all = static_cast<std::size_t>(
      std::count_if(sensitive.rows.begin(), sensitive.rows.end(),
                    [](const SensitivityRow& row) { return std::abs(row.elasticity) >= least_effect_shown; }));
  const std::size_t first = std::max<std::size_t>(std::min(all, bars_at_first), 1);
  std::string body =
      html::table(tornado(answer, 0, first, "The numbers that matter most, each changed while the clock ran again"));
  if (all > first)
    body += html::details(
        fmt::format("{} more numbers with less effect", all - first),
        html::table(tornado(answer, first, all, "Numbers with less effect, by the scale of the table above")));
  return html::section("sensitivity", "What would change it",
                       fmt::format("{} numbers of the machine and of the kernel were each changed a little, and the "
                                   "clock ran again. A plain bar to the left: more of it makes "
                                   "the kernel faster. A striped bar to the right: slower.",
                                   count_text(sensitive.numbers)),
                       body);
}

}  // namespace napkin::internal::report
