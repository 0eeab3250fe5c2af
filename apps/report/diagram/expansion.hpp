#pragma once
// expansion_of() draws the recursion by which a stream is expanded: F over x, then B after F over the rest of x, and so
// on until a chunk is left; stages_picture() draws a derivation, a diagram below the other.

#include <optional>

#include "apps/report/diagram/drawing.hpp"
#include "apps/report/json/json.hpp"
#include "model/fusion/stages.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal::report {

/// The sizes of a stream, if they are known.
struct StreamSizes {
  std::int64_t axis = 0, chunk = 0;
  [[nodiscard]] std::int64_t chunks() const { return (axis + chunk - 1) / chunk; }
};
/// Returns the sizes at the level of the blocks; nothing if nothing streams.
[[nodiscard]] std::optional<StreamSizes> stream_sizes(const PlacedDiagram& placed);

/// Draws the recursion of a streamed algorithm. Throws Error if nothing streams.
[[nodiscard]] Drawing expansion_of(const Streamed& streamed, const std::optional<StreamSizes>& sizes);
/// Draws the stages of a derivation, each as its columns.
[[nodiscard]] Drawing stages_picture(const Streamed& streamed);

/// Converts the recursion: functions, accumulators, state, head, tail, and the number of chunks; null if nothing
/// streams.
[[nodiscard]] Json expansion_json(const Streamed& streamed, const std::optional<StreamSizes>& sizes);
/// Converts the stages: rule, sentence and the program of each.
[[nodiscard]] Json stages_json(const Streamed& streamed);

}  // namespace napkin::internal::report
