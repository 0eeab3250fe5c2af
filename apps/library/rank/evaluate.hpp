#pragma once
// place() and the functions below evaluate one tile of one setup and return parts of an answer: where each array lies,
// what each level moves and holds, whether the tile is legal, and how long it takes. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/clock/prediction.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {

/// A placed tile, its plan and its violations.
struct Placement {
  PlacedDiagram placed;
  Plan plan;
  std::vector<Violation> violations;
};

/// Makes a placer that points into the setup's parts and its problem.
[[nodiscard]] Placer placer_of(const Setup& setup);
[[nodiscard]] Placement place(const Placer& placer, const Tile& tile);

/// Lists the levels' bytes and times. Without AnswerParts::rereads, `delivered` stays empty for a cache that evicts and
/// reads again.
[[nodiscard]] std::vector<LevelAnswer> levels_of(const PlacedDiagram& placed, Hertz clock,
                                                 Rereads rereads = Rereads::counted);
/// Returns the cost of combining; nothing if no result has parts.
[[nodiscard]] std::optional<CombineAnswer> combine_of(const PlacedDiagram& placed, Hertz clock);
/// Describes the further launches of a kernel, besides the one that computes, and what a user should know of this one:
/// spills, numbers of other rows of a table, arrays that have to be padded.
[[nodiscard]] std::vector<std::string> launch_notes(const PlacedDiagram& placed);
[[nodiscard]] WorkAnswer work_answer(const PlacedDiagram& placed);
[[nodiscard]] PredictedAnswer answer_of(const Prediction& prediction);
/// Returns the ideal mapping's bound, below which no mapping goes (least_time); nothing if the profile lacks a number
/// for it.
[[nodiscard]] std::optional<PredictedAnswer> bound_of(const PlacedDiagram& placed);
[[nodiscard]] std::vector<ViolationAnswer> answer_of(const std::vector<Violation>& violations, const Question& question,
                                                     const Mapping& mapping);
[[nodiscard]] OccupancyAnswer answer_of(const Plan& plan);

/// Returns the clock at which bandwidths are stated if nothing is predicted.
[[nodiscard]] Hertz clock_of(const Machine& machine);

}  // namespace napkin::internal
