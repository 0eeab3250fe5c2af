#pragma once
// DecodeArrays are the arrays of one question of attention_decode_sm90 on the host: its pages are in random order, and
// memory without keys holds NaNs. compare_all() compares a result with float64.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/kernel/decode_cases.hpp"

namespace napkin::internal::test {

/// 16-bit numbers, and the strides of their rows (batch or page, head, row).
struct DecodeArray {
  std::vector<std::uint16_t> values;
  TensorView view;
};

class DecodeArrays {
 public:
  explicit DecodeArrays(const DecodeCase& one) : case_(one) {
    const AttentionSizes& s = one.sizes;
    make_table();
    const std::int64_t outer = paged() ? pages.count : s.b, rows = paged() ? one.page : s.x;
    q = make(s.b, s.q, s.h * s.g, s.d);
    k = make(outer, rows, s.h, s.d);
    v = make(outer, rows, s.h, s.dv);
    o = make(s.b, s.q, s.h * s.g, s.dv);
    const Numbers numbers(one);
    std::uint64_t state = one.seed * 16;
    for (std::uint16_t& number : q.values) number = numbers.next(state);
    fill_keys(numbers, k, s.d, one.seed * 16 + 1);
    fill_keys(numbers, v, s.dv, one.seed * 16 + 2);
    if (one.log_sum_exp) log_sum_exp.resize(static_cast<std::size_t>(s.b * s.h * s.g * s.q));
  }

  /// Compares the current outputs sequence by sequence, and returns the largest errors.
  [[nodiscard]] Comparison compare_all(std::int64_t rows) const {
    Comparison out;
    for (std::int64_t b = 0; b < case_.sizes.b; ++b) {
      const Comparison one = compare(sequence(b), rows, case_.seed);
      out.max_error = larger_error(out.max_error, one.max_error);
      out.reference_error = std::max(out.reference_error, one.reference_error);
      out.largest = std::max(out.largest, one.largest);
      out.lse_error = larger_error(out.lse_error, one.lse_error);
      out.rows += one.rows;
      out.unwritten += one.unwritten;
      out.strayed += one.strayed;
      if (out.beside.empty()) out.beside = one.beside;
    }
    out.rounding = rounding_of(out.largest, case_.type);
    return out;
  }

  DecodeArray q, k, v, o;
  std::vector<float> log_sum_exp;
  std::vector<std::int32_t> table;
  KeyPages pages;  ///< pages without the table's address

 private:
  /// Normal numbers out of a table: a billion of them in seconds.
  class Numbers {
   public:
    explicit Numbers(const DecodeCase& one) : table_(1 << 16) {
      std::mt19937_64 engine(one.seed);
      std::normal_distribution<double> normal(0, one.deviation);
      for (std::uint16_t& number : table_) number = encode(static_cast<float>(normal(engine)), one.type);
    }
    [[nodiscard]] std::uint16_t next(std::uint64_t& state) const {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return table_[state >> 48];
    }

   private:
    std::vector<std::uint16_t> table_;
  };

  [[nodiscard]] bool paged() const { return case_.page != 0; }
  [[nodiscard]] std::int64_t keys_of(std::int64_t batch) const {
    return case_.lengths.empty() ? case_.sizes.x : case_.lengths[static_cast<std::size_t>(batch)];
  }

  /// Makes the table: pages in random order, one more than needed; entries without a key name a page that does not
  /// exist.
  void make_table() {
    if (!paged()) return;
    const std::int64_t row = (case_.sizes.x + case_.page - 1) / case_.page, count = case_.sizes.b * row + 1;
    table.resize(static_cast<std::size_t>(count));
    std::iota(table.begin(), table.end(), 0);
    std::mt19937_64 engine(case_.seed);
    for (std::size_t i = table.size(); i > 1; --i) std::swap(table[i - 1], table[engine() % i]);
    table.pop_back();
    for (std::int64_t b = 0; b < case_.sizes.b; ++b) {
      for (std::int64_t i = 0; i < row; ++i) {
        if (i * case_.page >= keys_of(b)) table[static_cast<std::size_t>(b * row + i)] = 1 << 30;
      }
    }
    pages = {0, row, case_.page, count};
  }

  [[nodiscard]] DecodeArray make(std::int64_t outer, std::int64_t rows, std::int64_t heads,
                                 std::int64_t columns) const {
    DecodeArray out;
    if (case_.spare) ++heads, ++rows;
    out.view.row = case_.heads_first ? columns : columns * heads;
    out.view.head = case_.heads_first ? columns * rows : columns;
    out.view.batch = columns * heads * rows;
    out.values.assign(static_cast<std::size_t>(out.view.batch * outer), poison);
    return out;
  }

  /// Returns the element at which a head's key begins.
  [[nodiscard]] std::size_t place_of(const TensorView& view, std::int64_t b, std::int64_t head,
                                     std::int64_t key) const {
    std::int64_t row = key;
    if (paged()) {
      b = table[static_cast<std::size_t>(b * pages.row + key / case_.page)];
      row = key % case_.page;
    }
    return static_cast<std::size_t>(b * view.batch + head * view.head + row * view.row);
  }

  void fill_keys(const Numbers& numbers, DecodeArray& array, std::int64_t columns, std::uint64_t state) const {
    for (std::int64_t b = 0; b < case_.sizes.b; ++b) {
      for (std::int64_t head = 0; head < case_.sizes.h; ++head) {
        for (std::int64_t key = 0; key < keys_of(b); ++key) {
          std::uint16_t* to = array.values.data() + place_of(array.view, b, head, key);
          for (std::int64_t i = 0; i < columns; ++i) to[i] = numbers.next(state);
        }
      }
    }
  }

  /// Copies one sequence's keys, one after another.
  [[nodiscard]] HostArray gathered(const DecodeArray& array, std::int64_t b, std::int64_t columns) const {
    HostArray out;
    const std::int64_t keys = keys_of(b);
    out.row = columns;
    out.head = columns * keys;
    for (std::int64_t head = 0; head < case_.sizes.h; ++head) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const std::uint16_t* from = array.values.data() + place_of(array.view, b, head, key);
        out.values.insert(out.values.end(), from, from + columns);
      }
    }
    return out;
  }

  [[nodiscard]] static HostArray part(const DecodeArray& array, std::int64_t b) {
    HostArray out;
    const std::uint16_t* from = array.values.data() + b * array.view.batch;
    out.values.assign(from, from + array.view.batch);
    out.head = array.view.head;
    out.row = array.view.row;
    return out;
  }

  [[nodiscard]] HostAttention sequence(std::int64_t b) const {
    HostAttention a;
    a.sizes = case_.sizes;
    a.sizes.b = 1;
    a.sizes.x = keys_of(b);
    a.mask = case_.mask;
    a.type = case_.type;
    a.scale = 1 / std::sqrt(static_cast<double>(case_.sizes.d));
    a.q = part(q, b);
    a.o = part(o, b);
    a.k = gathered(k, b, case_.sizes.d);
    a.v = gathered(v, b, case_.sizes.dv);
    const auto count = static_cast<std::int64_t>(log_sum_exp.size()) / case_.sizes.b;
    a.log_sum_exp.assign(log_sum_exp.begin() + b * count, log_sum_exp.begin() + (b + 1) * count);
    return a;
  }

  DecodeCase case_;
};

}  // namespace napkin::internal::test
