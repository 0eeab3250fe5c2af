#include <algorithm>

#include "model/mapping/compiled.hpp"

namespace napkin {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

Count product(const std::vector<AxisId>& axes, const std::vector<Count>& extent) {
  Count out = 1;
  for (const AxisId axis : axes) out *= extent[at(axis)];
  return out;
}

}  // namespace

bool holds(const Guard& guard, const Tile& tile) {
  return std::all_of(guard.all.begin(), guard.all.end(), [&](const auto& term) {
    const std::int64_t v = tile.values[at(term.first)];
    return std::find(term.second.begin(), term.second.end(), v) != term.second.end();
  });
}

Count number_of(const GuardedNumber& alternatives, const Tile& tile, Count otherwise) {
  for (const auto& [guard, number] : alternatives) {
    if (holds(*guard, tile)) return number.of(tile);
  }
  return otherwise;
}

const PlacedLevel* PlacedDiagram::find_level(LevelId id) const {
  for (const PlacedLevel& level : levels) {
    if (level.level == id) return &level;
  }
  return nullptr;
}

Placer::Placer(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem)
    : compiled_(std::make_unique<Compiled>(streamed, mapping, machine, problem)) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

PlacedDiagram Placer::place(const Tile& tile) const {
  PlacedDiagram out;
  compiled_->place(tile, out);
  return out;
}

void Placer::place(const Tile& tile, PlacedDiagram& into) const { compiled_->place(tile, into); }

const std::shared_ptr<const Variant>& Placer::Compiled::variant_of(const Tile& tile) const {
  std::size_t index = 0;
  for (const Told& t : told_) {
    const auto value = std::find(t.values.begin(), t.values.end(), tile.values[at(t.knob)]);
    index += t.stride * static_cast<std::size_t>(value - t.values.begin());
  }
  std::call_once(made_[index], [&] { variants_[index] = make_variant(tile); });
  return variants_[index];
}

void Placer::Compiled::place(const Tile& tile, PlacedDiagram& into) const {
  if (tile.values.size() != mapping_->knobs.size()) {
    throw Error(mapping_->name, "a tile of " + std::to_string(tile.values.size()) + " values",
                std::to_string(mapping_->knobs.size()) + ", one for each knob");
  }
  const std::shared_ptr<const Variant>& variant = variant_of(tile);
  if (into.variant != variant) {
    into.streamed = streamed_;
    into.machine = machine_;
    into.mapping = mapping_;
    into.problem = problem_;
    into.block_level = block_;
    into.across = across_;
    into.variables = variant->variables;
    into.crossings = variant->crossings;
    into.operations = variant->operations;
    into.levels.resize(levels_.size());
    into.agents.resize(agents_.size());
    into.variant = variant;
  }
  into.tile.values.assign(tile.values.begin(), tile.values.end());
  place_levels(tile, into);
  place_variables(tile, into);
  place_operations(tile, into, *variant);
}

// Levels: the block's first (all others follow from it), then above, agents, below.

void Placer::Compiled::count_groups(PlacedLevel& level) const {
  level.groups_of.resize(level.extent.size());
  level.groups = 1;
  for (std::size_t i = 0; i < level.extent.size(); ++i) {
    level.groups_of[i] = ceil_div(problem_->sizes[i], level.extent[i]);
    level.groups *= level.groups_of[i];
  }
}

void Placer::Compiled::place_level(std::size_t position, const Tile& tile, PlacedDiagram& into) const {
  const CompiledLevel& c = levels_[position];
  PlacedLevel& level = into.levels[position];
  level.level = c.id;
  level.staged = c.staged;
  level.extent.assign(problem_->sizes.begin(), problem_->sizes.end());
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    if (c.sizes[i].from != AxisSize::From::number) continue;
    level.extent[i] = c.sizes[i].number.of(tile);
    if (mapping_->exact_groups) level.extent[i] = std::min(level.extent[i], problem_->sizes[i]);
  }
  if (streamed_->stream) {
    level.chunk = level.extent[at(*streamed_->stream)];
    if (c.chunk) level.chunk = c.chunk->of(tile);
    if (mapping_->exact_groups) level.chunk = std::min(level.chunk, level.extent[at(*streamed_->stream)]);
  }
  count_groups(level);
}

// A cluster is `nodes` blocks side by side: together they are one larger group.
void Placer::Compiled::place_cluster(const Tile& tile, PlacedDiagram& into) const {
  const CompiledLevel& c = levels_[at(cluster_)];
  const PlacedLevel& block = into.block();
  PlacedLevel& level = into.levels[at(cluster_)];
  level.level = c.id;
  level.staged = false;
  level.chunk = block.chunk;
  level.extent.assign(block.extent.begin(), block.extent.end());
  into.cluster = c.nodes.of(tile);
  level.extent[at(c.along)] *= into.cluster;
  count_groups(level);
}

void Placer::Compiled::place_levels(const Tile& tile, PlacedDiagram& into) const {
  place_level(at(block_), tile, into);
  PlacedLevel& block = into.levels[at(block_)];
  for (int i = 0; i < block_; ++i) {
    if (i == cluster_) continue;
    place_level(static_cast<std::size_t>(i), tile, into);
    if (!levels_[at(i)].chunk) into.levels[at(i)].chunk = block.chunk;
    walk(into.levels[at(i)], block);
  }
  into.blocks = block.groups;
  into.cluster = 1;
  if (cluster_ >= 0) {
    place_cluster(tile, into);
    walk(into.levels[at(cluster_)], block);
  }
  walk(block, block);
  place_agents(tile, into);
  place_below(tile, into);
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
    agent.overhead = number_of(c.overhead, tile, 0);
    agent.extent.assign(block.extent.begin(), block.extent.end());
    if (streamed_->stream) agent.extent[at(*streamed_->stream)] = block.chunk;
    // The instances divide the split axes in their order, each as evenly as it goes; the last takes what is left over.
    Count left = agent.instances;
    for (std::size_t a = 0; a < c.splits.size(); ++a) {
      Count& extent = agent.extent[at(c.splits[a])];
      Count parts = left;
      for (Count x = extent; a + 1 < c.splits.size() && x != Count(0);) {  // greatest common divisor
        const Count rest = parts % x;
        parts = x;
        x = rest;
      }
      extent = ceil_div(extent, parts);
      left = left / parts;
    }
    agent.rows = product(c.splits, agent.extent);
    into.threads += agent.instances * agent.threads;
  }
}

// Levels of the agents: the block's group, divided among the instances.
void Placer::Compiled::place_below(const Tile& tile, PlacedDiagram& into) const {
  const PlacedLevel& block = into.block();
  for (std::size_t position = at(block_) + 1; position < levels_.size(); ++position) {
    const CompiledLevel& c = levels_[position];
    PlacedLevel& level = into.levels[position];
    level.level = c.id;
    level.staged = c.staged;
    level.walk = block.walk;
    level.chunk = c.chunk ? c.chunk->of(tile) : into.levels[position - 1].chunk;
    level.extent.assign(block.extent.begin(), block.extent.end());
    level.groups_of.assign(block.groups_of.begin(), block.groups_of.end());
    if (divider_ >= 0) {
      const PlacedAgent& agent = into.agents[at(divider_)];
      Count left = agent.instances;
      const auto& splits = agents_[at(divider_)].splits;
      for (std::size_t a = 0; a < splits.size(); ++a) {
        const std::size_t axis = at(splits[a]);
        const Count parts = a + 1 < splits.size() ? ceil_div(block.extent[axis], agent.extent[axis]) : left;
        level.extent[axis] = agent.extent[axis];
        level.groups_of[axis] *= parts;
        left = left / parts;
      }
    }
    for (std::size_t i = 0; i < c.sizes.size(); ++i) {
      if (c.sizes[i].from != AxisSize::From::number) continue;
      const Count extent = c.sizes[i].number.of(tile);
      level.groups_of[i] = block.groups_of[i] * ceil_div(block.extent[i], extent);
      level.extent[i] = extent;
    }
    level.groups = 1;
    for (const Count groups : level.groups_of) level.groups *= groups;
  }
}

// What the groups of a level visit of the streamed axis. Chunks start where the block's part of that axis starts.
void Placer::Compiled::walk(PlacedLevel& level, const PlacedLevel& block) const {
  Walk& w = level.walk;
  w = Walk{};
  w.total = {1, 1, 1, 1};
  w.last_chunks = w.last_columns = 1;
  if (!streamed_->stream) return;
  const Count columns = problem_->sizes[at(*streamed_->stream)];
  const Count part = std::min(block.extent[at(*streamed_->stream)], columns), chunk = level.chunk;
  w.all_chunks = columns / part * ceil_div(part, chunk) + ceil_div(columns % part, chunk);
  w.total = {1, w.all_chunks, columns, ceil_div(part, chunk)};
  w.last_chunks = w.all_chunks;
  w.last_columns = columns;
  if (!across_) return;
  w.across = level.extent[at(*across_)];
  if (part == columns) {
    walk_masked(w, chunk.get());
  } else {
    walk_masked_parts(w, chunk.get(), part.get());
  }
}

void Placer::Compiled::walk_masked(Walk& w, std::int64_t chunk) const {
  const std::int64_t along = problem_->sizes[at(*streamed_->stream)].get(), group = w.across.get();
  const std::int64_t across = problem_->sizes[at(*across_)].get();
  const bool by_columns = (*streamed_->skips)[1] == *streamed_->stream;
  w.total = by_columns ? visits(problem_->mask, across, along, group, chunk)
                       : visits_of_rows(problem_->mask, along, across, group, chunk);
  const std::int64_t first = (w.total.row_groups.get() - 1) * group;
  const Span seen = by_columns ? visible(problem_->mask, first, across, across, along)
                               : visible_rows(problem_->mask, first, across, along, across);
  w.last_chunks = w.last_columns = 0;
  if (seen.size() == 0) return;
  const std::int64_t begin = seen.first / chunk, end = (seen.last - 1) / chunk + 1;
  w.last_chunks = end - begin;
  w.last_columns = (end > along / chunk ? along : end * chunk) - begin * chunk;
}

// The streamed axis is split too: group by group of both axes.
void Placer::Compiled::walk_masked_parts(Walk& w, std::int64_t chunk, std::int64_t part) const {
  const std::int64_t along = problem_->sizes[at(*streamed_->stream)].get(), group = w.across.get();
  const std::int64_t across = problem_->sizes[at(*across_)].get();
  const bool by_columns = (*streamed_->skips)[1] == *streamed_->stream;
  w.total = {ceil_div(across, group), 0, 0, 0};
  for (std::int64_t first = 0, last = 0; first < across; first = last) {
    last = group < across - first ? first + group : across;
    const Span seen = by_columns ? visible(problem_->mask, first, last, across, along)
                                 : visible_rows(problem_->mask, first, last, along, across);
    w.last_chunks = w.last_columns = 0;
    for (std::int64_t begin = seen.first / part * part; seen.size() > 0 && begin < seen.last; begin += part) {
      const std::int64_t end = std::min(begin + part, along);
      const std::int64_t from = begin + std::max<std::int64_t>(seen.first - begin, 0) / chunk * chunk;
      const std::int64_t visited = ceil_div(std::min(seen.last, end) - from, chunk).get();
      w.last_chunks += visited;
      w.last_columns += visited < ceil_div(end - from, chunk).get() ? visited * chunk : end - from;
      w.total.longest = std::max(w.total.longest, Count(visited));
    }
    w.total.chunks += w.last_chunks;
    w.total.columns += w.last_columns;
  }
}

// Variables and operations.

void Placer::Compiled::place_variables(const Tile& tile, PlacedDiagram& into) const {
  for (Variable& v : into.variables) {
    const CompiledVariable& c = variables_[at(v.mapping)];
    const bool agents = v.scope == Scope::agent && c.agent >= 0;
    const PlacedLevel& level = into.levels[at(std::max(c.position, block_))];
    const bool below = c.position > block_;
    const auto size = [&](AxisId axis) {
      for (const auto& [part, number] : c.sizes) {
        if (part == axis) return number.of(tile);
      }
      if (streamed_->stream == axis) return below ? level.chunk : into.block().chunk;
      if (agents) return into.agents[at(c.agent)].extent[at(axis)];
      return into.block().extent[at(axis)];
    };
    v.elements = 0;
    for (const std::vector<AxisId>& axes : c.axes) {
      Count one = 1;
      for (const AxisId axis : axes) one *= size(axis);
      v.elements += one;
    }
    v.copies = number_of(c.copies, tile, 1);
  }
}

void Placer::Compiled::place_operations(const Tile& tile, PlacedDiagram& into, const Variant& variant) const {
  const PlacedLevel& block = into.block();
  const auto extent = [&](AxisId axis) { return streamed_->stream == axis ? block.chunk : block.extent[at(axis)]; };
  const auto size = [&](const std::vector<AxisId>& axes) {
    Count out = 1;
    for (const AxisId axis : axes) out *= extent(axis);
    return out;
  };
  for (std::size_t i = 0; i < into.operations.size(); ++i) {
    PlacedOperation& op = into.operations[i];
    const CompiledOperation& c = operations_[i];
    op.m = size(c.m);
    op.n = size(c.n);
    op.k = size(c.k);
    for (std::size_t w = 0; w < op.work.size(); ++w) {
      const CompiledWork& work = c.work[at(variant.work[i][w])];
      double amount = work.mapping->count;
      for (const AxisId axis : work.per) {
        Count each = extent(axis);
        for (const auto& [part, number] : work.per_chunk) {
          if (part == axis) each = ceil_div(each, number.of(tile));
        }
        amount *= static_cast<double>(each);
      }
      op.work[w].amount = amount;
    }
  }
}

}  // namespace napkin
