#include "apps/report/json/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/json/part.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::size_t most_named = 4;

/// Writes "power.limit, clocks.maximum and 3 more".
std::string few_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > most_named ? text + fmt::format(" and {} more", names.size() - most_named) : text;
}

/// Writes "such predictions were 9 % too fast in the mean, +-5 % around that".
std::string bias_text(const Band& band) {
  const double percent = 100 * band.bias();
  const std::string side = std::abs(percent) < 0.5
                               ? "right"
                               : fmt::format("{:.0f} % too {}", std::abs(percent), percent > 0 ? "fast" : "slow");
  return fmt::format("such predictions were {} in the mean, +-{:.0f} % around that", side, 100 * band.spread());
}

std::vector<std::string> band_lines(const StandingAnswer& standing, const std::string& range) {
  const std::string clock = standing.by_graph ? "the event graph's time" : "a bound";
  if (!standing.band)
    return {clock + (standing.unsure.empty() ? "" : "; " + standing.unsure + ", so that no band is known")};
  const Band& band = *standing.band;
  std::vector<std::string> lines{range + bias_text(band)};
  lines.push_back(fmt::format("by {} of {}", found_text(band), band.of));
  if (!band.wide.empty()) lines.push_back("a wide band: " + band.wide);
  return lines;
}

/// Lists what else a bound needs to be a prediction.
std::string wanted_text(const StandingAnswer& standing) {
  std::string text = standing.why;
  if (!standing.missing.empty()) text += (text.empty() ? "" : "; ") + ("the machine lacks " + few_of(standing.missing));
  return text.empty() ? "" : "no prediction: " + text;
}

}  // namespace

std::vector<std::string> basis_lines(const StandingAnswer& standing) {
  std::vector<std::string> lines;
  if (const auto& weakest = standing.weakest) {
    const std::string basis = "the weakest numbers that matter are " + weakest->basis;
    lines.push_back(weakest->numbers.empty() ? basis : basis + ": " + few_of(weakest->numbers));
  }
  if (!standing.by_graph) lines.push_back(wanted_text(standing));
  if (!standing.left_out.empty()) lines.push_back("not known there, and left out: " + few_of(standing.left_out));
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  return lines;
}

std::vector<std::string> lines_of(const StandingAnswer& standing) {
  std::vector<std::string> lines = basis_lines(standing);
  const std::vector<std::string> band = band_lines(standing, "");
  lines.insert(lines.begin(), band.begin(), band.end());
  return lines;
}

std::string range_text(const PredictedAnswer& predicted) {
  const auto likely = predicted.likely();
  if (!likely) return "";
  const std::string low = time_text(likely->low), high = time_text(likely->high);
  return likely->bounded ? fmt::format("at least {}, up to {}", low, high) : fmt::format("{} to {}", low, high);
}

std::string sure_text(const PredictedAnswer& predicted) {
  if (!predicted.standing) return "";
  const StandingAnswer& standing = *predicted.standing;
  if (!standing.by_graph) {
    const std::string wanted = wanted_text(standing);
    return wanted.empty() ? "a bound" : "a bound; " + wanted;
  }
  if (!standing.band) return band_lines(standing, "").front();
  const Band& band = *standing.band;
  return fmt::format("likely {}, by {} of {}{}", range_text(predicted), found_text(band), band.of,
                     band.wide.empty() ? "" : "; a wide band: " + band.wide);
}

std::vector<std::string> lines_of(const PredictedAnswer& predicted) {
  if (!predicted.standing) return {};
  const StandingAnswer& standing = *predicted.standing;
  const std::string range = range_text(predicted);
  std::vector<std::string> lines = band_lines(standing, range.empty() ? "" : "likely " + range + ": ");
  const std::vector<std::string> basis = basis_lines(standing);
  lines.insert(lines.end(), basis.begin(), basis.end());
  return lines;
}

std::string found_text(const Band& band) {
  return fmt::format("{} {}", count_text(band.rows), band.recorded ? "recorded times" : "published speeds");
}

std::string cell_of(const std::optional<Band>& band) {
  return band ? fmt::format("{:+.0f} to {:+.0f} %", 100 * (band->low - 1), 100 * (band->high - 1)) : "none recorded";
}

std::string cell_of(const StandingAnswer& standing) {
  const std::string basis = standing.weakest ? ", " + standing.weakest->basis : "";
  if (!standing.by_graph) return "a bound" + basis;
  return "event graph" + basis + (standing.band ? ", " + cell_of(standing.band) : ", no band");
}

Json json_of(const std::optional<Band>& band) { return band ? part_json(*band) : Json(nullptr); }

Json json_of(const StandingAnswer& standing) {
  return {{"clock", standing.by_graph ? "event graph" : "bound"},
          {"basis", standing.weakest ? Json(standing.weakest->basis) : Json(nullptr)},
          {"numbers", standing.weakest ? Json(standing.weakest->numbers) : Json::array()},
          {"missing", standing.missing},
          {"left_out", standing.left_out},
          {"why", standing.why.empty() ? Json(nullptr) : Json(standing.why)},
          {"band", json_of(standing.band)},
          {"unsure", standing.unsure.empty() ? Json(nullptr) : Json(standing.unsure)}};
}

}  // namespace napkin::internal::report
