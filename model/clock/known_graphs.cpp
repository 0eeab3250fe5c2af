#include "model/clock/known_graphs.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/prediction.hpp"
#include "model/mapping/knobs.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

std::int64_t value_of(const Value& value, const Tile& tile) {
  return value.kind == Value::Kind::knob ? tile.values[static_cast<std::size_t>(value.knob)] + value.more
                                         : value.literal;
}

}  // namespace

std::size_t KnownGraphs::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::int64_t number : key) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

bool KnownGraphs::has(const PlacedDiagram& placed) {
  key_.clear();
  add_alternatives(placed);
  key_.push_back(static_cast<std::int64_t>(block_order(placed)));
  key_.push_back(!placed.packed.empty() && takes_one_sequence(placed) ? 1 : 0);
  for (const EdgeMapping& edge : placed.mapping->edges) key_.push_back(holds(edge.when, placed.tile) ? 1 : 0);
  const auto known = has_.find(key_);
  if (known != has_.end()) return known->second;
  return has_.emplace(key_, has_event_graph(placed)).first->second;
}

const EventGraph& KnownGraphs::of(const PlacedDiagram& placed) {
  key_.clear();
  add_waits(placed);
  add_alternatives(placed);
  add_sizes(placed);
  auto known = graphs_.find(key_);
  if (known == graphs_.end()) {
    constexpr std::size_t most = 256;
    if (graphs_.size() == most) graphs_.clear();
    known = graphs_.emplace(key_, Numbered{event_graph(placed), made_++}).first;
  }
  number_ = known->second.number;
  set_tokens(known->second.graph, placed.tile);
  return known->second.graph;
}

const KnownGraphs::Key& KnownGraphs::key_of_work(const PlacedDiagram& placed) {
  key_.clear();
  add_alternatives(placed);
  add_sizes(placed);
  add_copies(placed);
  return key_;
}

/// Adds the alternatives of the mapping that the tile's knobs choose.
void KnownGraphs::add_alternatives(const PlacedDiagram& placed) {
  key_.insert(key_.end(), {number_of(placed.variant), placed.cluster.get(), placed.threads.get()});
  for (const Variable& v : placed.variables) {
    key_.push_back((v.multicast ? 1 : 0) + (v.divided ? 2 : 0) + (v.unpermuted ? 4 : 0));
    key_.push_back(v.column_parts.get());
  }
}

std::int64_t KnownGraphs::number_of(const std::shared_ptr<const void>& variant) {
  const auto known = std::find(variants_.begin(), variants_.end(), variant);
  const auto number = std::distance(variants_.begin(), known);
  if (known == variants_.end()) variants_.push_back(variant);
  return number;
}

/// Adds all sizes of the placed tile but its numbers of copies and of registers.
void KnownGraphs::add_sizes(const PlacedDiagram& placed) {
  const auto add = [&](std::initializer_list<Count> counts) {
    for (const Count count : counts) key_.push_back(count.get());
  };
  add({placed.blocks, placed.own_parts});
  for (const PlacedLevel& level : placed.levels) {
    add({level.chunk, level.groups});
    for (const Count extent : level.extent) add({extent});
    for (const Count groups : level.groups_of) add({groups});
  }
  for (const PlacedAgent& agent : placed.agents) {
    add({agent.instances, agent.threads, agent.rows});
    for (const Count extent : agent.extent) add({extent});
  }
  for (const Variable& v : placed.variables) add({v.elements});
  for (const PlacedOperation& op : placed.operations) {
    add({op.m, op.n, op.k, op.row_parts, op.column_parts, op.repeats, op.waits});
    for (const PlacedWork& work : op.work) key_.push_back(std::bit_cast<std::int64_t>(work.amount));
  }
}

/// Adds the copies that edges name, and which of them a thread may ask for.
void KnownGraphs::add_copies(const PlacedDiagram& placed) {
  const std::vector<EdgeMapping>& edges = placed.mapping->edges;
  if (copies_.size() != edges.size()) {
    std::vector<std::string> names;
    const auto number = [&](const std::string& name) {
      if (!name.starts_with("load ") && !name.starts_with("store ")) return -1;
      const auto known = std::find(names.begin(), names.end(), name) - names.begin();
      if (known == std::ssize(names)) names.push_back(name);
      return static_cast<int>(known);
    };
    for (const EdgeMapping& edge : edges) copies_.push_back({number(edge.from), number(edge.to)});
  }
  const std::size_t first = key_.size();
  key_.resize(first + 2 * edges.size(), 0);  // no more names than ends
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [from, to] = copies_[e];
    if ((from < 0 && to < 0) || !holds(edges[e].when, placed.tile)) continue;
    if (from >= 0) key_[first + static_cast<std::size_t>(from)] |= 1;
    if (to >= 0) key_[first + static_cast<std::size_t>(to)] |= value_of(edges[e].tokens, placed.tile) == 0 ? 3 : 1;
  }
  add_order(placed);
}

/// Adds the edges that exist, and of their tokens what set_tokens() does not set: a number that is no knob's value
/// alone, and whether an edge delays at all.
void KnownGraphs::add_waits(const PlacedDiagram& placed) {
  for (const EdgeMapping& edge : placed.mapping->edges) {
    if (!holds(edge.when, placed.tile)) {
      key_.push_back(-1);
      continue;
    }
    const std::int64_t tokens = value_of(edge.tokens, placed.tile);
    const bool is_set = edge.tokens.kind == Value::Kind::knob && edge.tokens.more == 0 && tokens > 0;
    key_.push_back(is_set ? std::min(delay_of(tokens, static_cast<int>(-edge.distance)), 1) : tokens);
  }
  for (const OperationMapping& op : placed.mapping->operations)
    key_.push_back(op.ahead ? value_of(*op.ahead, placed.tile) : 0);
  add_order(placed);
}

/// Adds a permuted order: loads that miss the L2 wait longer, and it decides how many do.
void KnownGraphs::add_order(const PlacedDiagram& placed) {
  key_.push_back(permutes_axes(placed) ? placed.tile.values[static_cast<std::size_t>(*placed.mapping->order_knob())]
                                       : -1);
}

}  // namespace napkin::internal
