#include "model/resource/storage.hpp"

#include <algorithm>
#include <limits>

#include "model/mapping/knobs.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t swizzled_tile = 1024;  // 8 rows of the 128-byte swizzle: TMA boxes and matrix descriptors
constexpr std::int64_t plain_tile = 128;      // bytes of one row of banks

bool contains(std::span<const ArrayId> arrays, ArrayId array) {
  return std::find(arrays.begin(), arrays.end(), array) != arrays.end();
}

bool touches(std::span<const ArrayId> arrays, std::span<const ArrayId> others) {
  return std::any_of(others.begin(), others.end(), [&](ArrayId a) { return contains(arrays, a); });
}

const Operation& diagram_operation(const PlacedDiagram& placed, const PlacedOperation& op) {
  return placed.streamed->diagram.operations[static_cast<std::size_t>(op.operation)];
}

/// Returns true if the matrix unit reads this variable's tile in place, so that it must be swizzled.
bool read_by_descriptor(const PlacedDiagram& placed, const Variable& variable) {
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor || op.instruction == nullptr || !op.instruction->by_descriptor) continue;
    for (const auto& [array, level] : op.operands) {
      if (level == variable.level && contains(variable.arrays, array)) return true;
    }
  }
  return false;
}

// Lifetimes by the loop's program order: variables that one agent writes and reads within an iteration.

struct Life {
  int first = std::numeric_limits<int>::max(), last = -1;  // indices into PlacedDiagram::operations
  bool shareable = false;
};

/// Returns a variable's lifetime. Buffers that a copy engine fills, inputs, maintained arrays and staging outlive an
/// iteration: they share storage only if the mapping says so, since reuse needs a barrier that only the kernel can add.
Life life_of(const PlacedDiagram& placed, const Variable& variable) {
  Life life;
  const Streamed& s = *placed.streamed;
  if (variable.engine != CopyEngine::none || variable.output_staging || variable.copies != Count(1)) return life;
  if (variable.arrays.empty() || touches(variable.arrays, s.maintained) || touches(variable.arrays, s.diagram.inputs))
    return life;
  for (std::size_t i = 0; i < placed.operations.size(); ++i) {
    const PlacedOperation& op = placed.operations[i];
    const Operation& o = diagram_operation(placed, op);
    if (!touches(variable.arrays, o.outputs) && !touches(variable.arrays, o.inputs)) continue;
    if (op.phase != Phase::loop) return life;
    life.first = std::min(life.first, static_cast<int>(i));
    life.last = std::max(life.last, static_cast<int>(i));
  }
  life.shareable = life.last >= 0;
  return life;
}

bool disjoint(const Life& a, const Life& b) {
  return a.shareable && b.shareable && (a.last < b.first || b.last < a.first);
}

/// Returns a storage whose variables are all dead during this lifetime, or a new one.
int storage_for(const PlacedDiagram& placed, const SharedLayout& layout, const std::array<Life, most_variables>& lives,
                std::size_t v) {
  for (std::size_t s = 0; s < layout.count && lives[v].shareable; ++s) {
    bool free = true;
    for (std::size_t w = 0; w < v && free; ++w) {
      if (layout.of[w] != static_cast<int>(s)) continue;
      free = variable_at(placed, w).scope == variable_at(placed, v).scope && disjoint(lives[v], lives[w]);
    }
    if (free) return static_cast<int>(s);
  }
  return static_cast<int>(layout.count);
}

void assign_storages(const PlacedDiagram& placed, SharedLayout& layout) {
  const std::size_t n = placed.variables.size();
  std::array<Life, most_variables> lives{};
  const bool pipelined = software_pipelined(placed);
  layout.of.fill(-1);
  for (std::size_t v = 0; v < n; ++v) {
    if (!pipelined && variable_at(placed, v).level == placed.block().level)
      lives[v] = life_of(placed, variable_at(placed, v));
  }
  for (std::size_t v = 0; v < n; ++v) {  // an alias may make its owner live longer
    const std::size_t root = owner(placed, v);
    if (root != v) lives[root].shareable = lives[v].shareable = false;
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (variable_at(placed, v).level != placed.block().level || owner(placed, v) != v) continue;
    layout.of[v] = storage_for(placed, layout, lives, v);
    if (static_cast<std::size_t>(layout.of[v]) == layout.count) ++layout.count;
  }
  for (std::size_t v = 0; v < n; ++v) layout.of[v] = layout.of[owner(placed, v)];
}

}  // namespace

std::size_t owner(const PlacedDiagram& placed, std::size_t v) {
  for (std::size_t steps = 0; variable_at(placed, v).alias >= 0 && steps < placed.variables.size(); ++steps) {
    v = static_cast<std::size_t>(variable_at(placed, v).alias);
  }
  return v;
}

Count alignment(const PlacedDiagram& placed, const Variable& variable) {
  if (!placed.machine->limits.known) return 1;
  const bool swizzled = variable.engine == CopyEngine::tma || read_by_descriptor(placed, variable);
  return swizzled ? swizzled_tile : plain_tile;
}

int agent_of(const PlacedDiagram& placed, const Variable& variable) {
  if (variable.agent >= 0) return variable.agent;
  for (const PlacedOperation& op : placed.operations) {
    if (op.agent >= 0 && touches(variable.arrays, diagram_operation(placed, op).outputs)) return op.agent;
  }
  for (const PlacedOperation& op : placed.operations) {
    if (op.agent >= 0 && touches(variable.arrays, diagram_operation(placed, op).inputs)) return op.agent;
  }
  return static_cast<int>(placed.agents.size()) - 1;
}

Count instances(const PlacedDiagram& placed, const Variable& variable) {
  if (variable.scope == Scope::block || variable.agent >= 0) return 1;
  const int agent = agent_of(placed, variable);
  return agent < 0 ? Count(1) : placed.agents[static_cast<std::size_t>(agent)].instances;
}

bool software_pipelined(const PlacedDiagram& placed) {
  const auto& edges = placed.mapping->edges;
  return std::any_of(edges.begin(), edges.end(),
                     [&](const EdgeMapping& e) { return e.distance < 0 && holds(e.when, placed.tile); });
}

Count slack(const SharedLayout& layout) { return layout.align > Count(plain_tile) ? layout.align : Count(0); }

SharedLayout layout_of(const PlacedDiagram& placed) {
  const std::size_t n = placed.variables.size();
  if (n > most_variables) throw Error(placed.mapping->name, "more than 64 variables", "at most 64");
  SharedLayout layout;
  assign_storages(placed, layout);
  for (std::size_t v = 0; v < n; ++v) {
    if (layout.of[v] < 0) continue;
    const Variable& variable = variable_at(placed, v);
    SharedStorage& storage = layout.storages[static_cast<std::size_t>(layout.of[v])];
    const Count align = alignment(placed, variable);
    const Count copy = round_up(bytes_of(variable.elements, variable.type).value, align);
    storage.size = std::max(storage.size, copy * variable.copies * instances(placed, variable));
    storage.align = std::max(storage.align, align);
    layout.align = std::max(layout.align, align);
  }
  for (const std::int64_t align : {swizzled_tile, plain_tile, std::int64_t{1}}) {  // strictest first: no gaps
    for (std::size_t s = 0; s < layout.count; ++s) {
      SharedStorage& storage = layout.storages[s];
      if (storage.align != Count(align)) continue;
      storage.offset = layout.end;
      layout.end = round_up(layout.end + storage.size, align);
    }
  }
  return layout;
}

}  // namespace napkin::internal
