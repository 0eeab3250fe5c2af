#pragma once
// draft_sizes works out a block's tile from the shapes and accumulators of its products: if an iteration's products of
// O = P V contract 8 x 16 elements, a chunk has 128 keys.

#include <map>
#include <string>

#include "apps/library/draft/draft_text.hpp"

namespace napkin::internal {

struct DraftSizes {
  struct Size {
    std::int64_t value = 0;
    std::string open;  ///< the reason why the size has to be checked; empty: it follows from the code
  };
  std::map<std::string, Size> of;  ///< sizes by axis
  int agents = 1, copy_threads = 0;
  std::string open_agents;
};

[[nodiscard]] DraftSizes draft_sizes(const DraftParts& parts, const SassCensus& census, const TileText& tile);

}  // namespace napkin::internal
