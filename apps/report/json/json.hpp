#pragma once
// json_of makes the JSON that every command prints: {"command": "select", "algorithm": "attention", ...}
// (docs/command-line.md). Keys keep their order; no NaN and no infinity: such numbers are null.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "napkin/answers.hpp"

namespace napkin::internal::report {

using Json = nlohmann::ordered_json;

/// Converts a number: a whole one without a fraction; null if it is not finite.
[[nodiscard]] Json json_of(double number);
[[nodiscard]] Json json_of(const std::optional<double>& number);
[[nodiscard]] Json json_of(const NamedSizes& sizes);
/// Converts lengths to [[queries, keys], ...].
[[nodiscard]] Json json_of(const std::vector<SequenceLengths>& lengths);
[[nodiscard]] Json json_of(const TileValues& tile);
[[nodiscard]] Json json_of(const Mask& mask);
/// Converts conditions to {"load", "clock", "limit", "l2"}, those that are stated.
[[nodiscard]] Json json_of(const CardConditions& conditions);
[[nodiscard]] Json json_of(const PredictedAnswer& predicted);
[[nodiscard]] Json json_of(const std::vector<LevelAnswer>& levels);
[[nodiscard]] Json json_of(const CombineAnswer& combine);
[[nodiscard]] Json json_of(const OptimumAnswer& optimum);

/// Converts a head to "command", "algorithm", "gpu", "kernel", "dtype", "mask", "shape", "tile".
[[nodiscard]] Json json_of(const Head& head, std::string_view command);
[[nodiscard]] Json json_of(const QueryAnswer& answer);
/// Writes the JSON of an abstract machine's levels from the top down: "memories".
[[nodiscard]] Json json_of(const std::vector<QueryAnswer>& levels);
[[nodiscard]] Json json_of(const SelectAnswer& answer);
/// Converts a family: axes with the range have {"from", "to", "step"} in "shape"; "breakpoints" has the picks.
[[nodiscard]] Json json_of(const FamilyAnswer& answer);

/// Writes a line of text with its newline. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string line_of(const Json& json);

}  // namespace napkin::internal::report
