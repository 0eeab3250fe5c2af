#pragma once
// counted_row counts, byte by byte, what the receiver's hardware counter sees of one row of one box: it is the slow
// twin of model/resource/boxes.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace napkin::internal::testing {

/// Counts a row that begins at `address`: `width` bytes are delivered, of which `inside` bytes belong to the array.
inline std::int64_t counted_row(std::int64_t address, std::int64_t inside, std::int64_t width, bool multicast) {
  std::map<std::int64_t, std::set<std::int64_t>> lines;  // sectors touched, by line
  for (std::int64_t byte = address; byte < address + inside; ++byte) lines[byte / 128].insert(byte / 32);
  std::int64_t out = 0;
  for (const auto& line : lines) {
    const auto sent = static_cast<std::int64_t>(line.second.size()) * 32;
    out += multicast && sent < 64 ? 64 : sent;
  }
  std::int64_t zeros = 0;
  for (std::int64_t byte = inside; byte < width; byte += 32) zeros += 32;
  return out + (multicast && zeros > 0 && zeros < 96 ? 96 : zeros);
}

/// Counts a tile's row, which boxes cut into spans of the widest swizzle.
inline std::int64_t counted_box(std::int64_t tile_bytes) {
  std::int64_t out = tile_bytes;
  for (const std::int64_t swizzle : {32, 64, 128}) {
    if (tile_bytes % swizzle == 0) out = swizzle;
  }
  return out;
}

}  // namespace napkin::internal::testing
