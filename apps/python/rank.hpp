#pragma once
// rank orders configurations that somebody else has listed, such as those of a Triton autotuner, by predicted time.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"

namespace napkin::python {

struct RankedConfig {
  std::size_t index = 0;  ///< among the configurations as given
  bool legal = false;
  bool outside = false;        ///< a knob has a value that the mapping was not made for: the time is a guess
  std::optional<double> time;  ///< seconds; of legal ones
  std::string why;             ///< not legal: the limits that it breaks, or the knob's value that the kernel lacks
};

/// Best first, then those outside of what the mapping was made for, then those that are not legal. Knobs have the
/// mapping's names or Triton's; others are not looked at.
[[nodiscard]] std::vector<RankedConfig> rank(const Session& session, const Ask& ask,
                                             const std::vector<TileText>& configs);

}  // namespace napkin::python
