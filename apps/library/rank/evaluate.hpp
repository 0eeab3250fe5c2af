#pragma once
// evaluate works out one tile of one layout: where each array lies, what each level moves and holds, whether the tile
// is legal, and how long it takes, as answers. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/question/request.hpp"
#include "apps/library/question/workspace.hpp"
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

/// Points into the layout's parts and its problem.
[[nodiscard]] Placer placer_of(const Layout& layout);
/// A placer of the layout's workspace, lent for as long as the caller holds it.
[[nodiscard]] KeptPlacer kept_placer_of(const Layout& layout);
[[nodiscard]] Placement place(const Placer& placer, const Tile& tile);

[[nodiscard]] std::vector<LevelAnswer> levels_of(const PlacedDiagram& placed, Hertz clock,
                                                 Rereads rereads = Rereads::counted);
/// What is read again is counted when it is asked for.
[[nodiscard]] std::vector<LevelAnswer> levels_of(const Layout& layout, const PlacedDiagram& placed, Hertz clock,
                                                 Rereads rereads);
/// Nothing where no result has parts.
[[nodiscard]] std::optional<CombineAnswer> combine_of(const PlacedDiagram& placed, Hertz clock);
/// Of a kernel whose call is several launches: what those beside the one that computes move, and how long they take.
[[nodiscard]] std::vector<std::string> launch_notes(const PlacedDiagram& placed);
[[nodiscard]] PredictedAnswer answer_of(const Prediction& prediction);
/// Of the ideal mapping: what no mapping goes below (least_time); nothing where the profile lacks what it needs.
[[nodiscard]] std::optional<PredictedAnswer> bound_of(const PlacedDiagram& placed);
[[nodiscard]] std::vector<ViolationAnswer> answer_of(const std::vector<Violation>& violations, const Request& request,
                                                     const Mapping& mapping);
[[nodiscard]] OccupancyAnswer answer_of(const Plan& plan);

/// The clock that bandwidths are stated at where nothing is predicted.
[[nodiscard]] Hertz clock_of(const Machine& machine);

}  // namespace napkin
