#include "apps/report/text/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/escaped.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr int tornado_width = 980, tornado_names = 330, tornado_right = 210, tornado_row = 24, tornado_top = 84;
constexpr std::size_t most_shown = 10;  // rows of the text and of the picture; --explain has all

constexpr double least_shown = 0.002;  // an elasticity; smaller ones are in the JSON

bool worth_showing(const SensitivityRow& row) { return std::abs(row.elasticity) >= least_shown; }

/// Writes "-4.8 %".
std::string change_text(double fraction) { return fmt::format("{:+.2g} %", 100 * fraction); }

std::string better_text(const SensitivityRow& row) { return row.more_is_better ? "twice" : "half"; }

/// Writes "x1.31: critical cycle".
std::string next_text(const Vocabulary& terms, const SensitivityRow& row) {
  if (!row.next_factor) return "";
  const double factor = row.more_is_better ? *row.next_factor : 1 / *row.next_factor;
  return fmt::format("x{:.3g}: {}", factor, terms.pipe(row.next_bound));
}

std::string bar_of(const Vocabulary& terms, const SensitivityRow& row, double scale, int y) {
  const int zero = tornado_names + (tornado_width - tornado_names - tornado_right) / 2;
  const double length = std::abs(row.elasticity) * scale;
  const double x = row.elasticity < 0 ? zero - length : zero;
  const bool fitted = row.basis == "fitted";
  std::string out =
      fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n", tornado_names - 12, y + 15, escaped(row.name));
  out += fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"{}><title>{}</title></rect>\n",
      row.elasticity < 0 ? "faster" : "slower", x, y + 3, std::max(length, 1.0), tornado_row - 8,
      fitted ? " fill-opacity=\"0.5\"" : "", escaped(value_text(row) + ", " + row.basis));
  const bool left = row.elasticity < 0;
  out += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{}\">{:+.3f}</text>\n", left ? "left" : "right",
                     left ? x - 5 : x + length + 5, y + 15, row.elasticity);
  const std::string next = next_text(terms, row);
  if (!next.empty())
    out += fmt::format("<text class=\"next\" x=\"{}\" y=\"{}\">{}</text>\n", tornado_width - tornado_right + 30, y + 15,
                       escaped(next));
  return out;
}

constexpr std::string_view tornado_style = R"(<style>
text { font: 13px sans-serif; fill: #222 } .title { font-size: 16px; font-weight: bold } .faint, .next { font-size: 12px; fill: #555 }
.name, .left { text-anchor: end } .left, .right { font-size: 11px; fill: #444 }
.faster { fill: #2a6fbb } .slower { fill: #c4622d } .axis { stroke: #444; stroke-width: 1 }
</style>
)";

std::string head_of_chart(const SensitivityAnswer& answer, int height) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      tornado_width, height, tornado_style);
  out += fmt::format("<text class=\"title\" x=\"16\" y=\"28\">{}</text>\n",
                     escaped(fmt::format("{} of {} on {}: {}, limited by {}", answer.head.kernel.value_or("ideal"),
                                         answer.head.algorithm, answer.head.gpu.value_or(""),
                                         time_text(answer.predicted.time), limit_of(answer.head, answer.predicted))));
  out +=
      "<text class=\"faint\" x=\"16\" y=\"50\">d ln time / d ln number: -0.5 means that 1 % more makes the kernel "
      "0.5 % faster; pale: a fitted number</text>\n";
  out +=
      fmt::format("<text class=\"faint\" x=\"{}\" y=\"72\">then limits</text>\n", tornado_width - tornado_right + 30);
  return out;
}

std::string text_with(const SensitivityAnswer& answer, std::size_t most, const Style& style) {
  std::string out = heading(answer.head, style);
  out += labelled(
      "takes",
      fmt::format("{}, limited by {}", time_text(answer.predicted.time), limit_of(answer.head, answer.predicted)),
      style);
  out += labelled("tried",
                  fmt::format("{} numbers, each by running the clock again; {} have an effect", answer.numbers,
                              answer.rows.size()),
                  style) +
         "\n";
  Table table({"<number", "value", "<basis", "d ln time", "<better by 2", "change", "<then limits"});
  std::size_t shown = 0, left = 0;
  for (const SensitivityRow& row : answer.rows) {
    if (!worth_showing(row)) continue;
    if (shown == most) {
      ++left;
      continue;
    }
    ++shown;
    table.add({row.name, value_text(row), row.basis, fmt::format("{:+.3f}", row.elasticity), better_text(row),
               change_text(row.if_better), next_text(answer.head.terms, row)});
  }
  out += table.text(style, "  ");
  return left == 0 ? out : out + style.faint(fmt::format("({} more, with less effect: --explain)", left)) + "\n";
}

}  // namespace

std::string value_text(const SensitivityRow& row) {
  const std::string value = fmt::format("{:.5g}", row.value);
  if (row.unit.empty() || row.unit == "1") return value;  // a plain number
  const bool one_of_many = row.value == 1 && row.unit.size() > 2 && row.unit.ends_with('s');
  return value + " " + (one_of_many ? row.unit.substr(0, row.unit.size() - 1) : row.unit);
}

std::string text_of(const SensitivityAnswer& answer, const Style& style) {
  return text_with(answer, most_shown, style);
}

std::string explained(const SensitivityAnswer& answer, const Style& style) {
  return text_with(answer, answer.rows.size(), style);
}

Json json_of(const SensitivityAnswer& answer) {
  Json json = json_of(answer.head, "sensitivity");
  json["predicted"] = json_of(answer.predicted);
  json["numbers"] = answer.numbers;
  Json rows = Json::array();
  for (const SensitivityRow& row : answer.rows) {
    Json next = nullptr;
    if (row.next_factor) next = {{"factor", json_of(*row.next_factor)}, {"bound", row.next_bound}};
    rows.push_back({{"name", row.name},
                    {"of", row.mapping ? "mapping" : "machine"},
                    {"value", json_of(row.value)},
                    {"unit", row.unit},
                    {"basis", row.basis},
                    {"elasticity", json_of(row.elasticity)},
                    {"if_twice_as_good", json_of(row.if_better)},
                    {"next", next}});
  }
  json["sensitivities"] = rows;
  return json;
}

std::string svg_of(const SensitivityAnswer& answer) {
  const auto visible = std::count_if(answer.rows.begin(), answer.rows.end(), worth_showing);
  const std::size_t bars = std::min(static_cast<std::size_t>(visible), most_shown);
  const int height = tornado_top + static_cast<int>(bars) * tornado_row + 24;
  std::string out = head_of_chart(answer, height);
  const double largest = bars == 0 ? 1 : std::abs(answer.rows.front().elasticity);
  const double scale = ((tornado_width - tornado_names - tornado_right) / 2.0 - 48) / largest;
  int y = tornado_top;
  for (std::size_t i = 0; i < bars; ++i, y += tornado_row) out += bar_of(answer.head.terms, answer.rows[i], scale, y);
  const int zero = tornado_names + (tornado_width - tornado_names - tornado_right) / 2;
  out +=
      fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", zero, tornado_top - 4, y + 4);
  return out + "</svg>\n";
}

}  // namespace napkin::internal::report
