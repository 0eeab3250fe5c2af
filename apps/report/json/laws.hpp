#pragma once
// These functions print laws as text and as JSON: what any tile moves at least, level by level, and what that asks of
// the pipes ("at least 1.28 GB into shared").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/report/json/json.hpp"
#include "napkin/answers.hpp"
#include "napkin/laws.hpp"

namespace napkin::internal::report {

/// Converts the laws; `tile` holds the bytes that a tile moves at each level, and a value of the question's type has
/// `value_bytes`.
[[nodiscard]] Json json_of(const Laws& laws, const std::vector<LevelAnswer>& tile, double value_bytes);

/// Returns the bytes of a value of the question's type.
[[nodiscard]] double value_bytes_of(const Head& head);

/// Returns the seconds in which a tile's bytes pass the levels of the laws, each at its pipe's rate; nothing if a level
/// is not among the tile's.
[[nodiscard]] std::optional<double> weighted_of(const Laws& laws, const std::vector<LevelAnswer>& tile);

/// Writes "device -> L2 134.2 MB in 29.02 us, L2 -> shared 1.278 GB in 151.2 us; the slowest is L2 -> shared".
[[nodiscard]] std::string least_text(const Laws& laws, const Vocabulary& terms);
/// Writes "180.2 us at least where caches hold what their nodes do; this tile 970.5 us, with caches that hold all".
[[nodiscard]] std::string weighted_text(const Laws& laws, const Mask& mask, const std::vector<LevelAnswer>& tile);
/// Writes ", of all pairs" under a mask, since the laws count masked pairs too.
[[nodiscard]] std::string_view text_of_pairs(const Mask& mask);
/// Writes "in clusters of 2: 639.0 MB from l2's side and 639.0 MB within the cluster, 201 us over all levels".
[[nodiscard]] std::string crossings_text(const Laws& laws);
/// Writes "device -> L2 0.2 TB/s, L2 -> shared 2.1 TB/s; computing takes 620.1 us at the peak".
[[nodiscard]] std::string needed_text(const Laws& laws, const Vocabulary& terms);
/// Writes the values a FLOP that H* needs over each pipe, and that the pipe delivers: "l2 1/8,192 of at most 1/590
/// (1.68e+12 values/s)".
[[nodiscard]] std::string ratios_text(const Laws& laws, double value_bytes);
/// Writes the weighted sum with energies as weights: "8 mJ at least, with energies as weights: l2 2 mJ, computing 6
/// mJ"; "" without energies.
[[nodiscard]] std::string energy_sum_text(const Laws& laws);
/// Writes "over device -> L2: M >= 1361.4 KiB of f32 accumulators, b >= 296, b at this M >= 348"
[[nodiscard]] std::string minima_text(const Laws& laws, const Vocabulary& terms);
/// Writes "w M^-1: l2 12%, shared 88%": each level's part of the sum of w M^-1 over all levels; "" where H* has no term
/// with M. (eq. 7.1)
[[nodiscard]] std::string factors_text(const Laws& laws);
[[nodiscard]] std::string cluster_text(const Laws& laws);
[[nodiscard]] std::string caching_text(const Laws& laws);

}  // namespace napkin::internal::report
