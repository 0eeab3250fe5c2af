// Transfers of the parts of results: those of the launch that stores parts, and of the launch that combines them. (eq.
// 19.1)
#include <algorithm>

#include "model/resource/crossing_counts.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

/// Returns the type in which a result leaves the first launch.
DType part_type(const PlacedDiagram& placed, ArrayId array) {
  for (const Crossing& c : placed.crossings) {
    if (c.array == array && c.store && c.parts) return c.type;
  }
  return placed.problem->dtype;
}

/// Adds the second launch by its own diagram under the same rule. It reads parts in the type in which they were stored,
/// and stores results in the question's type; statistics keep theirs.
void add_launch(const PlacedDiagram& placed, CombineMoved& moved) {
  const CombineLaunch& launch = *placed.combine->launch;
  const Diagram& d = launch.streamed.diagram;
  const Diagram& first = placed.streamed->diagram;
  const Problem problem = combine_problem(launch, *placed.problem, placed.block().extent);
  const Partition partition = make_partition(launch.streamed, problem.sizes, {}, d.name);
  for (const TransferTerm& term : transfer_terms(launch.streamed)) {
    const auto& ids = term.store ? d.outputs : d.inputs;
    const ArrayId whole =
        launch.whole[at(static_cast<int>(std::find(ids.begin(), ids.end(), term.array) - ids.begin()))];
    const bool statistic = first.operations[at(*first.producer(whole))].outputs[0] != whole;
    const DType type = term.store && !statistic ? placed.problem->dtype : part_type(placed, whole);
    const Count values = transfer_of(launch.streamed, term, problem, partition).value;
    (term.store ? moved.whole : moved.loaded) += bytes_of(values, type);
  }
}

/// Sums the transfers of a packed batch's sequences.
CombineMoved combine_moved_packed(const PlacedDiagram& placed) {
  CombineMoved sum;
  for (const PackedPart& part : placed.packed) {
    if (part.blank) continue;
    const CombineMoved moved = *combine_moved(part.placed);
    sum.into = moved.into;
    sum.parts = std::max(sum.parts, moved.parts);
    sum.stored += moved.stored;
    sum.loaded += moved.loaded;
    sum.whole += moved.whole;
  }
  return sum;
}

/// Returns true if the crossing joins the level where parts meet with the level below; with cores, with the memory that
/// the parts come from.
bool leads_to_meeting(const PlacedDiagram& placed, const Crossing& crossing) {
  const int meeting = placed.combine->at;
  if (crossing.pipe < 0) return crossing.into == placed.levels[at(meeting + 1)].level;
  const Pipe& pipe = placed.machine->pipes[at(crossing.pipe)];
  const LevelId level = meeting < 0 ? 0 : placed.levels[at(meeting)].level;
  return pipe.from == level || pipe.to == level;
}

}  // namespace

std::optional<CombineMoved> combine_moved(const PlacedDiagram& placed) {
  if (!placed.combine) return std::nullopt;
  if (!placed.packed.empty()) return combine_moved_packed(placed);
  const PlacedLevel& below = placed.levels[at(placed.combine->at + 1)];
  CombineMoved moved;
  moved.into = below.level;
  moved.parts = placed.parts();
  for (const Crossing& crossing : placed.crossings) {
    if (!crossing.parts || !leads_to_meeting(placed, crossing)) continue;
    const auto level = std::find_if(placed.levels.begin(), placed.levels.end(),
                                    [&](const PlacedLevel& one) { return one.level == crossing.into; });
    moved.into = crossing.into;
    (crossing.store ? moved.stored : moved.loaded) += moved_by(placed, *level, crossing);
  }
  if (placed.combine->launch && moved.parts > Count(1)) add_launch(placed, moved);
  return moved;
}

}  // namespace napkin::internal
