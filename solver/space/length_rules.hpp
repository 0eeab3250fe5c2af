#pragma once
// LengthRules makes those rules of a question that read the lengths of axes; the other rules are known from another
// question of its kind. Of 17 rules of attention_sm90 they are those of the cluster and of device memory.

#include <cstddef>
#include <utility>
#include <vector>

#include "solver/space/constraints.hpp"

namespace napkin::internal {

class LengthRules {
 public:
  using Add = void (*)(std::vector<TileRule>&, const Streamed&, const Mapping&, const Machine&, const Problem&);
  /// A rule, and its index in Rules::tile.
  using Placed = std::pair<std::size_t, TileRule>;

  /// Finds the functions that add such rules to those of `like`.
  LengthRules(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& like);
  /// Returns the rules for a problem of that kind, in order.
  [[nodiscard]] std::vector<Placed> at(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                                       const Problem& problem) const;
  /// Returns true if a tile keeps them. A tile that is legal at another problem of the kind is then legal at this one,
  /// if its blocks hold the same sizes.
  [[nodiscard]] bool hold(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                          const Problem& problem, const Tile& tile) const;

 private:
  struct Source {
    Add add = nullptr;
    std::size_t first = 0;  ///< index of its first rule in Rules::tile
  };
  std::vector<Source> sources_;
};

/// Returns the functions that add the rules of tiles, in the order of Rules::tile.
[[nodiscard]] const std::vector<LengthRules::Add>& tile_rule_adders();

}  // namespace napkin::internal
