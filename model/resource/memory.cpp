// The second rule on the placed diagram: the largest column of the arrays that a level holds. (eq. 2.2)
#include <algorithm>
#include <numeric>
#include <vector>

#include "model/diagram/reindex.hpp"
#include "model/fusion/partition.hpp"
#include "model/resource/columns.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

class Holder {
 public:
  explicit Holder(const PlacedDiagram& placed) : p_(placed), s_(*placed.streamed) {
    for (std::size_t i = 0; i < p_.variables.size(); ++i) {
      const Variable& v = p_.variables[i];
      const PlacedAgent* agent = agent_of(v);
      owner_.push_back(owner(i));
      std::vector<Bytes>& held = held_.emplace_back();
      for (const ArrayId array : v.arrays)
        held.push_back(bytes_of(values(s_.diagram.arrays[at(array)], &v, agent), v.type));
    }
  }

  /// Returns the largest column of a block at a level, which counts only what the mapping places there.
  [[nodiscard]] Bytes largest(const std::vector<Column>& columns, LevelId level, bool staging) {
    Bytes out;
    for (const Column& column : columns) out = std::max(out, size(column, level, staging));
    return out;
  }

  /// Returns the bytes of a level's variables: copies and all instances; aliases share the largest.
  [[nodiscard]] Bytes allocated(LevelId level) {
    return of_places([&](std::size_t variable) {
      const Variable& v = p_.variables[variable];
      return p_.variables[owner_[variable]].level == level ? v.bytes() * instances(v) : Bytes{};
    });
  }

  /// Returns the bytes of a column. Its arrays in variables that share a place count once, at the largest.
  [[nodiscard]] Bytes size(const Column& column, LevelId level, bool staging) {
    Bytes out;
    held_by_.assign(p_.variables.size(), Bytes{});
    for (const ArrayId array : column.arrays) out += array_size(array, column.phase, level, staging);
    for (const int a : column.auxiliaries) out += auxiliary_size(s_.auxiliaries[at(a)], level);
    return out + of_places([&](std::size_t variable) { return held_by_[variable]; });
  }

 private:
  /// Sums, over places, the most bytes that any variable takes there.
  template <class BytesOf>
  [[nodiscard]] Bytes of_places(const BytesOf& bytes_of_variable) {
    most_.assign(p_.variables.size(), Bytes{});
    for (std::size_t i = 0; i < most_.size(); ++i) {
      Bytes& place = most_[owner_[i]];
      place = std::max(place, bytes_of_variable(i));
    }
    return std::accumulate(most_.begin(), most_.end(), Bytes{});
  }

  [[nodiscard]] std::size_t owner(std::size_t variable) const {
    for (std::size_t steps = 0; p_.variables[variable].alias >= 0 && steps < p_.variables.size(); ++steps) {
      variable = at(p_.variables[variable].alias);
    }
    return variable;
  }

  [[nodiscard]] static bool has(const Variable& v, ArrayId array) {
    return std::find(v.arrays.begin(), v.arrays.end(), array) != v.arrays.end();
  }

  /// Returns the agent that computes an array, else one that reads it.
  [[nodiscard]] const PlacedAgent* agent_of(ArrayId array) const {
    const PlacedAgent* reader = nullptr;
    for (const PlacedOperation& op : p_.operations) {
      if (op.agent < 0) continue;
      const Operation& o = s_.diagram.operations[at(op.operation)];
      if (std::find(o.outputs.begin(), o.outputs.end(), array) != o.outputs.end()) return &p_.agents[at(op.agent)];
      if (std::find(o.inputs.begin(), o.inputs.end(), array) != o.inputs.end()) reader = &p_.agents[at(op.agent)];
    }
    return reader;
  }

  [[nodiscard]] const PlacedAgent* agent_of(const Variable& v) const {
    if (v.scope == Scope::block) return nullptr;
    if (v.agent >= 0) return &p_.agents[at(v.agent)];
    if (!v.arrays.empty()) return agent_of(v.arrays[0]);
    // an auxiliary belongs to the agent of the operation that keeps it
    for (const PlacedOperation& op : p_.operations) {
      if (op.agent >= 0 && keeps_state(s_.operations[at(op.operation)].accumulator)) return &p_.agents[at(op.agent)];
    }
    return nullptr;
  }

  [[nodiscard]] Count instances(const Variable& v) const { return instances(&v, agent_of(v)); }

  /// Returns the number of agents that hold one each; 1 if an agent's core keeps it, since each core has its own
  /// memory.
  [[nodiscard]] static Count instances(const Variable* v, const PlacedAgent* agent) {
    return agent == nullptr || (v != nullptr && v->agent >= 0) ? Count(1) : agent->instances;
  }

  /// Returns the values with these axes in a block: one copy, clipped to the array. `v` may hold some axes in part.
  [[nodiscard]] Count values(const std::vector<AxisId>& axes, const Variable* v, const PlacedAgent* agent) const {
    Count out = instances(v, agent);
    for (const AxisId axis : axes) out *= size_of(axis, v, agent);
    return out;
  }

  /// Returns the values of an array, with the rows between those that a shifted dimension reads.
  [[nodiscard]] Count values(const Array& array, const Variable* v, const PlacedAgent* agent) const {
    if (!is_shifted(array)) return values(array.axes, v, agent);
    return internal::part_of(array, [&](AxisId axis) { return size_of(axis, v, agent); }) * instances(v, agent);
  }

  [[nodiscard]] Count size_of(AxisId axis, const Variable* v, const PlacedAgent* agent) const {
    const PlacedLevel& block = p_.block();
    Count size = agent == nullptr ? block.extent[at(axis)] : agent->extent[at(axis)];
    if (s_.stream == axis) size = agent == nullptr ? block.chunk : std::min(block.chunk, size);
    if (v != nullptr) size = std::min(size, part_of(*v, axis, size));
    return std::min(size, p_.problem->sizes[at(axis)]);
  }

  /// Returns the part of an axis that the mapping holds: x -> u_x.
  [[nodiscard]] Count part_of(const Variable& v, AxisId axis, Count whole) const {
    for (const auto& [name, value] : p_.mapping->variables[at(v.mapping)].sizes) {
      if (s_.diagram.axis(name) != axis) continue;
      if (value.kind == Value::Kind::literal) return value.literal;
      if (value.kind == Value::Kind::knob) return p_.tile.values[at(value.knob)];
    }
    const PlacedLevel* level = p_.find_level(v.level);
    return s_.stream == axis && level != nullptr ? level->chunk : whole;
  }

  [[nodiscard]] bool is_deepest(LevelId level) const { return p_.levels.back().level == level; }
  [[nodiscard]] DType plain_type() const { return p_.machine->tensor.empty() ? p_.problem->dtype : DType::f32; }

  /// Adds each variable's bytes of the array to held_by_. Returns the bytes that none holds.
  [[nodiscard]] Bytes array_size(ArrayId array, Phase phase, LevelId level, bool staging) {
    Bytes out;
    bool held = false;
    for (std::size_t i = 0; i < p_.variables.size(); ++i) {
      const Variable& v = p_.variables[i];
      const auto here = std::find(v.arrays.begin(), v.arrays.end(), array);
      if (here == v.arrays.end()) continue;
      if (!v.output_staging) held = true;
      if (v.level != level) continue;
      const bool shares = v.alias >= 0 && has(p_.variables[at(v.alias)], array);
      if (v.output_staging && (!staging || shares || phase == Phase::head || (phase == Phase::loop && !streams(array))))
        continue;
      held_by_[i] += held_[i][static_cast<std::size_t>(here - v.arrays.begin())];
    }
    // An array that no variable holds stays at the level where it is computed.
    if (!held && is_deepest(level)) {
      const DType type = s_.diagram.is_input(array) ? p_.problem->dtype : plain_type();
      out += bytes_of(values(s_.diagram.arrays[at(array)], nullptr,
                             p_.levels.size() > at(p_.block_level) + 1 ? agent_of(array) : nullptr),
                      type);
    }
    return out;
  }

  [[nodiscard]] bool streams(ArrayId array) const { return s_.stream && s_.diagram.arrays[at(array)].has(*s_.stream); }

  [[nodiscard]] Bytes auxiliary_size(const Auxiliary& auxiliary, LevelId level) const {
    for (const Variable& v : p_.variables) {
      const auto& of = p_.mapping->variables[at(v.mapping)].of;
      if (std::find(of.begin(), of.end(), auxiliary.name) == of.end()) continue;
      return v.level == level ? bytes_of(values(auxiliary.axes, &v, agent_of(v)), v.type) : Bytes{};
    }
    return is_deepest(level) ? bytes_of(values(auxiliary.axes, nullptr, nullptr), plain_type()) : Bytes{};
  }

  const PlacedDiagram& p_;
  const Streamed& s_;
  std::vector<std::size_t> owner_;        // variable whose place it takes, by variable
  std::vector<std::vector<Bytes>> held_;  // bytes that it holds of each of its arrays, by variable
  std::vector<Bytes> held_by_, most_;     // bytes of the current column
};

std::optional<Bytes> limit_of(const PlacedDiagram& placed, const PlacedLevel& placed_level) {
  const Level& level = placed.machine->levels[at(placed_level.level)];
  if (&placed_level == &placed.block() && level.per_block)
    return Bytes(Count(static_cast<std::int64_t>(level.per_block->value)));
  if (!level.capacity.known()) return std::nullopt;
  return Bytes(Count(static_cast<std::int64_t>(level.capacity.best().value)));
}

}  // namespace

std::vector<LevelMemory> memories(const PlacedDiagram& placed) {
  Holder holder(placed);
  const std::vector<Column> drawn = columns(*placed.streamed, ColumnView::drawn);
  const std::vector<Column> live = columns(*placed.streamed, ColumnView::live);
  std::vector<LevelMemory> out;
  for (const PlacedLevel& level : placed.levels) {
    LevelMemory m;
    m.level = level.level;
    m.lower_bound = holder.largest(drawn, level.level, false);
    m.live = holder.largest(live, level.level, true);
    m.limit = limit_of(placed, level);
    if (placed.mapping->exact_groups) {
      m.allocated = m.live;  // without a kernel there are no buffers: only the values count
    } else if (&level == &placed.block()) {
      m.allocated = shared_bytes(placed);
    } else {
      m.allocated = holder.allocated(level.level);
    }
    out.push_back(m);
  }
  return out;
}

std::vector<ColumnMemory> column_memories(const PlacedDiagram& placed, ColumnView view) {
  Holder holder(placed);
  std::vector<ColumnMemory> out;
  for (const Column& column : columns(*placed.streamed, view)) {
    ColumnMemory& one = out.emplace_back(ColumnMemory{column, {}});
    for (const PlacedLevel& level : placed.levels)
      one.held.push_back(holder.size(column, level.level, view == ColumnView::live));
  }
  return out;
}

}  // namespace napkin::internal
