#pragma once
// configuration_of makes the configuration table and the throughput table of a placed tile (the paper's Tables 1 to 3),
// as text and as JSON: "S 128 x 128 f32 in registers".

#include <optional>
#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "model/resource/table.hpp"

namespace napkin::report {

/// What a tile reserves and computes, worked out: keeps nothing of the placed diagram.
struct Configuration {
  ConfigurationTable memory;
  ThroughputTable throughput;
  std::vector<std::string> levels;   ///< names, by LevelId
  std::optional<double> least_rows;  ///< of a block, above which device memory does not bind
  std::optional<double> ideal_rate;  ///< FLOP/s with the tensor units always busy
};

/// On a machine without tensor units only the memory part is there.
[[nodiscard]] Configuration configuration_of(const PlacedDiagram& placed);

[[nodiscard]] Json json_of(const Configuration& configuration);
[[nodiscard]] std::string text_of(const Configuration& configuration, const Style& style);

}  // namespace napkin::report
