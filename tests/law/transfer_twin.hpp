#pragma once
// An Actor simulates a kernel: every group, every chunk, every value that moves. agree() compares transfers() with it:
//
//   agree(placed, "shared", kernel, Where::block, {{"Q", false, Move::When::once, 2}, {"O", true, Move::When::once,
//   2}});

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/resource/resources.hpp"
#include "tests/law/boxes_twin.hpp"
#include "tests/law/mask_twin.hpp"

namespace napkin::internal::testing {

using i64 = std::int64_t;

/// The transfers of one array at one level, as the kernel's author would describe them.
struct Move {
  const char* array;
  bool store;
  enum class When { once, chunk, each_iteration } when;
  int bytes;               ///< bytes of a value
  bool per_block = false;  ///< true if at a cluster its blocks do not share the data
  bool skips = true;
  enum class Counted { plain, boxes, shared_boxes, sectors } counted = Counted::plain;  ///< shared: by multicast
};

/// A kernel's tile, in numbers that the test states itself.
struct Kernel {
  const Diagram* diagram;
  Sizes sizes;
  Mask mask;
  std::string row, column;  ///< row and column axis of the mask
  std::string stream;
  i64 chunk = 1;
  std::vector<std::pair<std::string, i64>> group;   ///< block: grouped axes
  std::pair<std::string, i64> cluster{"", 1};       ///< axis of the cluster's blocks, and their number
  std::vector<std::pair<std::string, i64>> divide;  ///< instances along an axis
  bool rounds_up = false;  ///< true if the last cluster is whole and may have blocks without rows
};

enum class Where { l2, cluster, block, agent };

struct Range {
  i64 begin, end;  // range of the tile, not clipped to the array
};

/// Simulates a group at a level, or a block with its chunks.
class Actor {
 public:
  Actor(const Kernel& k, Where where) : k_(k), d_(*k.diagram), where_(where) {}

  struct Moved {
    i64 plain = 0, counted = 0;  // bytes
  };

  Moved act(const Move& move) const {
    Moved out;
    std::vector<Range> tile(d_.axes.size());
    for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = {0, k_.sizes[i].get()};
    std::vector<Range> block = tile;
    each_group(move, 0, tile, block, out);
    return out;
  }

 private:
  [[nodiscard]] std::size_t axis(const std::string& name) const { return static_cast<std::size_t>(d_.axis(name)); }
  [[nodiscard]] i64 size(std::size_t a) const { return k_.sizes[a].get(); }

  // tile: what the group itself holds; block: whose loop it takes part in (chunks are visited by the block's rows).
  void each_group(const Move& move, std::size_t g, std::vector<Range>& tile, std::vector<Range>& block,
                  Moved& out) const {
    if (g == k_.group.size()) return walk(move, tile, block, out);
    const auto& [name, group] = k_.group[g];
    const std::size_t a = axis(name);
    const bool shared = where_ == Where::cluster && !move.per_block && name == k_.cluster.first;
    const i64 step = where_ == Where::l2 ? size(a) : shared ? group * k_.cluster.second : group;
    i64 parts = 1;
    for (const auto& [divided, instances] : k_.divide) {
      if (where_ == Where::agent && divided == name) parts = instances;
    }
    const i64 unit = k_.rounds_up && where_ != Where::l2 && name == k_.cluster.first ? group * k_.cluster.second : 1;
    for (i64 begin = 0; begin < (size(a) + unit - 1) / unit * unit; begin += step) {
      block[a] = {begin, begin + step};
      const i64 piece = (step + parts - 1) / parts;
      for (i64 i = 0; i < parts; ++i) {
        tile[a] = {begin + i * piece, std::min(begin + (i + 1) * piece, begin + step)};
        each_group(move, g + 1, tile, block, out);
      }
    }
    tile[a] = block[a] = {0, size(a)};
  }

  [[nodiscard]] bool visited(const std::vector<Range>& block, Range chunk) const {
    if (k_.mask.kind == Mask::Kind::none) return true;
    const std::size_t r = axis(k_.row), c = axis(k_.column);
    const Range rows = k_.stream == k_.row ? chunk : block[r], columns = k_.stream == k_.row ? block[c] : chunk;
    for (i64 i = rows.begin; i < std::min(rows.end, size(r)); ++i) {
      for (i64 j = columns.begin; j < std::min(columns.end, size(c)); ++j) {
        if (sees(k_.mask, i, j, size(r), size(c))) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_split() const {
    return std::any_of(k_.group.begin(), k_.group.end(), [&](const auto& g) { return g.first == k_.stream; });
  }

  /// Counts data that move once a group. A block that sees nothing loads nothing, and levels above load only for blocks
  /// that do.
  void once(const Move& move, std::vector<Range> tile, std::vector<Range> block, Moved& out) const {
    if (k_.mask.kind == Mask::Kind::none || move.store || !move.skips) return count(move, tile, out);
    const std::size_t s = axis(k_.stream), across = axis(k_.stream == k_.row ? k_.column : k_.row);
    const Range part = is_split() ? Range{block[s].begin, std::min(block[s].end, size(s))} : Range{0, size(s)};
    const auto& axes = d_.arrays[static_cast<std::size_t>(d_.array(move.array))].axes;
    const bool has =
        std::any_of(axes.begin(), axes.end(), [&](AxisId a) { return static_cast<std::size_t>(a) == across; });
    if (where_ != Where::l2 || !has) {
      if (visited(block, part)) count(move, tile, out);
      return;
    }
    i64 step = size(across);
    for (const auto& [name, group] : k_.group) step = axis(name) == across ? group : step;
    for (i64 begin = 0; begin < size(across); begin += step) {
      block[across] = tile[across] = {begin, begin + step};
      if (visited(block, part)) count(move, tile, out);
    }
  }

  void walk(const Move& move, std::vector<Range> tile, const std::vector<Range>& block, Moved& out) const {
    if (move.when == Move::When::once) return once(move, tile, block, out);
    const std::size_t s = axis(k_.stream);
    const bool split = is_split();
    const i64 first = split ? block[s].begin : 0, last = split ? std::min(block[s].end, size(s)) : size(s);
    for (i64 begin = first; begin < last; begin += k_.chunk) {
      const Range chunk{begin, std::min(begin + k_.chunk, split ? block[s].end : begin + k_.chunk)};
      if (move.skips && !visited(block, {chunk.begin, std::min(chunk.end, last)})) continue;
      tile[s] = chunk;
      count(move, tile, out);
    }
  }

  void count(const Move& move, const std::vector<Range>& tile, Moved& out) const {
    const Array& array = d_.arrays[static_cast<std::size_t>(d_.array(move.array))];
    i64 inside = 0;
    std::function<void(std::size_t, bool)> element = [&](std::size_t depth, bool in) {
      if (depth == array.axes.size()) {
        inside += in ? 1 : 0;
        return;
      }
      const auto a = static_cast<std::size_t>(array.axes[depth]);
      for (i64 i = tile[a].begin; i < tile[a].end; ++i) element(depth + 1, in && i < size(a));
    };
    element(0, true);
    out.plain += inside * move.bytes;
    if (move.counted == Move::Counted::plain) out.counted += inside * move.bytes;
    const bool shared = move.counted == Move::Counted::shared_boxes;
    if (shared || move.counted == Move::Counted::boxes) out.counted += boxes(array, tile, move.bytes, shared);
    if (move.counted == Move::Counted::sectors && inside > 0) {
      const auto a = static_cast<std::size_t>(array.axes.back());
      const i64 row = std::min(tile[a].end, size(a)) - tile[a].begin;
      out.counted += inside / row * ((row * move.bytes + 31) / 32 * 32);
    }
  }

  /// Counts every row of the tile, box by box; rows follow one another at multiples of 16 bytes.
  [[nodiscard]] i64 boxes(const Array& array, const std::vector<Range>& tile, i64 bytes, bool multicast) const {
    const auto last = static_cast<std::size_t>(array.axes.back());
    const i64 pitch = (size(last) * bytes + 15) / 16 * 16,
              box = counted_box((tile[last].end - tile[last].begin) * bytes);
    i64 out = 0;
    std::function<void(std::size_t, i64, bool)> each_row = [&](std::size_t depth, i64 row, bool in) {
      if (depth + 1 == array.axes.size()) {
        for (i64 at = tile[last].begin * bytes; at < tile[last].end * bytes; at += box) {
          const i64 inside = in ? std::clamp<i64>(size(last) * bytes - at, 0, box) : 0;
          out += counted_row(row * pitch + at, inside, box, multicast);
        }
        return;
      }
      const auto a = static_cast<std::size_t>(array.axes[depth]);
      for (i64 i = tile[a].begin; i < tile[a].end; ++i) each_row(depth + 1, row * size(a) + i, in && i < size(a));
    };
    each_row(0, 0, true);
    return out;
  }

  const Kernel& k_;
  const Diagram& d_;
  Where where_;
};

inline void agree(const PlacedDiagram& placed, const char* level, const Kernel& kernel, Where where,
                  const std::vector<Move>& moves) {
  CAPTURE(level);
  const Actor actor(kernel, where);
  i64 load = 0, store = 0, delivered = 0;
  for (const Move& move : moves) {
    const Actor::Moved moved = actor.act(move);
    (move.store ? store : load) += moved.plain;
    if (!move.store) delivered += moved.counted;
  }
  const std::vector<LevelTransfer> all = transfers(placed);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const LevelTransfer& t) { return t.level == placed.machine->level(level); });
  REQUIRE(found != all.end());
  CHECK(found->load.value.get() == load);
  CHECK(found->store.value.get() == store);
  CHECK(found->delivered.value.get() == delivered);
}

}  // namespace napkin::internal::testing
