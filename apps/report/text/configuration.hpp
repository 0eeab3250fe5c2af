#pragma once
// configuration_of makes the configuration table and the throughput table of a placed tile (the paper's Tables 1 to 3),
// as text and as JSON: "S 128 x 128 f32 in registers".

#include <optional>
#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "model/resource/detail.hpp"
#include "model/resource/table.hpp"

namespace napkin::internal::report {

/// The memory that a tile reserves, and its work. Keeps no pointer to the placed diagram.
struct Configuration {
  ConfigurationTable memory;
  ThroughputTable throughput;
  std::vector<std::string> levels;   ///< names, by LevelId
  std::optional<double> least_rows;  ///< rows of a block above which device memory does not bind
  std::optional<double> ideal_rate;  ///< FLOP/s with the tensor units always busy
  Detail detail = {};                ///< rounds, parts of buffers, instructions, resident blocks
};

/// Makes the configuration; a machine without tensor units has the memory part alone.
[[nodiscard]] Configuration configuration_of(const PlacedDiagram& placed);

[[nodiscard]] Json json_of(const Configuration& configuration);
[[nodiscard]] std::string text_of(const Configuration& configuration, const Style& style);

[[nodiscard]] Json json_of(const Detail& detail);
/// Writes parts of buffers, instructions and resident blocks, each with a heading; "" where there is nothing.
[[nodiscard]] std::string text_of(const Detail& detail);
/// Writes the iterations that run in a round: "if 0 <= r - 1 < n: O of iteration r - 1 by cube"; "" if no operation is
/// ahead.
[[nodiscard]] std::string rounds_of(const Detail& detail);

}  // namespace napkin::internal::report
