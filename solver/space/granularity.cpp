#include "solver/space/granularity.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace napkin::internal {
namespace {

class Collector {
 public:
  explicit Collector(std::size_t axes) : by_axis_(axes) {}

  void add(std::optional<AxisId> axis, Count divisor, std::string cause) {
    if (!axis || divisor <= Count(1)) return;
    Granularity& one = by_axis_[static_cast<std::size_t>(*axis)];
    one.axis = *axis;
    one.divisor = std::lcm(one.divisor.get(), divisor.get());
    one.causes.push_back({std::move(cause), divisor});
  }
  [[nodiscard]] std::vector<Granularity> found() && {
    std::erase_if(by_axis_, [](const Granularity& one) { return one.causes.empty(); });
    return std::move(by_axis_);
  }

 private:
  std::vector<Granularity> by_axis_;
};

DType type_of(const std::string& name, const Problem& problem, const Mapping& mapping) {
  return name.empty() || name == "T" ? problem.dtype : parse_dtype(name, mapping.name);
}

/// Returns a contraction's column axis: the last axis that only the second input has and that is not consumed.
std::optional<AxisId> column_axis(const Diagram& diagram, const Operation& op) {
  if (op.inputs.size() < 2) return std::nullopt;
  const Array& first = diagram.arrays[static_cast<std::size_t>(op.inputs[0])];
  const Array& second = diagram.arrays[static_cast<std::size_t>(op.inputs[1])];
  std::optional<AxisId> found;
  for (AxisId axis : second.axes) {
    if (!first.has(axis) && !op.owns(axis)) found = axis;
  }
  return found;
}

void add_instruction(Collector& out, const Diagram& diagram, const OperationMapping& mapped, const Mapping& mapping,
                     const Machine& machine, const Problem& problem) {
  const auto array = diagram.find_array(mapped.output);
  const auto producer = array ? diagram.producer(*array) : std::nullopt;
  if (mapped.unit != "tensor" || !producer) return;
  const Operation& op = diagram.operations[static_cast<std::size_t>(*producer)];
  const DType type = type_of(mapped.type, problem, mapping);
  // Alternatives of an instruction differ in rows and in who executes them together, not in steps.
  const TensorInstruction* instruction =
      mapped.instruction.empty() ? nullptr : machine.tensor_for(type, mapped.instruction.front().second);
  if (!instruction) instruction = machine.tensor_for(type);
  if (op.kind != OpKind::contract || op.own.empty() || !instruction) return;
  out.add(column_axis(diagram, op), instruction->n_step, instruction->name + " n of " + mapped.output);
  out.add(op.own.back(), instruction->k, instruction->name + " k of " + mapped.output);
}

void add_coalescing(Collector& out, const Diagram& diagram, const VariableMapping& variable, const Mapping& mapping,
                    const Machine& machine, const Problem& problem) {
  const bool asynchronous = variable.engine == CopyEngine::tma || variable.engine == CopyEngine::cp_async ||
                            variable.engine == CopyEngine::bulk_reduce;
  const auto level = machine.find_level(variable.level);
  if (!asynchronous || !level) return;
  const Count transaction = machine.levels[static_cast<std::size_t>(*level)].transaction;
  const int width = bits(type_of(variable.type, problem, mapping));
  for (const std::string& name : variable.of.empty() ? std::vector<std::string>{variable.name} : variable.of) {
    const auto array = diagram.find_array(name);
    if (!array || diagram.arrays[static_cast<std::size_t>(*array)].axes.empty()) continue;
    if (!diagram.is_input(*array) && !diagram.is_output(*array)) continue;
    const AxisId unit_stride = variable.axes.empty() ? diagram.arrays[static_cast<std::size_t>(*array)].axes.back()
                                                     : diagram.axis(variable.axes.back());
    out.add(unit_stride, transaction * 8 / width, "coalescing of " + name);
  }
}

}  // namespace

std::vector<Granularity> granularities(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                                       const Problem& problem) {
  // A contraction's instruction is the machine's for its type: the column axis is the last that only the second input
  // has (a multiple of n), the depth the last contracted axis (a multiple of k). A variable that a copy engine fills or
  // empties needs a multiple of the level's smallest transfer along its unit-stride axis.
  const Diagram& diagram = streamed.diagram;
  Collector out(diagram.axes.size());
  for (const OperationMapping& op : mapping.operations) add_instruction(out, diagram, op, mapping, machine, problem);
  for (const VariableMapping& v : mapping.variables) add_coalescing(out, diagram, v, mapping, machine, problem);
  return std::move(out).found();
}

}  // namespace napkin::internal
