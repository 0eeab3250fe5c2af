#pragma once
// Distances counts the other bytes that were touched since a piece was touched last: 12 MB between two blocks that read
// one head's keys. Numbering gives pieces their numbers; Slots are the running blocks that still have something to
// touch. Internal to resource/.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace napkin::internal {

/// The distances in bytes between two touches of a piece: sums over the last touches of all pieces, by Fenwick's tree.
class Distances {
 public:
  /// Touches a piece. Returns the bytes of other pieces since its last touch; negative: it was never touched.
  double touch(std::size_t piece, double bytes) {
    if (piece >= last_.size()) last_.resize(std::max(piece + 1, 2 * last_.size()), 0);
    double out = -1;
    if (const std::size_t last = last_[piece]; last > 0) {
      add(last, -bytes);
      total_ -= bytes;
      out = total_ - sum(last);
    }
    append(bytes + passed_);
    passed_ = 0;
    total_ += bytes;
    last_[piece] = tree_.size() - 1;
    return out;
  }
  /// Adds that many bytes that are never touched again.
  void pass(double bytes) {
    passed_ += bytes;
    total_ += bytes;
  }

 private:
  /// Appends to the tree: a node of Fenwick's holds the sum of as many entries as its lowest bit says.
  void append(double bytes) {
    const std::size_t at = tree_.size();
    double node = bytes;
    for (std::size_t step = 1; (at & step) == 0; step *= 2) node += tree_[at - step];
    tree_.push_back(node);
  }
  void add(std::size_t at, double bytes) {
    for (; at < tree_.size(); at += at & (~at + 1)) tree_[at] += bytes;
  }
  [[nodiscard]] double sum(std::size_t at) const {
    double out = 0;
    for (; at > 0; at -= at & (~at + 1)) out += tree_[at];
    return out;
  }
  std::vector<double> tree_{0.0};
  std::vector<std::size_t> last_;  // index in tree_ of each piece's last touch; 0: none
  double total_ = 0, passed_ = 0;  // passed_: bytes since the last touch
};

/// A numbering of keys in one piece of memory, fast enough for thousands of keys in a launch of microseconds.
class Numbering {
 public:
  /// Returns the key's number, and true if the key is new and got the number `next`.
  std::pair<std::size_t, bool> of(std::uint64_t key, std::size_t next) {
    if (latest_.taken && latest_.key == key) return {latest_.number, false};  // neighbouring blocks often share a key
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    const bool is_new = !slot.taken;
    if (is_new) {
      slot = {key, next, true};
      ++size_;
    }
    latest_ = slot;
    return {slot.number, is_new};
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::size_t number = 0;
    bool taken = false;
  };
  /// Returns the key's slot, or the first free slot from the key's place on.
  Slot& slot_of(std::uint64_t key) {
    std::size_t at = key * 0x9E3779B97F4A7C15U >> 32U & (slots_.size() - 1);
    while (slots_[at].taken && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> before(std::max<std::size_t>(64, 4 * slots_.size()));
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.taken) slot_of(slot.key) = slot;
    }
  }
  std::vector<Slot> slots_;  // hash table: a power of two of slots, at least half of them free
  Slot latest_;
  std::size_t size_ = 0;
};

/// A set of slots, in memory that it does not own.
class Slots {
 public:
  Slots(std::uint64_t* words, std::size_t count) : words_(words), count_(count) {}
  void put(std::size_t slot) { words_[slot / 64] |= std::uint64_t{1} << slot % 64; }
  void drop(std::size_t slot) { words_[slot / 64] &= ~(std::uint64_t{1} << slot % 64); }
  void add(Slots other) {
    for (std::size_t w = 0; w < count_; ++w) words_[w] |= other.words_[w];
  }
  void clear() { std::fill_n(words_, count_, 0); }
  /// Calls visit(slot) for each slot, the least first, until one returns false. Returns true if none did.
  template <class Visit>
  bool each(const Visit& visit) const {
    for (std::size_t w = 0; w < count_; ++w) {
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1) {
        if (!visit(64 * w + static_cast<std::size_t>(std::countr_zero(left)))) return false;
      }
    }
    return true;
  }

 private:
  std::uint64_t* words_;
  std::size_t count_;
};

/// Sets of the same slots, in one piece of memory.
class SetsOfSlots {
 public:
  SetsOfSlots(std::size_t sets, std::size_t slots) : count_((slots + 63) / 64), words_(sets * count_, 0) {}
  [[nodiscard]] Slots operator[](std::size_t set) { return {words_.data() + set * count_, count_}; }

 private:
  std::size_t count_;
  std::vector<std::uint64_t> words_;
};

}  // namespace napkin::internal
