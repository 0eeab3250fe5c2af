#include "apps/report/text/need.hpp"

#include <fmt/format.h>

#include "apps/report/text/brief.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

/// Writes the target: "600.0 us", "700.0 TFLOP/s", "0.4 J".
std::string goal_text(const NeedAnswer& answer, double value) {
  if (answer.goal == "time") return time_text(value);
  if (answer.goal == "flops") return tflops_text(1e-12 * value);
  return fmt::format("{:.4g} J", value);
}

std::string with_unit(double value, const std::string& unit) {
  if (unit == "B") return memory_text(static_cast<std::int64_t>(value));
  return fmt::format("{:.5g} {}", value, unit);
}

/// Writes "at least 930 W".
std::string amount_needed(const NeedRow& row) {
  if (!row.reached) return "not reached";
  return (row.upward ? "at least " : "at most ") + with_unit(row.needed, row.unit);
}

/// Writes the values with which single numbers reach the target: "power.limit at least 874.63 W (x1.25), or ...".
std::string reaching_text(const NeedAnswer& answer) {
  constexpr std::size_t most = 3;
  std::string out;
  std::size_t reached = 0;
  for (const NeedRow& row : answer.rows) {
    if (!row.reached || ++reached > most) continue;
    out += fmt::format("{}{} {} (x{:.3g})", out.empty() ? "" : ", or ", row.name, amount_needed(row),
                       row.needed / row.value);
  }
  if (reached > most) out += fmt::format(", or {} others", reached - most);
  return out.empty() ? "no number alone reaches it" : out;
}

std::string rows_table(const NeedAnswer& answer, const Style& style) {
  Table table({"<number", "today", "<needed", "times", "<then limits", "then", "<note"});
  for (const NeedRow& row : answer.rows) {
    table.add({row.name, with_unit(row.value, row.unit), amount_needed(row),
               row.reached ? fmt::format("x{:.3g}", row.needed / row.value) : "", answer.head.terms.pipe(row.bound),
               row.got > 0 ? goal_text(answer, row.got) : "", row.why});
  }
  return table.text(style, "  ");
}

std::string line_table(const NeedAnswer& answer, const Style& style) {
  const NeedLine& line = *answer.line;
  Table table({"with " + line.along, "<" + line.name, "<then limits", "<note"});
  for (const NeedLine::Point& point : line.points)
    table.add({with_unit(point.along, line.along_unit), amount_needed(point.row),
               answer.head.terms.pipe(point.row.bound), point.row.why});
  return table.text(style, "  ");
}

Json row_json(const NeedRow& row) {
  return {{"name", row.name},
          {"unit", row.unit},
          {"value", json_of(row.value)},
          {"reached", row.reached},
          {"needed", row.reached ? json_of(row.needed) : Json(nullptr)},
          {"upward", row.upward},
          {"got", row.got > 0 ? json_of(row.got) : Json(nullptr)},
          {"bound", row.bound},
          {"why", row.why}};
}

}  // namespace

std::string text_of(const NeedAnswer& answer, const Style& style) {
  std::string out = asked_line(answer.head, style);
  const std::string way = answer.goal == "flops" ? "at least " : "at most ";
  out += labelled("target", way + goal_text(answer, answer.target), style);
  out +=
      labelled("today",
               fmt::format("{}, limited by {}: {}", goal_text(answer, answer.today),
                           limit_of(answer.head, answer.predicted), answer.met ? "it is reached" : "it is not reached"),
               style);
  out += labelled("needed", reaching_text(answer), style);
  const std::optional<PredictedAnswer> none;
  out += kernel_line({answer.head, none, {}, {}, {}}, style);
  out += labelled("alone",
                  "each number by itself, tiles chosen anew, from a sixteenth to sixteen times today's; those that "
                  "change nothing are left out",
                  style);
  out += "\n" + rows_table(answer, style);
  if (answer.line) out += "\n" + line_table(answer, style);
  return out;
}

Json json_of(const NeedAnswer& answer) {
  Json json = json_of(answer.head, "need");
  json["predicted"] = json_of(answer.predicted);
  json["goal"] = answer.goal;
  json["target"] = json_of(answer.target);
  json["today"] = json_of(answer.today);
  json["met"] = answer.met;
  Json rows = Json::array();
  for (const NeedRow& row : answer.rows) rows.push_back(row_json(row));
  json["needs"] = rows;
  json["line"] = nullptr;
  if (!answer.line) return json;
  Json points = Json::array();
  for (const NeedLine::Point& point : answer.line->points)
    points.push_back({{"along", json_of(point.along)}, {"need", row_json(point.row)}});
  json["line"] = {{"name", answer.line->name},
                  {"unit", answer.line->unit},
                  {"along", answer.line->along},
                  {"along_unit", answer.line->along_unit},
                  {"points", points}};
  return json;
}

}  // namespace napkin::internal::report
