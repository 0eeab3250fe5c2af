#include "apps/report/json/laws.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "apps/report/units.hpp"
#include "model/base/dtype.hpp"

namespace napkin::internal::report {

namespace {

/// Converts a number that is known where another is positive.
Json known(double positive, double number) { return positive > 0 ? json_of(number) : Json(nullptr); }

/// Writes a fraction as its inverse: "1/590".
std::string inverse_text(double fraction) { return fmt::format("1/{:.4g}", 1 / fraction); }

Json levels_json(const Laws& laws, double value_bytes) {
  Json levels = Json::array();
  for (const LevelLaw& level : laws.levels) {
    Json factors = Json::array();
    for (const auto& [beta, factor] : level.factors)
      factors.push_back({{"beta", json_of(beta)}, {"factor", json_of(factor)}});
    levels.push_back({{"name", level.name},
                      {"memory", json_of(level.memory)},
                      {"transfer", json_of(level.transfer)},
                      {"time", json_of(level.time)},
                      {"needed_bandwidth", level.needed > 0 ? json_of(level.needed) : Json(nullptr)},
                      {"values_per_second", json_of(level.rate / value_bytes)},
                      {"values_per_flop", known(laws.operations, level.transfer / value_bytes / laws.operations)},
                      {"energy", known(level.energy, level.energy)},
                      {"factors", factors}});
  }
  return levels;
}

}  // namespace

double value_bytes_of(const Head& head) { return bytes_per_value(parse_dtype(head.dtype, "dtype")); }

std::optional<double> weighted_of(const Laws& laws, const std::vector<LevelAnswer>& tile) {
  double sum = 0;
  for (const LevelLaw& law : laws.levels) {
    const auto level = std::find_if(tile.begin(), tile.end(), [&](const LevelAnswer& l) { return l.name == law.name; });
    if (level == tile.end() || !(law.transfer > 0)) return std::nullopt;
    sum += static_cast<double>(level->transfer) * law.time / law.transfer;
  }
  return laws.levels.empty() ? std::nullopt : std::optional(sum);
}

Json json_of(const Laws& laws, const std::vector<LevelAnswer>& tile, double value_bytes) {
  Json json = {{"levels", levels_json(laws, value_bytes)},
               {"bound", laws.bound},
               {"weighted", json_of(laws.weighted)},
               {"tile_weighted", nullptr},
               {"computing", laws.computing > 0 ? json_of(laws.computing) : Json(nullptr)},
               {"flops_per_second", known(laws.computing, laws.operations / laws.computing)},
               {"computing_energy", known(laws.computing_energy, laws.computing_energy)},
               {"crossings", Json::array()},
               {"clusters", Json::array()},
               {"minima", Json::array()},
               {"caching", nullptr}};
  if (const auto sum = weighted_of(laws, tile)) json["tile_weighted"] = json_of(*sum);
  for (const CrossLaw& cross : laws.crossings) {
    json["crossings"].push_back({{"level", cross.level},
                                 {"nodes", cross.nodes},
                                 {"above", json_of(cross.above)},
                                 {"between", json_of(cross.between)},
                                 {"time", json_of(cross.time)},
                                 {"weighted", json_of(cross.weighted)}});
  }
  for (const ClusterLaw& cluster : laws.clusters) {
    Json savings = Json::array();
    for (const auto& [size, saving] : cluster.savings) savings.push_back({{"size", size}, {"time", json_of(saving)}});
    json["clusters"].push_back(
        {{"from", cluster.from}, {"measured", cluster.measured}, {"size", cluster.size}, {"savings", savings}});
  }
  for (const MinimaLaw& minima : laws.minima) {
    Json least = Json::object();
    for (const auto& [name, value] : minima.least) least[name] = json_of(value);
    json["minima"].push_back({{"level", minima.level}, {"least", least}});
  }
  if (laws.caching) {
    json["caching"] = {
        {"level", laws.caching->level}, {"factors", laws.caching->factors}, {"ratio", json_of(laws.caching->ratio)}};
  }
  return json;
}

std::string least_text(const Laws& laws, const Vocabulary& terms) {
  std::string text;
  for (const LevelLaw& level : laws.levels) {
    text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", terms.route(level.name),
                        transfer_text(static_cast<std::int64_t>(level.transfer)), time_text(level.time));
  }
  return text + "; the slowest is " + terms.route(laws.bound);
}

std::string_view text_of_pairs(const Mask& mask) { return mask.kind == Mask::Kind::none ? "" : ", of all pairs"; }

std::string weighted_text(const Laws& laws, const Mask& mask, const std::vector<LevelAnswer>& tile) {
  const bool caches = laws.levels.size() > 1;
  std::string text = time_text(laws.weighted) + " at least" + (caches ? " where caches hold what their nodes do" : "") +
                     std::string(text_of_pairs(mask));
  if (mask.kind != Mask::Kind::none) return text;  // the tile's bytes are of fewer pairs
  if (const auto sum = weighted_of(laws, tile))
    text += "; this tile " + time_text(*sum) + (caches ? ", with caches that hold all" : "");
  return text;
}

std::string crossings_text(const Laws& laws) {
  std::string text;
  for (const CrossLaw& cross : laws.crossings) {
    text += fmt::format("{}in clusters of {} {}", text.empty() ? "" : ", ", cross.nodes, time_text(cross.weighted));
  }
  if (text.empty()) return text;
  const auto least = std::min_element(laws.crossings.begin(), laws.crossings.end(),
                                      [](const auto& a, const auto& b) { return a.weighted < b.weighted; });
  if (least->weighted >= laws.weighted) return text + ": none gains";
  return text + fmt::format(": of {} {} come from above and {} pass between them", least->nodes,
                            transfer_text(static_cast<std::int64_t>(least->above)),
                            transfer_text(static_cast<std::int64_t>(least->between)));
}

std::string needed_text(const Laws& laws, const Vocabulary& terms) {
  if (!(laws.computing > 0)) return "";
  std::string text;
  for (const LevelLaw& level : laws.levels)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", terms.route(level.name), rate_text(level.needed));
  return text + "; computing takes " + time_text(laws.computing) + " at their peak";
}

std::string ratios_text(const Laws& laws, double value_bytes) {
  if (!(laws.computing > 0)) return "";
  std::string text;
  for (const LevelLaw& level : laws.levels) {
    const double values = level.rate / value_bytes;
    text += fmt::format("{}{} {} of at most {} ({:.3g} values/s)", text.empty() ? "" : "; ", level.name,
                        inverse_text(level.transfer / value_bytes / laws.operations),
                        inverse_text(values * laws.computing / laws.operations), values);
  }
  return text;
}

std::string energy_sum_text(const Laws& laws) {
  std::string text;
  double sum = laws.computing_energy;
  const auto add = [&](const std::string& name, double joules) {
    if (joules > 0) text += fmt::format("{}{} {:.3g} mJ", text.empty() ? "" : ", ", name, 1e3 * joules);
  };
  for (const LevelLaw& level : laws.levels) {
    add(level.name, level.energy);
    sum += level.energy;
  }
  if (text.empty()) return text;
  add("computing", laws.computing_energy);
  return fmt::format("{:.3g} mJ at least, with energies as weights: {}", 1e3 * sum, text);
}

std::string minima_text(const Laws& laws, const Vocabulary& terms) {
  std::string text;
  for (const MinimaLaw& law : laws.minima) {
    std::string least;
    for (const auto& [name, value] : law.least) {
      const bool bytes = name.ends_with("bytes");
      least += fmt::format("{}{} >= {}", least.empty() ? "" : ", ", bytes ? "M" : name,
                           bytes ? memory_text(static_cast<std::int64_t>(value)) + " of f32 accumulators"
                                 : number_text(std::ceil(value)));
    }
    text += fmt::format("{}over {}: {}", text.empty() ? "" : "; ", terms.route(law.level), least);
  }
  return text;
}

std::string factors_text(const Laws& laws) {
  std::string text;
  if (laws.levels.empty()) return text;
  for (std::size_t term = 0; term < laws.levels.front().factors.size(); ++term) {
    double sum = 0;
    for (const LevelLaw& level : laws.levels) sum += level.factors[term].second;
    text += fmt::format("{}w M^-{:.3g}: ", text.empty() ? "" : "; ", laws.levels.front().factors[term].first);
    for (const LevelLaw& level : laws.levels)
      text += fmt::format("{}{} {}", &level == laws.levels.data() ? "" : ", ", level.name,
                          percent_text(level.factors[term].second / sum));
  }
  return text;
}

std::string cluster_text(const Laws& laws) {
  const std::string feeding = laws.clusters.empty() ? "" : laws.clusters.back().from;
  std::string text;
  for (const ClusterLaw& law : laws.clusters) {
    std::string savings;
    for (const auto& [size, saving] : law.savings) {
      savings += fmt::format("{}{} {} {}", savings.empty() ? "" : ", ", size, saving < 0 ? "costs" : "saves",
                             time_text(std::abs(saving)));
    }
    text += fmt::format("{}fed from {}{} ({}): {} ({})", text.empty() ? "" : "; ", law.from,
                        law.from == feeding ? "" : ", were there no cache", law.measured ? "measured" : "datasheet",
                        law.size == 1 ? "none" : std::to_string(law.size), savings);
  }
  return text;
}

std::string caching_text(const Laws& laws) {
  if (!laws.caching) return "";
  return fmt::format("{} nodes, {:.4f} times the transfers of an even split", fmt::join(laws.caching->factors, " x "),
                     laws.caching->ratio);
}

}  // namespace napkin::internal::report
