#pragma once
// rank orders configurations that somebody else has listed, such as those of a Triton autotuner, by predicted time.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"

namespace napkin::internal::python {

struct RankedConfig {
  std::size_t index = 0;  ///< index among the given configurations
  bool legal = false;
  bool outside = false;        ///< true if a knob's value is outside the mapping's domain, so that the time is a guess
  std::optional<double> time;  ///< seconds of a legal configuration
  std::string why;             ///< reason why it is not legal: broken limits, or a knob's value that the kernel lacks
};

/// Ranks configurations, best first, then those outside the mapping's domains, then illegal ones. Knobs have the
/// mapping's names or Triton's; other names are ignored. `kernels` asks the same question of one or more mappings, such
/// as those that one Triton source is compiled to; each configuration is judged by the one it suits best.
[[nodiscard]] std::vector<RankedConfig> rank(const Session& session, const std::vector<Ask>& kernels,
                                             const std::vector<TileText>& configs);

}  // namespace napkin::internal::python
