// The section of a report that shows the tiles around the chosen one, two knobs at a time.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "apps/report/html.hpp"
#include "apps/report/report_parts.hpp"
#include "apps/report/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::report {
namespace {

/// Upper ends of the shades, as fractions over the best time; the last shade has no end.
constexpr std::array<double, 6> shades = {0.01, 0.03, 0.06, 0.12, 0.25, 0.5};

std::size_t shade_of(double slower) {
  return static_cast<std::size_t>(
      std::find_if(shades.begin(), shades.end(), [&](double most) { return slower <= most; }) - shades.begin());
}

double best_of(const LandscapeAnswer& map) {
  double best = std::numeric_limits<double>::infinity();
  for (const LandscapeCell& cell : map.cells) best = std::min(best, cell.time.value_or(best));
  return best;
}

std::string value_of(const KnobValue& knob) {
  return html::text(knob.word.empty() ? std::to_string(knob.number) : knob.word);
}

std::string with_unit(const std::string& knob, const std::string& unit) {
  return html::text(knob) + (unit.empty() || unit == knob ? "" : " (" + html::text(unit) + ")");
}

std::string cell_of(const LandscapeCell& cell, double best) {
  const char* pick = cell.chosen ? " pick" : "";
  const std::string mark = cell.chosen ? "◆ " + html::spoken("this report's tile: ") : "";
  if (!cell.time)
    return fmt::format("<td class=\"none{}\">{}<small>{}</small></td>", pick, mark, html::text(cell.reason));
  const double slower = *cell.time / best - 1;
  return fmt::format("<td class=\"h{}{}\" title=\"{}: {}\">{}{}</td>", shade_of(slower), pick, html::time(*cell.time),
                     html::text(text_of(cell.tile)), mark,
                     slower < 5e-5 ? std::string("best") : html::percent(slower, slower < 0.0995 ? 1 : 0));
}

std::string map_of(const LandscapeAnswer& map) {
  const double best = best_of(map);
  const std::string about =
      fmt::format("Best time by {} (down) and {} (across), over the fastest of them", map.down, map.across);
  std::string out = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n<table class=\"map\">\n<caption>{0}: "
      "{1}</caption>\n<thead><tr><th "
      "scope=\"col\">{2} \\ {3}</th>",
      html::text(about), html::time(best), with_unit(map.down, map.down_unit), with_unit(map.across, map.across_unit));
  for (const KnobValue& value : map.columns) out += fmt::format("<th scope=\"col\">{}</th>", value_of(value));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", value_of(map.rows[r]));
    for (std::size_t c = 0; c < map.columns.size(); ++c) out += cell_of(map.at(r, c), best);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string key() {
  std::string out = "<ul class=\"key\" aria-label=\"Shades\">\n";
  for (std::size_t s = 0; s <= shades.size(); ++s)
    out += fmt::format("<li><i class=\"h{}\"></i>{}</li>\n", s,
                       s < shades.size() ? fmt::format("up to {:g} % slower", 100 * shades[s]) : std::string("more"));
  return out +
         "<li><i class=\"none\"></i>no legal tile, and the rule that keeps most of them out</li>\n<li>◆ this report's "
         "tile</li>\n</ul>\n";
}

std::string rejected_table(const SelectAnswer& selected) {
  html::Table table{fmt::format("Why tiles are not legal: of {} candidates {} are", count_text(selected.candidates),
                                count_text(selected.legal)),
                    {{"rule"}, {"tiles that it keeps out", true}},
                    {}};
  for (const auto& [rule, tiles] : selected.rejected.get()) table.rows.push_back({html::text(rule), count_text(tiles)});
  return table.rows.empty() ? "" : html::table(table);
}

}  // namespace

std::string landscape_section(const ReportAnswer& answer) {
  if (answer.landscapes.empty()) return "";
  std::string lead =
      "Two knobs at a time; every other knob takes the value that suits the two best. So a cell says what the pair can "
      "reach, not what one tile takes.";
  std::string body = key();
  for (const LandscapeAnswer& map : answer.landscapes)
    body += html::details(fmt::format("{} and {}", html::code(map.down), html::code(map.across)), map_of(map),
                          &map == answer.landscapes.data(), "knobs");
  return html::section("landscape", "The landscape of tiles", lead, body + rejected_table(answer.selected));
}

}  // namespace napkin::report
