#include "model/mapping/own_parts.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::internal {
namespace {

/// Returns the mean share of the slots that the waves of that many blocks fill.
double fullness(Count blocks, Count slots) { return real(blocks) / real(ceil_div(blocks, slots) * slots); }

/// Returns the fewest parts, up to `most`, whose waves are nearly as full as the fullest.
Count by_waves(const OwnParts& rule, const RowsToCut& rows, Count slots, Count most) {
  const Count chunks = ceil_div(rows.size, rows.chunk);
  const auto counts = [&](Count parts) {
    return !rule.distinct || parts == Count(1) || ceil_div(chunks, parts) != ceil_div(chunks, parts - Count(1));
  };
  double fullest = 0;
  for (Count parts = 1; parts <= most; parts += Count(1)) {
    if (counts(parts)) fullest = std::max(fullest, fullness(rows.blocks * parts, slots));
  }
  for (Count parts = 1; parts <= most; parts += Count(1)) {
    if (counts(parts) && fullness(rows.blocks * parts, slots) >= rule.within * fullest) return parts;
  }
  return 1;
}

}  // namespace

Count own_parts(const OwnParts& rule, const RowsToCut& rows) {
  const Count slots = rows.nodes * Count(rule.blocks), chunks = ceil_div(rows.size, rows.chunk);
  if (real(rows.blocks) >= rule.enough * real(slots) || chunks <= Count(rule.whole_to)) return 1;
  Count most = std::min(slots, ceil_div(rows.size, std::max(rows.chunk, Count(rule.least))));
  if (rule.most > 0) most = std::min(most, Count(rule.most));
  if (rule.by == OwnParts::By::waves) return by_waves(rule, rows, slots, most);
  if (rule.by == OwnParts::By::root) {
    const double root = std::sqrt(real(rows.size / Count(rule.least)) * static_cast<double>(rule.blocks));
    most = std::min(most, Count(static_cast<std::int64_t>(std::round(root))));
  }
  return std::max(std::min(slots / rows.blocks, most), Count(1));
}

}  // namespace napkin::internal
