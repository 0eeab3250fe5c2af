#pragma once
// Waits checks the edges of a kernel's mapping in one run of a block: for each edge, that its second node waited for
// its first.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/mapping/compile/compiled.hpp"
#include "tests/emulator/edge_nodes.hpp"

namespace test_edges {

using namespace napkin;
using namespace napkin::internal;
using emulator::Event;

class Waits {
 public:
  Waits(const Nodes& nodes, std::int64_t chunks) : nodes_(nodes), chunks_(chunks) {}

  /// Returns the number of pairs of events for which an edge was checked; nothing if it ends within a thread's own
  /// work. `wrong` gets the pairs that did not wait.
  std::optional<std::int64_t> check(const EdgeMapping& edge, std::int64_t tokens, std::int64_t& wrong) const {
    const Node *from = nodes_.find(edge, true), *to = nodes_.find(edge, false);
    if (from == nullptr || to == nullptr) return std::nullopt;
    std::int64_t pairs = 0;
    each_pair(edge, tokens, *from, *to, [&](const Event& earlier, const Event& later) {
      ++pairs;
      wrong += waited(edge, tokens, *from, *to, earlier, later) ? 0 : 1;
    });
    return pairs;
  }

  /// Returns true if some load waits for no later product than the one that last read its buffer: the array has no
  /// fewer copies than the mapping says.
  bool runs_ahead(const std::string& array, const std::string& product, std::int64_t copies) const {
    const auto &loads = nodes_.find("load " + array)->agents.at(0), &products = nodes_.find(product)->agents.at(0);
    for (std::size_t n = static_cast<std::size_t>(copies); n < loads.size(); ++n) {
      if (!products.at(n - static_cast<std::size_t>(copies) + 1)->ended_before(*loads[n])) return true;
    }
    return false;
  }

 private:
  /// Returns the agents of `from` for which agent `a` of `to` waits.
  [[nodiscard]] std::vector<std::size_t> partners(const EdgeMapping& edge, const Node& from, const Node& to,
                                                  std::size_t a) const {
    const auto group = [](const Node& node, std::size_t agent) { return node.thread ? agent / 4 : agent; };
    std::vector<std::size_t> out;
    for (std::size_t f = 0; f < from.agents.size(); ++f) {
      const bool all = edge.barrier || from.for_all || to.for_all,
                 shared = from.agents.size() == 1 || to.agents.size() == 1;
      if (all || (from.thread && to.thread ? f == a : shared || group(from, f) == group(to, a))) out.push_back(f);
    }
    return out;
  }

  template <class Visit>
  void each_pair(const EdgeMapping& edge, std::int64_t tokens, const Node& from, const Node& to,
                 const Visit& visit) const {
    for (std::size_t a = 0; a < to.agents.size(); ++a) {
      for (std::size_t m = 0; m < to.agents[a].size(); ++m) {
        if (edge.agents > 0) {
          from_neighbour(edge, from, to, a, m, visit);
          continue;
        }
        const auto n = index_of(edge, tokens, from, to, static_cast<std::int64_t>(m) + to.first);
        if (!n || *n < from.first) continue;
        const auto at = static_cast<std::size_t>(*n - from.first);
        for (const std::size_t f : partners(edge, from, to, a)) {
          if (at < from.agents[f].size()) visit(*from.agents[f][at], *to.agents[a][m]);
        }
      }
    }
  }

  /// Visits the pairs of an edge to the next agent; after the last agent comes the first one's next iteration.
  template <class Visit>
  void from_neighbour(const EdgeMapping& edge, const Node& from, const Node& to, std::size_t a, std::size_t m,
                      const Visit& visit) const {
    const std::size_t before = (a + from.agents.size() - 1) % from.agents.size();
    const std::int64_t n = static_cast<std::int64_t>(m) - edge.distance - (a == 0 ? 1 : 0);
    if (n < 0 || n >= std::ssize(from.agents[before])) return;
    // Turns are taken between a tile's first product and its last.
    const std::int64_t later = static_cast<std::int64_t>(m) % chunks_;
    const bool products = !from.by_tile && chunks_ > 1;
    if (products && (n / chunks_ != static_cast<std::int64_t>(m) / chunks_ || n % chunks_ == 0 || later == 0 ||
                     n % chunks_ == chunks_ - 1 || later == chunks_ - 1))
      return;
    visit(*from.agents[before][static_cast<std::size_t>(n)], *to.agents[a][m]);
  }

  /// Returns the iteration of `from` for which iteration m of `to` waits.
  [[nodiscard]] std::optional<std::int64_t> index_of(const EdgeMapping& edge, std::int64_t tokens, const Node& from,
                                                     const Node& to, std::int64_t m) const {
    if (from.by_tile != to.by_tile) {
      if (!to.by_tile && m % chunks_ != 0) return std::nullopt;  // a tile's first chunk
      const std::int64_t tile = (to.by_tile ? m : m / chunks_) - tokens;
      if (tile < 0) return std::nullopt;
      return from.by_tile ? tile : tile * chunks_ + chunks_ - 1;  // its last
    }
    const std::int64_t n = m - tokens - edge.distance;
    if (n < 0) return std::nullopt;
    if (from.by_tile || edge.distance == 0) return n;
    // Only chunks of one tile are compared: at a tile's end requests have another order.
    const std::int64_t other = tokens > 0 ? n + edge.distance : m;
    return n / chunks_ == other / chunks_ && other >= 0 ? std::optional(n) : std::nullopt;
  }

  [[nodiscard]] bool waited(const EdgeMapping& edge, std::int64_t tokens, const Node& from, const Node& to,
                            const Event& earlier, const Event& later) const {
    const bool copies = earlier.kind == Event::Kind::load && later.kind == Event::Kind::load;
    if (copies) return &earlier < &later;
    const bool tensors = earlier.kind == Event::Kind::product && later.kind == Event::Kind::product;
    const bool handed_over = edge.issued || (tensors && tokens == 0 && edge.to.find('.') == std::string::npos);
    if (tensors && handed_over && earlier.part == later.part) return earlier.commit < later.commit;
    if (handed_over) {
      if (to.thread) return later.before[later.part] >= earlier.issued[later.agent % 4];
      // The warpgroup's first warp releases a stage.
      if (later.kind == Event::Kind::load) return later.before[earlier.issuer] >= earlier.issued[0];
      return earlier.issued_before(later);
    }
    if (from.thread && later.kind == Event::Kind::product && !edge.barrier && !from.for_all && !from.for_group)
      return later.issued[earlier.agent % 4] >= earlier.time;
    // The warpgroup's first warp releases V's stages, each warp K's.
    if (from.thread && !from.for_all && later.array == "V" && earlier.agent % 4 != 0) return true;
    // Only the warp that stored waits for the store.
    if (earlier.kind == Event::Kind::store && to.thread && later.part != earlier.issuer) return true;
    return earlier.ended_before(later);
  }

  const Nodes& nodes_;
  std::int64_t chunks_;
};

}  // namespace test_edges
