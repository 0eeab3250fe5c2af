#pragma once
// A RegisterTable says how many registers a thread needs beyond its arrays so that the compiler keeps all of them:
// attention_sm90 with two warpgroups needs 28 with overlap, 44 without. Its file is a CSV beside the mapping, written
// by tests/kernel/run_compile.cpp from what the compiler said of each tile; its form: kernels/README.md.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.hpp"
#include "model/diagram/problem.hpp"

namespace napkin {

struct Knob;
struct Tile;

class RegisterTable {
 public:
  /// Reads the text strictly: every combination of the columns' values stands in exactly one row. Throws Error with
  /// file, line, column and the column's name.
  RegisterTable(std::string_view text, const std::string& file, const std::vector<Knob>& knobs);

  /// Registers a thread. A value that no row knows, such as x=40 where rows have multiples of 16, takes the largest
  /// number of the rows that agree in the other columns.
  [[nodiscard]] std::int64_t of(const Tile& tile, Mask::Kind mask) const {
    std::size_t index = 0;
    for (const Column& column : columns_) index += column.stride * column.slot(tile, mask);
    return registers_[index];
  }

  /// The knobs that it asks for, as indices into the mapping's.
  [[nodiscard]] const std::vector<int>& knobs() const { return knobs_; }
  [[nodiscard]] bool asks_for_mask() const;
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// The file's whole text: what a fingerprint of the mapping has to cover.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Column {
    std::string name;
    int knob = -1;                     ///< -1: the problem's mask
    std::vector<std::int64_t> values;  ///< the knob's domain
    std::vector<std::string> words;    ///< the values as the file writes them
    std::size_t slots = 0;             ///< of numbers one more than values: for all others
    std::size_t stride = 0;
    [[nodiscard]] std::size_t slot(const Tile& tile, Mask::Kind mask) const;
  };
  class Reader;

  std::vector<Column> columns_;
  std::vector<int> knobs_;
  std::vector<std::int16_t> registers_;  ///< by the columns' slots, the first column's fastest
  std::size_t rows_ = 0;
  std::string text_;
};

}  // namespace napkin
