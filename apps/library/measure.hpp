#pragma once
// One tile of one layout, worked out: its levels, legality, work and time as answers. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/subject.hpp"
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

[[nodiscard]] Placement place(const Placer& placer, const Tile& tile);

[[nodiscard]] std::vector<LevelAnswer> levels_of(const Subject& subject, const PlacedDiagram& placed, Hertz clock,
                                                 Rereads rereads = Rereads::counted);
/// Nothing where no result has parts.
[[nodiscard]] std::optional<CombineAnswer> combine_of(const PlacedDiagram& placed, Hertz clock);
[[nodiscard]] PredictedAnswer answer_of(const Prediction& prediction);
[[nodiscard]] std::vector<ViolationAnswer> answer_of(const std::vector<Violation>& violations);
[[nodiscard]] OccupancyAnswer answer_of(const Plan& plan);

/// The clock that bandwidths are stated at where nothing is predicted.
[[nodiscard]] Hertz clock_of(const Machine& machine);

/// Calls `work` and gives an overflow its place in the question.
template <class Work>
auto at_shape(Work&& work) {
  try {
    return work();
  } catch (const Overflow& error) {
    throw Error("--shape", error.problem(), error.right());
  }
}

}  // namespace napkin
