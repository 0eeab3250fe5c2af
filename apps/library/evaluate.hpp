#pragma once
// evaluate works out one tile of one layout: where each array lies, what each level moves and holds, whether the tile
// is legal, and how long it takes, as answers. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/request.hpp"
#include "model/clock/prediction.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"

namespace napkin {

/// The tile placed, with what follows from it.
struct Placement {
  PlacedDiagram placed;
  Plan plan;
  std::vector<Violation> violations;
};

/// Points into the request's parts and its problem.
[[nodiscard]] Placer placer_of(const Request& request, const Layout& layout);
[[nodiscard]] Placement place(const Placer& placer, const Tile& tile);

[[nodiscard]] std::vector<LevelAnswer> levels_of(const PlacedDiagram& placed, Hertz clock,
                                                 Rereads rereads = Rereads::counted);
/// Nothing where no result has parts.
[[nodiscard]] std::optional<CombineAnswer> combine_of(const PlacedDiagram& placed, Hertz clock);
[[nodiscard]] PredictedAnswer answer_of(const Prediction& prediction);
[[nodiscard]] std::vector<ViolationAnswer> answer_of(const std::vector<Violation>& violations);
[[nodiscard]] OccupancyAnswer answer_of(const Plan& plan);

/// The clock that bandwidths are stated at where nothing is predicted.
[[nodiscard]] Hertz clock_of(const Machine& machine);

}  // namespace napkin
