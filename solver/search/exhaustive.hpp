#pragma once
// select_exhaustively places and times every legal tile by itself, which a Selector is tested against, and from which a
// sweep draws: 6,578 tiles of attention_sm90 take seconds.

#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/select/select.hpp"
#include "solver/space/candidates.hpp"
#include "solver/space/setup.hpp"

namespace napkin::internal {

class Periods;

/// Every legal tile with its prediction, best first. Tiles are timed by the event graph if every legal tile has one,
/// else by the roofline.
struct Exhausted {
  struct Timed : Ranked {
    Count into_blocks;  ///< result of bytes_into_blocks()
    Seconds tie;        ///< time that breaks ties of time and bytes; for the ideal mapping without re-reads
  };
  std::vector<Timed> all;
  Rejections rejections;
};
/// Times every legal tile. Takes periods of known graphs from `periods`, if it is given.
[[nodiscard]] Exhausted select_exhaustively(const Setup& setup, Periods* periods = nullptr);
/// Makes the Selection that Selector::rank() gives, from all tiles.
[[nodiscard]] Selection selection_of(const Setup& setup, const Exhausted& exhausted, int top);

}  // namespace napkin::internal
