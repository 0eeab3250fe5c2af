// A tile placed: levels, agents, variables and operations with their sizes.
#include <algorithm>

#include "model/diagram/reindex.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/mapping/own_parts.hpp"
#include "model/mapping/table_rows.hpp"

namespace napkin::internal {
namespace {

Count product(const std::vector<AxisId>& axes, const std::vector<Count>& extent) {
  Count out = 1;
  for (const AxisId axis : axes) out *= extent[at(axis)];
  return out;
}

Count product(const std::vector<Count>& numbers) {
  Count out = 1;
  for (const Count number : numbers) out *= number;
  return out;
}

}  // namespace

// Levels: the block's first (all others follow from it), then above, agents, below.

void Placer::Compiled::place_level(std::size_t position, const Tile& tile, PlacedDiagram& into) const {
  PlacedLevel& level = into.levels[position];
  for (const auto& [axis, number] : levels_[position].sizes) {
    const Count size = problem_->sizes[at(axis)];
    Count& extent = level.extent[at(axis)];
    extent = mapping_->exact_groups ? std::min(number.of(tile), size) : number.of(tile);
    level.groups_of[at(axis)] = ceil_div(size, extent);
  }
  if (const CompiledLevel& c = levels_[position]; c.parts) cut_stream(c, tile, level, into);
  level.groups = product(level.groups_of);
}

/// Divides the stream into parts of whole chunks. If the tile leaves their number to the kernel, its rule counts the
/// blocks of whole rows.
void Placer::Compiled::cut_stream(const CompiledLevel& c, const Tile& tile, PlacedLevel& level,
                                  PlacedDiagram& into) const {
  const Count size = problem_->sizes[at(stream_)], chunk = c.chunk ? c.chunk->of(tile) : Count(1);
  Count parts = c.parts->of(tile);
  into.own_parts = 0;
  if (c.own_parts != nullptr && parts == Count(0)) {
    level.groups_of[at(stream_)] = 1;
    parts = own_parts(*c.own_parts, {product(level.groups_of), machine_->compute_nodes(), size, chunk});
    into.own_parts = parts;
  }
  const Count extent = round_up(ceil_div(size, std::max(parts, Count(1))), chunk);
  level.extent[at(stream_)] = parts == Count(1) ? size : extent;
  level.groups_of[at(stream_)] = ceil_div(size, level.extent[at(stream_)]);
}

/// Places a cluster, `nodes` blocks side by side that form one larger group. Blocks without rows that complete the last
/// cluster count as blocks: they load their share of the cluster's copies and wait at its barriers, but do no work on
/// rows.
void Placer::Compiled::place_cluster(const Tile& tile, PlacedDiagram& into) const {
  const CompiledLevel& c = levels_[at(cluster_)];
  PlacedLevel& block = into.levels[at(block_)];
  PlacedLevel& level = into.levels[at(cluster_)];
  level.extent.assign(block.extent.begin(), block.extent.end());
  level.groups_of.assign(block.groups_of.begin(), block.groups_of.end());
  into.cluster = c.nodes.of(tile);
  into.together = c.together && into.across == c.along;
  if (c.rounds_up) {
    block.groups_of[at(c.along)] = round_up(block.groups_of[at(c.along)], into.cluster);
    block.groups = product(block.groups_of);
  }
  level.extent[at(c.along)] *= into.cluster;
  level.groups_of[at(c.along)] = ceil_div(problem_->sizes[at(c.along)], level.extent[at(c.along)]);
  level.groups = product(level.groups_of);
}

void Placer::Compiled::place_levels(const Tile& tile, PlacedDiagram& into) const {
  place_level(at(block_), tile, into);
  for (int i = 0; i < block_; ++i) {
    if (i != cluster_) place_level(at(i), tile, into);
  }
  into.cluster = 1, into.together = false;
  if (cluster_ >= 0) place_cluster(tile, into);
  into.blocks = into.block().groups;
  place_chunks(tile, into);
  place_agents(tile, into);
  place_below(tile, into);
}

/// Sets each level's chunk of the streamed axis. A level without one of its own has the block's if it lies above the
/// block, else that of the level above it, since all agents of a block walk together.
void Placer::Compiled::place_chunks(const Tile& tile, PlacedDiagram& into) const {
  PlacedLevel& block = into.levels[at(block_)];
  const auto chunk = [&](int position, Count otherwise) {
    const CompiledLevel& c = levels_[at(position)];
    if (!c.chunk) return otherwise;
    const Count own = c.chunk->of(tile);
    return mapping_->exact_groups ? std::min(own, into.levels[at(position)].extent[at(stream_)]) : own;
  };
  if (stream_ >= 0) block.chunk = chunk(block_, block.extent[at(stream_)]);
  into.walk = walk_of(into, block);
  for (int i = 0; i < block_; ++i) into.levels[at(i)].chunk = i == cluster_ ? block.chunk : chunk(i, block.chunk);
  for (int i = block_ + 1; i < static_cast<int>(levels_.size()); ++i) {
    into.levels[at(i)].chunk = levels_[at(i)].chunk ? levels_[at(i)].chunk->of(tile) : into.levels[at(i - 1)].chunk;
  }
}

namespace {

Count common_divisor(Count a, Count b) {
  while (b != Count(0)) {
    const Count rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

}  // namespace

/// Divides the split axes among the instances, in their order, in whole steps and as evenly as possible; the last axis
/// takes the rest. Instances beyond an axis's steps repeat rows, if the kernel allows that.
void Placer::Compiled::place_agent(const CompiledAgent& c, const Tile& tile, const PlacedLevel& block,
                                   PlacedAgent& agent) const {
  Count left = agent.instances;
  for (std::size_t a = 0; a < c.splits.size(); ++a) {
    const Count whole = c.splits[a] == stream_ ? block.chunk : block.extent[at(c.splits[a])],
                step = c.split_steps[a].of(tile);
    const Count steps = whole % step == Count(0) ? whole / step : Count(1);
    Count parts = a + 1 < c.splits.size() ? common_divisor(left, steps) : left;
    if (c.repeats && a + 1 == c.splits.size())
      parts = std::min(left, std::max(whole / std::max(step, c.row_step.of(tile)), Count(1)));
    agent.extent[at(c.splits[a])] = ceil_div(whole, parts);
    left = left / parts;
  }
  agent.rows = product(c.splits, agent.extent);
}

void Placer::Compiled::place_agents(const Tile& tile, PlacedDiagram& into) const {
  const PlacedLevel& block = into.block();
  into.threads = 0;
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const CompiledAgent& c = agents_[i];
    PlacedAgent& agent = into.agents[i];
    agent.mapping = static_cast<int>(i);
    agent.instances = number_of(c.count, tile, 1);
    agent.threads = c.threads.of(tile);
    agent.registers.reset();
    if (!c.registers.empty()) agent.registers = number_of(c.registers, tile, 0);
    agent.compiled = c.compiled && has_row(*c.registers.front().second.table, *mapping_, tile);
    // registers by the rule, as for a kernel without a register table
    if (c.compiled && !agent.compiled) agent.registers.reset();
    agent.overhead = number_of(c.overhead, tile, 0);
    agent.extent.assign(block.extent.begin(), block.extent.end());
    if (stream_ >= 0) agent.extent[at(stream_)] = block.chunk;
    place_agent(c, tile, block, agent);
    into.threads += agent.instances * agent.threads;
  }
}

/// Places the levels of the agents: the block's group, divided among the instances.
void Placer::Compiled::place_below(const Tile& tile, PlacedDiagram& into) const {
  const PlacedLevel& block = into.block();
  for (std::size_t position = at(block_) + 1; position < levels_.size(); ++position) {
    const CompiledLevel& c = levels_[position];
    PlacedLevel& level = into.levels[position];
    level.extent.assign(block.extent.begin(), block.extent.end());
    level.groups_of.assign(block.groups_of.begin(), block.groups_of.end());
    const int divider = c.agent >= 0 ? c.agent : divider_;
    if (divider >= 0 && !agents_[at(divider)].splits.empty()) {
      const PlacedAgent& agent = into.agents[at(divider)];
      Count left = agent.instances;
      const auto& splits = agents_[at(divider)].splits;
      for (std::size_t a = 0; a < splits.size(); ++a) {
        const std::size_t axis = at(splits[a]);
        if (splits[a] == stream_) continue;  // all instances walk the stream together
        const Count parts = a + 1 < splits.size() ? ceil_div(block.extent[axis], agent.extent[axis]) : left;
        level.extent[axis] = agent.extent[axis];
        level.groups_of[axis] *= parts;
        left = left / parts;
      }
    }
    for (const auto& [axis, number] : c.sizes) {
      const Count extent = number.of(tile);
      level.groups_of[at(axis)] = block.groups_of[at(axis)] * ceil_div(block.extent[at(axis)], extent);
      level.extent[at(axis)] = extent;
    }
    level.groups = product(level.groups_of);
  }
}

// Variables and operations. Where the chunk alone has changed, what lacks the streamed axis stays.

void Placer::Compiled::place_variables(const Tile& tile, PlacedDiagram& into, bool chunks_alone) const {
  const PlacedLevel& block = into.block();
  for (Variable& v : into.variables) {
    const CompiledVariable& c = variables_[at(v.mapping)];
    if (chunks_alone && !c.streams) continue;
    v.divided = c.divided != nullptr && holds(*c.divided, tile);
    const bool agents = v.scope == Scope::agent && c.agent >= 0;
    const Count chunk = into.levels[at(std::max(c.position, block_))].chunk;
    const std::vector<Count>& extent = agents ? into.agents[at(c.agent)].extent : block.extent;
    const auto size = [&](AxisId axis) {
      for (const auto& [part, number] : c.sizes) {
        if (part == axis) return std::min(number.of(tile), axis == stream_ ? chunk : block.extent[at(axis)]);
      }
      if (axis != stream_) return extent[at(axis)];
      return agents ? std::min(chunk, extent[at(axis)]) : chunk;
    };
    v.elements = 0;
    for (const Extents& held : c.held) {
      Count one = held.constant;
      for (const AxisId axis : held.axes) one *= held.shifted == nullptr ? size(axis) : Count(1);
      v.elements += held.shifted == nullptr ? one : one * part_of(*held.shifted, size);
    }
    if (v.divided) v.elements = ceil_div(v.elements, std::max(into.cluster, Count(1)));
  }
}

void Placer::Compiled::place_copies(const Tile& tile, PlacedDiagram& into) const {
  for (Variable& v : into.variables) {
    const CompiledVariable& c = variables_[at(v.mapping)];
    v.copies = number_of(c.copies, tile, 1);
    v.column_parts = number_of(c.column_parts, tile, 1);
    v.multicast = c.multicast != nullptr && holds(*c.multicast, tile);
    v.unpermuted = c.unpermuted != nullptr && holds(*c.unpermuted, tile);
  }
}

/// Finds into how many parts the agent's instances divide the rows and the columns of an operation's result. Instances
/// that divide no columns divide rows, or, if the kernel says so, repeat the others' work.
void Placer::Compiled::place_parts(const CompiledOperation& c, const Tile& tile, const PlacedDiagram& into,
                                   PlacedOperation& op) const {
  if (c.agent < 0) return;
  const PlacedAgent& agent = into.agents[at(c.agent)];
  if (!c.row_parts.empty()) {
    op.row_parts = std::min(number_of(c.row_parts, tile, 1), agent.instances);
    op.column_parts = std::max(agent.instances / op.row_parts, Count(1));
    op.repeats = 1;
    return;
  }
  const bool swapped = c.swapped(tile);
  const std::vector<AxisId>&of_rows = swapped ? c.columns : c.rows, &of_columns = swapped ? c.rows : c.columns;
  Count rows = 1;
  op.column_parts = 1;
  for (const AxisId axis : agents_[at(c.agent)].splits) {
    const Count parts = ceil_div(into.block().extent[at(axis)], std::max(agent.extent[at(axis)], Count(1)));
    if (std::find(of_columns.begin(), of_columns.end(), axis) != of_columns.end()) op.column_parts *= parts;
    if (std::find(of_rows.begin(), of_rows.end(), axis) != of_rows.end()) rows *= parts;
  }
  const Count left = std::max(agent.instances / op.column_parts, Count(1));
  op.row_parts = agents_[at(c.agent)].repeats ? std::min(rows, left) : left;
  op.repeats = std::max(left / op.row_parts, Count(1));
}

void Placer::Compiled::place_operations(const Tile& tile, PlacedDiagram& into, const Variant& variant,
                                        bool chunks_alone) const {
  const PlacedLevel& block = into.block();
  const auto extent = [&](AxisId axis) { return axis == stream_ ? block.chunk : block.extent[at(axis)]; };
  const auto size = [&](const Extents& extents) {
    Count out = extents.constant;
    for (const AxisId axis : extents.axes) out *= extent(axis);
    return out;
  };
  auto next = variant.work.begin();
  for (std::size_t i = 0; i < into.operations.size(); ++i) {
    PlacedOperation& op = into.operations[i];
    const CompiledOperation& c = operations_[i];
    const bool swapped = c.swapped(tile);
    const Extents &m = swapped ? c.n : c.m, &n = swapped ? c.m : c.n;
    if (!chunks_alone || m.streams) op.m = size(m);
    if (!chunks_alone || n.streams) op.n = size(n);
    if (!chunks_alone || c.k.streams) op.k = size(c.k);
    if (!chunks_alone) place_parts(c, tile, into, op);
    if (!chunks_alone || n.streams) op.n += number_of(c.more_columns, tile, 0) * op.column_parts;
    if (c.waits) op.waits = std::max(c.waits->of(tile), Count(1));
    for (PlacedWork& placed : op.work) {
      const CompiledWork& work = **next++;
      if (chunks_alone && !work.per.streams && work.per_chunk.empty() && !work.counted) continue;
      placed.amount = (work.counted ? real(work.counted->of(tile)) : work.mapping->count) * real(size(work.per));
      if (work.agent == c.agent && !work.mapping->per_thread) placed.amount *= real(op.repeats);
      if (work.mapping->per_thread) {
        const PlacedAgent& agent = into.agents[at(work.agent)];
        placed.amount *= real(agent.instances * agent.threads);
      }
      for (const auto& [axis, each] : work.per_chunk) placed.amount *= real(ceil_div(extent(axis), each.of(tile)));
    }
  }
}

}  // namespace napkin::internal
