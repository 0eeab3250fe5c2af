// Work of threads around their products: loads of operands, barriers, results on their way out.

#include <algorithm>

#include "model/resource/detail.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t thread_bytes = 16;  // largest load or store of one thread

bool lists(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool has(std::span<const ArrayId> arrays, ArrayId array) {
  return std::find(arrays.begin(), arrays.end(), array) != arrays.end();
}

class Threads {
 public:
  explicit Threads(const PlacedDiagram& placed) : p_(placed), d_(placed.streamed->diagram) {}

  /// Returns the variable in which the block's threads share an array; nullptr if they do not.
  [[nodiscard]] const Variable* shared(ArrayId array) const {
    for (const Variable& v : p_.variables) {
      if (v.level == p_.block().level && v.scope == Scope::block && !v.output_staging && has(v.arrays, array))
        return &v;
    }
    return nullptr;
  }

  [[nodiscard]] const std::vector<AxisId>& axes_of(const Variable& v) const {
    return v.axes != nullptr ? *v.axes : d_.arrays[static_cast<std::size_t>(v.arrays.front())].axes;
  }

  [[nodiscard]] bool streams(const std::vector<AxisId>& axes) const {
    return p_.streamed->stream && lists(axes, *p_.streamed->stream);
  }

  /// Returns the agent whose threads read a variable's array, or compute what it holds on its way out.
  [[nodiscard]] const PlacedAgent* agent_of(const Variable& v) const {
    for (const PlacedOperation& op : p_.operations) {
      const Operation& does = d_.operations[static_cast<std::size_t>(op.operation)];
      const std::vector<ArrayId>& arrays = v.output_staging ? does.outputs : does.inputs;
      const bool touches = std::any_of(arrays.begin(), arrays.end(), [&](ArrayId id) { return has(v.arrays, id); });
      if (touches && op.agent >= 0) return &p_.agents[static_cast<std::size_t>(op.agent)];
    }
    return nullptr;
  }

  [[nodiscard]] const Agent& mapping_of(const PlacedAgent& agent) const {
    return p_.mapping->agents[static_cast<std::size_t>(agent.mapping)];
  }

  [[nodiscard]] const std::string& name_of(const Variable& v) const {
    return p_.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
  }

  /// Returns true if each instance of the agent reads rows of its own.
  [[nodiscard]] bool has_own_rows(const PlacedAgent& agent, const Variable& v) const {
    const std::vector<std::string>& splits = mapping_of(agent).splits;
    const std::vector<AxisId>& axes = axes_of(v);
    return std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
      const auto a = static_cast<std::size_t>(axis);
      const bool split = std::find(splits.begin(), splits.end(), d_.axes[a].name) != splits.end();
      return split && p_.streamed->stream != axis && agent.extent[a] < p_.block().extent[a];
    });
  }

  /// Returns the number of elements that an instance of the operation's agent takes of an operand.
  [[nodiscard]] Count taken(const PlacedOperation& op, std::size_t operand) const {
    const Count rows = ceil_div(op.m, op.row_parts), columns = ceil_div(op.n, op.column_parts);
    return (operand == 0 ? rows : columns) * op.k;
  }

  /// Returns true if threads load a product's operands themselves, and wait for it.
  [[nodiscard]] bool loops(const PlacedOperation& op) const {
    return op.tensor && op.instruction != nullptr && !op.instruction->asynchronous &&
           p_.machine->core_of(op.instruction->level) == nullptr;
  }

  [[nodiscard]] Count warp_loads(Count elements, DType type) const {
    const Count each = p_.machine->limits.warp_size * Count(thread_bytes);
    return each > Count(0) ? ceil_div(bytes_of(elements, type).value, each) : Count(0);
  }

  const PlacedDiagram& p_;
  const Diagram& d_;
};

}  // namespace

std::vector<OperandLayout> operands_of(const PlacedDiagram& placed, const PlacedOperation& op) {
  const Threads threads(placed);
  const Operation& does = threads.d_.operations[static_cast<std::size_t>(op.operation)];
  std::vector<OperandLayout> out;
  for (std::size_t i = 0; i < does.inputs.size(); ++i) {
    const ArrayId id = does.inputs[i];
    const Variable* shared = threads.shared(id);
    const Array& array = threads.d_.arrays[static_cast<std::size_t>(id)];
    const std::vector<AxisId>& axes = shared != nullptr ? threads.axes_of(*shared) : array.axes;
    if (axes.empty()) continue;
    OperandLayout one{array.name, threads.d_.axes[static_cast<std::size_t>(axes.back())].name, does.owns(axes.back()),
                      Count(0), false};
    if (shared != nullptr && threads.loops(op) && i < 2) {
      one.loads = threads.warp_loads(threads.taken(op, i), shared->type);
      const auto from =
          std::find_if(op.operands.begin(), op.operands.end(), [&](const auto& o) { return o.first == id; });
      one.once = from != op.operands.end() && from->second != placed.block().level && !threads.streams(axes);
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Meeting> meetings_of(const PlacedDiagram& placed) {
  const Threads threads(placed);
  std::vector<Meeting> out;
  for (const Variable& v : placed.variables) {
    const bool by_threads = v.engine == CopyEngine::cp_async || v.engine == CopyEngine::plain;
    if (!by_threads || v.level != placed.block().level || v.scope != Scope::block || v.arrays.empty()) continue;
    const PlacedAgent* agent = threads.agent_of(v);
    if (agent == nullptr || agent->threads < Count(2)) continue;
    const bool alone = agent->instances == Count(1) || threads.has_own_rows(*agent, v);
    out.push_back({threads.name_of(v), alone ? threads.mapping_of(*agent).name : "",
                   alone ? agent->threads : placed.threads, !v.output_staging && threads.streams(threads.axes_of(v))});
  }
  return out;
}

std::vector<StagedResult> staged_of(const PlacedDiagram& placed) {
  const Threads threads(placed);
  std::vector<StagedResult> out;
  for (const Variable& v : placed.variables) {
    if (!v.output_staging || v.engine != CopyEngine::plain || v.arrays.empty() || bits(v.type) < 8) continue;
    const bool own = std::any_of(placed.operations.begin(), placed.operations.end(), [&](const PlacedOperation& op) {
      const Operation& does = threads.d_.operations[static_cast<std::size_t>(op.operation)];
      return threads.loops(op) && has(v.arrays, does.outputs.front());
    });
    const Count warps = ceil_div(placed.threads, placed.machine->limits.warp_size);
    if (!own || warps < Count(1) || v.level != placed.block().level) continue;
    const Count elements = ceil_div(v.elements, warps);
    const Bytes pair = bytes_of(Count(2), v.type);
    out.push_back({threads.name_of(v), pair,
                   ceil_div(bytes_of(elements, v.type).value, placed.machine->limits.warp_size * pair.value),
                   threads.warp_loads(elements, v.type)});
  }
  return out;
}

}  // namespace napkin::internal
