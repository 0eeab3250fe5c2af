#pragma once
// Verdicts holds the compiler's results for a kernel's tiles, as tests/measured/registers records them: a line for each
// shape and mask names the tiles that it objected to, because registers spilled or wgmma ran one by one.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/report/record/shared.hpp"
#include "model/mapping/read/load.hpp"
#include "napkin/ask.hpp"
#include "tests/kernel/register_rule.hpp"

namespace napkin::internal::test {

/// One line of the record. All legal tiles were compiled, or with `spare` those with fewer registers left than that;
/// with `tile` only those with these knobs, and the line says nothing about others.
struct Verdicts {
  Ask ask;
  std::string compiler, date;
  std::int64_t spare = 0;  ///< 0: all legal tiles
  /// True if all tiles that only the register rule rejects, by up to 32 registers, were compiled too.
  bool near_complete = false;
  std::vector<std::string> knobs;  ///< of its tiles; of a knob that the kernel got since, its `before` was compiled
  std::set<std::string> objected;
};

enum class Verdict { unknown, kept, spilled };

inline std::string words_of(const Mapping& mapping, const Tile& tile) {
  std::string out;
  for (const auto& [knob, value] : describe(mapping, tile)) out += (out.empty() ? "" : " ") + value;
  return out;
}

/// Returns a tile in the words of a record with these knobs; nothing where the tile has another value than `before` of
/// a knob beside them, which was not compiled then.
inline std::optional<std::string> words_of(const Mapping& mapping, const Tile& tile,
                                           const std::vector<std::string>& knobs) {
  std::string out;
  const auto described = describe(mapping, tile);
  for (std::size_t i = 0; i < described.size(); ++i) {
    const auto& [knob, value] = described[i];
    if (std::find(knobs.begin(), knobs.end(), knob) != knobs.end()) {
      out += (out.empty() ? "" : " ") + value;
    } else if (mapping.knobs[i].before != tile.values[i]) {
      return std::nullopt;
    }
  }
  return out;
}

inline std::string algorithm_of(const std::string& kernel) { return load_mapping(kernel, "kernel").algorithm; }

inline Verdicts verdicts_of(const nlohmann::json& line) {
  Verdicts out;
  out.ask.kernel = line.at("kernel").get<std::string>();
  out.ask.algorithm = algorithm_of(out.ask.kernel);
  out.ask.gpu = line.at("gpu").get<std::string>();
  out.ask.dtype = line.at("dtype").get<std::string>();
  out.ask.shape = parse_shape(line.at("shape").get<std::string>());
  const std::string mask = line.at("mask").get<std::string>(), window = "window ";
  if (mask == "causal") out.ask.mask.kind = Mask::Kind::causal;
  if (mask.starts_with(window)) out.ask.mask = parse_window(mask.substr(window.size()));
  if (line.contains("tile")) out.ask.tile = parse_tile(line.at("tile").get<std::string>());
  out.compiler = line.at("compiler").get<std::string>();
  out.date = line.at("date").get<std::string>();
  out.spare = line.value("spare", std::int64_t{0});
  out.near_complete = line.at("near_complete").get<bool>();
  out.knobs = line.at("knobs").get<std::vector<std::string>>();
  for (const nlohmann::json& tile : line.at("objected")) out.objected.insert(tile.get<std::string>());
  return out;
}

inline std::vector<Verdicts> read_verdicts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path, "cannot be read", "recorded verdicts, a JSON object a line");
  std::vector<Verdicts> out;
  nlohmann::json shared;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    if (report::complete_row(row, shared, path)) out.push_back(verdicts_of(row));
  }
  return out;
}

/// Returns the recorded verdict on a tile that for_each_ruled() visits.
inline Verdict verdict_of(const Verdicts& verdicts, const Mapping& mapping, const RuledTile& one) {
  const auto words = words_of(mapping, one.tile, verdicts.knobs);
  if (!words) return Verdict::unknown;
  if (verdicts.objected.contains(*words)) return Verdict::spilled;
  const Count left = one.plan.registers_limit - one.plan.registers_per_thread;
  const bool compiled = one.legal ? verdicts.spare == 0 || left < Count(verdicts.spare) : verdicts.near_complete;
  return compiled ? Verdict::kept : Verdict::unknown;
}

}  // namespace napkin::internal::test
