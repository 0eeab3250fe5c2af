#include "apps/report/json/standing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/units.hpp"

namespace napkin::report {
namespace {

constexpr std::size_t most_named = 4;

/// "power.limit, clocks.maximum and 3 more"
std::string few_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > most_named ? text + fmt::format(" and {} more", names.size() - most_named) : text;
}

std::string band_text(const StandingAnswer& standing) {
  const std::string clock = standing.by_graph ? "the event graph's time" : "a bound";
  if (!standing.band)
    return clock + (standing.unsure.empty() ? "" : "; " + standing.unsure + ", so that no band is known");
  const Band& band = *standing.band;
  std::string text = fmt::format("{}; {} {} of {} are {:.1f} % from it in the mean", clock, count_text(band.rows),
                                 band.recorded ? "recorded times" : "published speeds", band.of, 100 * band.error);
  if (band.one_sided()) text += *band.bias > 0 ? ", nearly all slower" : ", nearly all faster";
  if (band.ninety) text += fmt::format(", nine of ten within {:.0f} %", 100 * *band.ninety);
  return standing.by_graph ? fmt::format("+-{:.1f} %, {}", 100 * band.error, text) : text;
}

/// What else a bound needs to be a prediction.
std::string wanted_text(const StandingAnswer& standing) {
  std::string text = standing.why;
  if (!standing.missing.empty()) text += (text.empty() ? "" : "; ") + ("the machine lacks " + few_of(standing.missing));
  return text.empty() ? "" : "no prediction: " + text;
}

}  // namespace

std::vector<std::string> basis_lines(const StandingAnswer& standing) {
  std::vector<std::string> lines;
  std::string basis = "the weakest numbers that matter are " + standing.basis;
  if (!standing.numbers.empty()) basis += ": " + few_of(standing.numbers);
  lines.push_back(basis);
  if (!standing.by_graph) lines.push_back(wanted_text(standing));
  if (!standing.left_out.empty()) lines.push_back("not known there, and left out: " + few_of(standing.left_out));
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  return lines;
}

std::vector<std::string> lines_of(const StandingAnswer& standing) {
  std::vector<std::string> lines = basis_lines(standing);
  lines.insert(lines.begin(), band_text(standing));
  return lines;
}

std::string cell_of(const std::optional<Band>& band) {
  return band ? fmt::format("+-{:.0f} %", 100 * band->error) : "none recorded";
}

std::string cell_of(const StandingAnswer& standing) {
  if (!standing.by_graph) return "a bound, " + standing.basis;
  return "event graph, " + standing.basis + (standing.band ? ", " + cell_of(standing.band) : ", no band");
}

Json json_of(const std::optional<Band>& band) {
  if (!band) return nullptr;
  return {{"error", json_of(band->error)}, {"ninety", json_of(band->ninety)},
          {"bias", json_of(band->bias)},   {"rows", band->rows},
          {"recorded", band->recorded},    {"of", band->of}};
}

Json json_of(const StandingAnswer& standing) {
  return {{"clock", standing.by_graph ? "event graph" : "bound"},
          {"basis", standing.basis},
          {"numbers", standing.numbers},
          {"missing", standing.missing},
          {"left_out", standing.left_out},
          {"why", standing.why.empty() ? Json(nullptr) : Json(standing.why)},
          {"band", json_of(standing.band)},
          {"unsure", standing.unsure.empty() ? Json(nullptr) : Json(standing.unsure)}};
}

}  // namespace napkin::report
