#pragma once
// configuration_of makes the configuration table and the throughput table of a placed tile (the paper's Tables 1 to 3),
// as text and as JSON: "S 128 x 128 f32 in registers".

#include <optional>
#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "model/resource/table.hpp"

namespace napkin::report {

/// The memory that a tile reserves and the work that it computes; keeps nothing of the placed diagram.
struct Configuration {
  ConfigurationTable memory;
  ThroughputTable throughput;
  std::vector<std::string> levels;   ///< names, by LevelId
  std::optional<double> least_rows;  ///< rows of a block above which device memory does not bind
  std::optional<double> ideal_rate;  ///< FLOP/s with the tensor units always busy
};

/// Makes the configuration; a machine without tensor units has the memory part alone.
[[nodiscard]] Configuration configuration_of(const PlacedDiagram& placed);

[[nodiscard]] Json json_of(const Configuration& configuration);
[[nodiscard]] std::string text_of(const Configuration& configuration, const Style& style);

}  // namespace napkin::report
