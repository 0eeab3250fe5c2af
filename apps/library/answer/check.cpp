#include "apps/library/answer/check.hpp"

#include <algorithm>
#include <cmath>

#include "model/interpret/check.hpp"
#include "model/interpret/storage.hpp"
#include "model/mapping/place/parts.hpp"
#include "model/mapping/read/load.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

/// Values, more than any array has: the check compares counts, not capacity.
constexpr std::int64_t no_limit = std::int64_t{1} << 50;

CountsAnswer counted(const Counts& counts) {
  const LevelCounts& low = counts.levels.front();
  return {low.loaded().get(), low.stored().get(), low.peak.get(), counts.combine.loaded().get(),
          counts.combine.stored().get()};
}

/// Predicts the run of a partition on the abstract machine, by place() and the two rules.
CountsAnswer predicted(const Streamed& streamed, const Problem& problem, const Partition& partition) {
  const Machine machine = abstract_machine(no_limit);
  const Mapping mapping = ideal_mapping(streamed, machine);
  Tile tile;
  for (const Knob& knob : mapping.knobs) {
    const AxisId axis = streamed.diagram.axis(knob.name.substr(knob.name.find('.') + 1));
    const bool chunk =
        streamed.stream == axis && knob.name == streamed.diagram.axes[static_cast<std::size_t>(axis)].name;
    tile.values.push_back((chunk ? partition.chunk : partition.group[static_cast<std::size_t>(axis)]).get());
  }
  Problem in_values = problem;
  in_values.dtype = DType::value;
  const PlacedDiagram placed = Placer(streamed, mapping, machine, in_values).place(tile);
  const LevelTransfer moved = transfers(placed).front();
  const LevelMemory held = memories(placed).front();
  const CombineMoved combine = combine_moved(placed).value_or(CombineMoved{});
  return {moved.load.value.get(), moved.store.value.get(), held.live.value.get(), combine.loaded.value.get(),
          combine.whole.value.get()};
}

/// Returns the types in which the kernel stores intermediate arrays: of an array with several variables the shortest.
Precision precision_of(const PlacedDiagram& placed) {
  Precision out;
  out.storage = placed.problem->dtype;
  const Diagram& diagram = placed.streamed->diagram;
  for (const Variable& v : placed.variables) {
    for (const ArrayId id : v.arrays) {
      if (diagram.is_input(id) || diagram.is_output(id)) continue;
      const auto [type, fresh] = out.arrays.emplace(diagram.arrays[static_cast<std::size_t>(id)].name, v.type);
      if (!fresh && bits(v.type) < bits(type->second)) type->second = v.type;
    }
  }
  return out;
}

/// Runs the scaled-down problem in those types and in float64, on inputs that the type can hold; nothing if the
/// interpreter does not compute in them.
std::optional<double> rounding_of(const Streamed& streamed, const CheckResult& check, const PlacedDiagram& placed) try {
  constexpr std::uint64_t seed = 1;
  const DType type = check.problem.dtype;
  if (type == DType::value || type == DType::f64) return std::nullopt;
  Tensors inputs = random_inputs(streamed.diagram, check.problem.sizes, seed);
  for (const ArrayId id : streamed.diagram.inputs) {
    if (streamed.diagram.is_table(id)) continue;
    const Array& array = streamed.diagram.arrays[static_cast<std::size_t>(id)];
    for (double& value : inputs.at(array.name).data) value = round_to(array.type.value_or(type), value);
  }
  RunOptions options;
  options.precision = precision_of(placed);
  const Run rounded = run_streamed(streamed, check.problem, check.partition, inputs, options);
  double worst = 0;
  for (const auto& [name, exact] : run_unfused(streamed.diagram, check.problem, inputs).outputs) {
    const double size = largest(exact);
    if (size > 0) worst = std::max(worst, difference(exact, rounded.outputs.at(name)) / size);
  }
  return std::isfinite(worst) ? std::optional(worst) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

Partition partition_of(const PlacedDiagram& placed) {
  const PlacedLevel& block = placed.block();
  Partition partition{block.extent, block.chunk};
  for (std::size_t a = 0; a < partition.group.size(); ++a) {
    partition.group[a] = std::min(partition.group[a], placed.problem->sizes[a]);
  }
  if (placed.streamed->stream) {
    partition.chunk =
        std::min(partition.chunk, placed.problem->sizes[static_cast<std::size_t>(*placed.streamed->stream)]);
  }
  return partition;
}

CheckAnswer check_of(const Question& question, const Setup& setup, const PlacedDiagram& placed) {
  const Diagram& diagram = setup.streamed->diagram;
  CheckLimits limits;
  limits.progress = question.ask.progress;
  const CheckResult result = check(*setup.streamed, setup.problem, partition_of(placed), limits, parts_of(placed));
  CheckAnswer answer;
  for (std::size_t a = 0; a < diagram.axes.size(); ++a) {
    answer.shape.emplace_back(diagram.axes[a].name, result.problem.sizes[a].get());
    const std::string& name = diagram.axes[a].name;
    const bool chunk = setup.streamed->stream == static_cast<AxisId>(a);
    const bool grouped = setup.streamed->grouped(static_cast<AxisId>(a));
    if (grouped) answer.tile.emplace_back(chunk ? name + ".part" : name, result.partition.group[a].get());
    if (chunk) answer.tile.emplace_back(name, result.partition.chunk.get());
  }
  answer.counted = counted(result.counts);
  answer.predicted = predicted(*setup.streamed, result.problem, result.partition);
  answer.output_error = result.output_error;
  answer.rounding = rounding_of(*setup.streamed, result, placed);
  answer.equal = answer.counted == answer.predicted && result.outputs_agree;
  return answer;
}

}  // namespace napkin::internal
