#pragma once
// A Space holds the tiles that a question leaves open: one list of values per knob, in the order of preference. An
// option `--tile stages=2` leaves that knob one value.

#include <cstdint>
#include <map>
#include <vector>

#include "solver/space/setup.hpp"

namespace napkin::internal {

/// The tile space of a question. A tile's rank is its position in lexicographic order, first knob first, each knob's
/// values in the order of its domain: of tiles with equal predictions the one of lower rank is preferred.
struct Space {
  std::vector<std::vector<std::int64_t>> domains;  ///< values by KnobId; never empty
  std::vector<std::int64_t> strides;               ///< distance in rank between two neighbouring values, by KnobId
  Count candidates;                                ///< product of the domains' sizes

  /// Returns the tile of that rank (0 to candidates - 1).
  [[nodiscard]] Tile tile(std::int64_t rank) const;
  void tile(std::int64_t rank, Tile& into) const;
  /// Returns, for the tile of that rank, the index of a knob's value in the knob's domain.
  [[nodiscard]] std::int64_t digit(std::int64_t rank, std::size_t knob) const {
    return rank / strides[knob] % static_cast<std::int64_t>(domains[knob].size());
  }
  [[nodiscard]] std::int64_t value(std::int64_t rank, std::size_t knob) const {
    return domains[knob][static_cast<std::size_t>(digit(rank, knob))];
  }
  /// Returns the rank of a tile whose values are all in the domains.
  [[nodiscard]] std::int64_t rank(const Tile& tile) const;
};

/// Makes the space of a question: the mapping's domains, with fixed knobs at their values and without wasteful sizes.
/// At least the smallest value of a knob stays. Throws Overflow for more than 2^63 tiles, Error for an unknown fixed
/// knob.
[[nodiscard]] Space space_of(const Setup& setup);

/// A knob whose values an axis cuts: none is larger than needed to cover the axis, or, if the axis is packed into an
/// agent's rows after another, than the axis.
struct AxisCut {
  KnobId knob = 0;
  AxisId axis = 0;
  bool packed = false;
};
[[nodiscard]] std::vector<AxisCut> axis_cuts(const Setup& setup);
/// Erases the values that the axis's length in the question cuts.
void cut_to_axis(const Setup& setup, const AxisCut& by, std::vector<std::int64_t>& domain);

/// Domains by knob, of those knobs that the search does not take whole.
using ChangedDomains = std::map<KnobId, std::vector<std::int64_t>>;
/// Returns the domains of space_of_kind() that questions of other kinds may have otherwise.
[[nodiscard]] ChangedDomains domains_of_kind(const Setup& setup);

/// Makes the domains that all lengths of grouped and streamed axes share: sizes above the axis stay, and a fixed knob
/// keeps its domain if that contains the value.
[[nodiscard]] Space space_of_kind(const Setup& setup);

}  // namespace napkin::internal
