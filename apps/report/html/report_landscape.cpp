// The section of a report that shows the tiles around the chosen one, two knobs at a time.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

/// Upper ends of the shades, as fractions over the best time; the last shade has no end.
constexpr std::array<double, 6> shades = {0.01, 0.03, 0.06, 0.12, 0.25, 0.5};

constexpr std::size_t most_beside = 4;  // small landscapes beside the one with the widest spread

std::size_t shade_of(double slower) {
  return static_cast<std::size_t>(
      std::find_if(shades.begin(), shades.end(), [&](double most) { return slower <= most; }) - shades.begin());
}

double best_of(const LandscapeAnswer& map) {
  double best = std::numeric_limits<double>::infinity();
  for (const LandscapeCell& cell : map.cells) best = std::min(best, cell.time.value_or(best));
  return best;
}

/// Returns how far apart the pair's times are, as a fraction of the least.
double spread_of(const LandscapeAnswer& map) {
  double longest = 0;
  for (const LandscapeCell& cell : map.cells) longest = std::max(longest, cell.time.value_or(0));
  const double least = best_of(map);
  return longest > 0 ? longest / least - 1 : 0;
}

std::string value_of(const KnobValue& knob) {
  return html::text(knob.word.empty() ? std::to_string(knob.number) : knob.word);
}

std::string with_unit(const std::string& knob, const std::string& unit) {
  return html::text(knob) + (unit.empty() || unit == knob ? "" : " (" + html::text(unit) + ")");
}

std::string rule_line(const ReportAnswer& answer, const std::string& rule) {
  const auto at = answer.rules.find(rule);
  return at == answer.rules.end() ? "" : at->second;
}

std::string cell_of(const ReportAnswer& answer, const LandscapeCell& cell, double best) {
  const char* pick = cell.chosen ? " pick" : "";
  const std::string mark = cell.chosen ? "◆ " + html::spoken("this report's tile: ") : "";
  if (!cell.time)
    return fmt::format("<td class=\"none{}\" title=\"{}\">{}<small>{}</small></td>", pick,
                       html::text(rule_line(answer, cell.reason)), mark, html::text(cell.reason));
  const double slower = *cell.time / best - 1;
  return fmt::format("<td class=\"h{}{}\" title=\"{}: {}\">{}{}</td>", shade_of(slower), pick, html::time(*cell.time),
                     html::text(text_of(cell.tile)), mark,
                     slower < 5e-5 ? std::string("best") : html::percent(slower, slower < 0.0995 ? 1 : 0));
}

/// The rows or columns of a landscape with a legal tile, and the values of those without one.
struct Legal {
  std::vector<std::size_t> kept;
  std::string left;
};
Legal legal_of(const LandscapeAnswer& map, bool rows) {
  Legal out;
  const std::vector<KnobValue>& values = rows ? map.rows : map.columns;
  const std::size_t others = rows ? map.columns.size() : map.rows.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool kept = false;
    for (std::size_t o = 0; o < others; ++o) {
      const LandscapeCell& cell = rows ? map.at(i, o) : map.at(o, i);
      kept = kept || cell.time || cell.chosen;
    }
    if (kept)
      out.kept.push_back(i);
    else
      out.left += (out.left.empty() ? "" : ", ") + value_of(values[i]);
  }
  return out;
}

std::string left_out(const std::string& knob, const std::string& values) {
  return values.empty() ? "" : fmt::format("; no legal tile has {} of {}", html::text(knob), values);
}

std::string map_of(const ReportAnswer& answer, const LandscapeAnswer& map) {
  const double best = best_of(map);
  const Legal rows = legal_of(map, true), columns = legal_of(map, false);
  const std::string about =
      fmt::format("Best time by {} (down) and {} (across), over the fastest of them", map.down, map.across);
  std::string out = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n<table class=\"map\">\n<caption>"
      "<span>{0}: {1}{4}{5}</span></caption>\n<thead><tr><th scope=\"col\">{2} \\ {3}</th>",
      html::text(about), html::time(best), with_unit(map.down, map.down_unit), with_unit(map.across, map.across_unit),
      left_out(map.down, rows.left), left_out(map.across, columns.left));
  for (const std::size_t c : columns.kept) out += fmt::format("<th scope=\"col\">{}</th>", value_of(map.columns[c]));
  out += "</tr></thead>\n<tbody>\n";
  for (const std::size_t r : rows.kept) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", value_of(map.rows[r]));
    for (const std::size_t c : columns.kept) out += cell_of(answer, map.at(r, c), best);
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

std::string pair_of(const LandscapeAnswer& map) {
  return fmt::format("{} and {}", html::code(map.down), html::code(map.across));
}

std::string rejected_table(const ReportAnswer& answer) {
  const SelectAnswer& selected = answer.selected;
  html::Table table{fmt::format("Why tiles are not legal: of {} candidates {} are", count_text(selected.candidates),
                                count_text(selected.legal.value_or(0))),
                    {{"rule"}, {"tiles that it keeps out", true}, {"it says", false, true}},
                    {}};
  for (const auto& [rule, tiles] : selected.rejected)
    table.rows.push_back({html::text(rule), count_text(tiles), html::text(rule_line(answer, rule))});
  return table.rows.empty() ? "" : html::table(table);
}

}  // namespace

std::string landscape_section(const ReportAnswer& answer) {
  if (answer.landscapes.empty()) return "";
  std::string lead =
      "Two knobs at a time; every other knob takes the value that suits the two best. So a cell says what the pair can "
      "reach, not what one tile takes.";
  std::vector<const LandscapeAnswer*> maps;
  for (const LandscapeAnswer& map : answer.landscapes) maps.push_back(&map);
  std::stable_sort(maps.begin(), maps.end(),
                   [](const auto* a, const auto* b) { return spread_of(*a) > spread_of(*b); });
  std::string beside, further;
  for (std::size_t m = 1; m < maps.size(); ++m) {
    if (m <= most_beside)
      beside += map_of(answer, *maps[m]);
    else
      further += html::details(pair_of(*maps[m]), map_of(answer, *maps[m]));
  }
  return html::section("landscape", "The landscape of tiles", lead,
                       key() + "<div class=\"maps\">\n<div>\n" + map_of(answer, *maps.front()) + "</div>\n" +
                           (beside.empty() ? "" : "<div class=\"small\">\n" + beside + "</div>\n") + "</div>\n" +
                           further + rejected_table(answer));
}

}  // namespace napkin::internal::report
