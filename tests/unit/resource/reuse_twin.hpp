#pragma once
// A ReuseTwin finds what the L2 has to read again with a list of what was touched last, kept piece by piece:
// ReuseTwin(launch, bytes).run() acts a launch of attention out, all its blocks step by step.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"

namespace napkin::internal::testing {

/// One launch of attention: sizes, the tile, and how many blocks run at once.
struct ReuseCase {
  std::int64_t b, h, q, x, tile_q, tile_x, running;
  bool causal;
  std::string order;
  std::vector<SequenceLengths> lengths = {};  // packed: of each of b, of which q and x are the longest

  [[nodiscard]] SequenceLengths of(std::int64_t batch) const {
    return lengths.empty() ? SequenceLengths{q, x} : lengths[static_cast<std::size_t>(batch)];
  }
};

/// A cache that forgets what was touched longest ago.
class LeastRecentlyUsed {
 public:
  explicit LeastRecentlyUsed(double capacity) : capacity_(capacity) {}
  /// Whether it had to be fetched although it was there once.
  bool touch(const std::string& piece, double bytes) {
    const auto found =
        std::find_if(list_.begin(), list_.end(), [&](const auto& entry) { return entry.first == piece; });
    const bool there = found != list_.end();
    if (there) {
      held_ -= found->second;
      list_.erase(found);
    }
    list_.emplace_front(piece, bytes);
    held_ += bytes;
    while (held_ > capacity_ && !list_.empty()) {
      held_ -= list_.back().second;
      list_.pop_back();
    }
    return !seen_.insert(piece).second && !there;
  }

 private:
  double capacity_, held_ = 0;
  std::list<std::pair<std::string, double>> list_;
  std::set<std::string> seen_;
};

/// Attention acted out: 64 columns of two bytes, the keys' chunks from the last one that a row of the tile sees to the
/// first.
class ReuseTwin {
 public:
  ReuseTwin(const ReuseCase& c, double capacity) : c_(c), cache_(capacity) {}

  double run() {
    const std::int64_t rows = (c_.q + c_.tile_q - 1) / c_.tile_q;
    for (std::int64_t plane = 0; plane < c_.b * c_.h; ++plane) {
      const SequenceLengths own = c_.of(plane / c_.h);
      for (std::int64_t row = 0; row < rows; ++row) blocks_.push_back({plane, row, chunks(row, own), own, 0});
    }
    std::vector<Block*> slots(static_cast<std::size_t>(c_.running), nullptr);
    std::vector<std::size_t> turn(slots.size(), 0);
    for (bool busy = true; busy;) {
      busy = false;
      step_.clear();
      for (std::size_t s = 0; s < slots.size(); ++s) {
        if (slots[s] == nullptr) slots[s] = next(s, turn[s], slots.size());
        while (slots[s] != nullptr && slots[s]->row * c_.tile_q >= slots[s]->lengths.q)
          slots[s] = next(s, turn[s], slots.size());  // beyond its sequence
        if (slots[s] == nullptr) continue;
        busy = true;
        if (advance(*slots[s])) slots[s] = nullptr;
      }
    }
    return again_;
  }

 private:
  struct Block {
    std::int64_t plane, row;
    std::vector<std::int64_t> chunks;
    SequenceLengths lengths;
    std::size_t done;
  };

  [[nodiscard]] std::vector<std::int64_t> chunks(std::int64_t row, const SequenceLengths& own) const {
    std::set<std::int64_t, std::greater<>> seen;
    for (std::int64_t i = row * c_.tile_q; i < std::min((row + 1) * c_.tile_q, own.q); ++i) {
      for (std::int64_t j = 0; j < own.x; ++j) {
        if (!c_.causal || j <= i + own.x - own.q) seen.insert(j / c_.tile_x);
      }
    }
    return {seen.begin(), seen.end()};
  }

  Block* next(std::size_t slot, std::size_t& turn, std::size_t slots) {
    const std::size_t number = c_.order == "persistent" ? turn++ * slots + slot : handed_out_++;
    return number < blocks_.size() ? &blocks_[number] : nullptr;
  }

  /// Whether it has ended.
  bool advance(Block& block) {
    const std::string tile = std::to_string(block.plane) + "/" + std::to_string(block.row);
    const std::int64_t rows = std::min(c_.tile_q, block.lengths.q - block.row * c_.tile_q);
    if (block.done == 0 && !block.chunks.empty()) touch("Q" + tile, rows, true);
    if (block.done < block.chunks.size()) {
      const std::int64_t chunk = block.chunks[block.done],
                         columns = std::min(c_.tile_x, block.lengths.x - chunk * c_.tile_x);
      const std::string piece = std::to_string(block.plane) + ":" + std::to_string(chunk);
      touch("K" + piece, columns, true);
      touch("V" + piece, columns, true);
    }
    if (++block.done < block.chunks.size()) return false;
    touch("O" + tile, rows, false);
    return true;
  }

  void touch(const std::string& piece, std::int64_t rows, bool load) {
    if (!step_.insert(piece).second) return;
    const double bytes = static_cast<double>(rows) * 64 * 2;
    if (cache_.touch(piece, bytes) && load) again_ += bytes;
  }

  const ReuseCase& c_;
  LeastRecentlyUsed cache_;
  std::vector<Block> blocks_;
  std::set<std::string> step_;
  std::size_t handed_out_ = 0;
  double again_ = 0;
};

}  // namespace napkin::internal::testing
