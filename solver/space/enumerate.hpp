#pragma once
// A Space holds the tiles that a question leaves open: one list of values per knob, in the order of preference. An
// option `--tile stages=2` leaves that knob one value.

#include <cstdint>
#include <vector>

#include "solver/space/question.hpp"

namespace napkin {

/// The tile space of a question. A tile's rank is its position in lexicographic order, first knob first, each knob's
/// values in the order of its domain: of tiles with equal predictions the one of lower rank is preferred.
struct Space {
  std::vector<std::vector<std::int64_t>> domains;  ///< by KnobId; never empty
  std::vector<std::int64_t> strides;               ///< by KnobId: how far apart in rank two neighbouring values are
  Count candidates;                                ///< product of the domains' sizes

  /// The tile of that rank (0 to candidates - 1).
  [[nodiscard]] Tile tile(std::int64_t rank) const;
  void tile(std::int64_t rank, Tile& into) const;
  /// Which of its values a knob has in the tile of that rank: index into its domain.
  [[nodiscard]] std::int64_t digit(std::int64_t rank, std::size_t knob) const {
    return rank / strides[knob] % static_cast<std::int64_t>(domains[knob].size());
  }
  [[nodiscard]] std::int64_t value(std::int64_t rank, std::size_t knob) const {
    return domains[knob][static_cast<std::size_t>(digit(rank, knob))];
  }
  /// Of a tile whose values are all in the domains.
  [[nodiscard]] std::int64_t rank(const Tile& tile) const;
};

/// The mapping's domains, a fixed knob at its one value (which need not be in the domain), and without values that only
/// waste: of a streamed or grouped axis, sizes above the least one that covers the whole axis; of an axis packed
/// into an agent's rows behind another (Agent::splits), sizes above the axis. The first of the split axes is not cut:
/// its rows are what pads an instruction. Where nothing would be left, the smallest value stays. Throws Overflow for
/// more than 2^63 tiles, Error for a fixed knob that the mapping does not have.
[[nodiscard]] Space space_of(const Question& question);

/// The domains that all lengths of grouped and streamed axes share: sizes above the axis stay, and a fixed knob keeps
/// its domain where that has the value.
[[nodiscard]] Space space_of_kind(const Question& question);

}  // namespace napkin
