#pragma once
// KnownGraphs makes the event graphs of one question's tiles, and makes each only once: the 24 tiles of attention_sm90
// that differ in their order and their copies of K, V and Q have one graph, whose edges take each tile's tokens.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The event graphs of tiles of one mapping, machine and problem, by all that a graph reads of a placed tile: at most
/// 256 at a time, which take several kilobytes each.
class KnownGraphs {
 public:
  /// Returns has_event_graph(placed).
  [[nodiscard]] bool has(const PlacedDiagram& placed);
  /// Returns event_graph(placed), valid until the next call.
  [[nodiscard]] const EventGraph& of(const PlacedDiagram& placed);
  using Key = std::vector<std::int64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  /// Returns the variant's place among those met, which live as long as this does.
  [[nodiscard]] std::int64_t number_of(const std::shared_ptr<const void>& variant);
  /// Returns all that the work on pipes in event_nodes(placed) depends on; valid until the next call.
  [[nodiscard]] const Key& key_of_work(const PlacedDiagram& placed);
  /// Returns the latest graph's number: graphs of one number differ in set_tokens() alone.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  void add_alternatives(const PlacedDiagram& placed);
  void add_sizes(const PlacedDiagram& placed);
  void add_waits(const PlacedDiagram& placed);
  void add_copies(const PlacedDiagram& placed);
  void add_order(const PlacedDiagram& placed);

  struct Numbered {
    EventGraph graph;
    std::size_t number = 0;
  };

  Key key_;
  std::size_t number_ = 0, made_ = 0;
  std::vector<std::shared_ptr<const void>> variants_;  // variants met, whose places here are their numbers in keys
  std::unordered_map<Key, Numbered, Hash> graphs_;
  std::unordered_map<Key, bool, Hash> has_;
  std::vector<std::array<int, 2>> copies_;  // numbers of the copies that edges name at their ends; -1: no copy
};

}  // namespace napkin::internal
