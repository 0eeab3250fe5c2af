#pragma once
// A landscape shows two knobs of a kernel at a time: for each pair of their values the best time that a tile with them
// reaches, whatever its other knobs are, or the rule that excludes all such tiles. Internal to apps/.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/mapping/tile.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// All tiles with one value of each of the two knobs.
struct LandscapeCell {
  std::optional<double> time;  ///< seconds of the fastest; none: no such tile is legal
  TileValues tile;             ///< the fastest; empty: none
  std::string reason;          ///< reason if no tile is legal: the constraint that keeps most of them out, such as
                               ///< "shared memory"
  bool chosen = false;         ///< true if the report's tile has these two values
};

struct LandscapeAnswer {
  std::string down, across;              ///< names of the two knobs, the one with more values down
  std::string down_unit, across_unit;    ///< "rows", "copies"; empty for words
  std::vector<KnobValue> rows, columns;  ///< the two knobs' values: numbers ascending, words by preference
  std::vector<LandscapeCell> cells;      ///< cells, row by row

  [[nodiscard]] const LandscapeCell& at(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
};

/// Returns tables of times for the pairs of knobs that change the time most, `most` pairs at most. Pairs with more
/// cells than can be ranked in half a second are left out. `chosen` is marked; it need not be legal.
[[nodiscard]] std::vector<LandscapeAnswer> landscapes_of(const Setup& setup, const Tile& chosen, std::size_t most);

}  // namespace napkin::internal
