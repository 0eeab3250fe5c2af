#include "model/clock/known_graphs.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/prediction.hpp"
#include "model/mapping/knobs.hpp"
#include "model/resource/order.hpp"

namespace napkin {

bool KnownGraphs::has(const PlacedDiagram& placed) {
  key_.clear();
  add_alternatives(placed);
  key_.push_back(static_cast<std::int64_t>(block_order(placed)));
  key_.push_back(!placed.packed.empty() && takes_one_sequence(placed) ? 1 : 0);
  for (const EdgeMapping& edge : placed.mapping->edges) key_.push_back(holds(edge.when, placed.tile) ? 1 : 0);
  const auto known = has_.find(key_);
  if (known != has_.end()) return known->second.result;
  return has_.emplace(key_, Known<bool>{has_event_graph(placed), placed.variant}).first->second.result;
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
    known = graphs_.emplace(key_, Known<EventGraph>{event_graph(placed), placed.variant, made_++}).first;
  }
  number_ = known->second.number;
  set_tokens(known->second.result, placed.tile);
  return known->second.result;
}

/// Adds the alternatives of the mapping that the tile's knobs choose.
void KnownGraphs::add_alternatives(const PlacedDiagram& placed) {
  key_.insert(key_.end(),
              {std::bit_cast<std::intptr_t>(placed.variant.get()), placed.cluster.get(), placed.threads.get()});
  for (const Variable& v : placed.variables) {
    key_.push_back((v.multicast ? 1 : 0) + (v.divided ? 2 : 0) + (v.unpermuted ? 4 : 0));
    key_.push_back(v.column_parts.get());
  }
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

/// Adds the edges that exist, and of their tokens what set_tokens() does not set: a number that is no knob's value
/// alone, and whether an edge delays at all.
void KnownGraphs::add_waits(const PlacedDiagram& placed) {
  const auto value_of = [&](const Value& value) {
    return value.kind == Value::Kind::knob ? placed.tile.values[static_cast<std::size_t>(value.knob)] + value.more
                                           : value.literal;
  };
  for (const EdgeMapping& edge : placed.mapping->edges) {
    if (!holds(edge.when, placed.tile)) {
      key_.push_back(-1);
      continue;
    }
    const std::int64_t tokens = value_of(edge.tokens);
    const bool is_set = edge.tokens.kind == Value::Kind::knob && edge.tokens.more == 0 && tokens > 0;
    key_.push_back(is_set ? std::min(delay_of(tokens, static_cast<int>(-edge.distance)), 1) : tokens);
  }
  for (const OperationMapping& op : placed.mapping->operations) key_.push_back(op.ahead ? value_of(*op.ahead) : 0);
  // Loads that miss the L2 wait longer, and a permuted order decides how many do.
  key_.push_back(permutes_axes(placed) ? placed.tile.values[static_cast<std::size_t>(*placed.mapping->order_knob())]
                                       : -1);
}

}  // namespace napkin
