#pragma once
// A RegisterTable holds a compiler's results for each tile. For a bundled kernel: how many registers a thread needs
// beyond its arrays so that the compiler keeps all of them (attention_sm90 with two warpgroups needs 28 with overlap,
// 44 without), written by tests/kernel/run_compile.cpp. For a peer's kernel: the registers of a thread and whatever
// else was counted, such as instructions by unit, written by script/peers/compile.py. Its file is a CSV beside the
// mapping; its form: docs/own-kernel.md.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/error.hpp"
#include "model/diagram/problem.hpp"

namespace napkin::internal {

struct Knob;
struct Tile;

/// The keys, beside knobs, that may tell a table's rows apart.
struct TableKeys {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> axes =
      {};                                       ///< sizes that the kernel supports, by axis
  std::vector<Mask::Kind> masks = {};           ///< masks that it takes; empty: any
  std::vector<std::string> architectures = {};  ///< built-in ones that it runs on
  std::vector<std::string> others = {};         ///< built-in ones that it does not: rows of them say nothing
  bool of_another = false;  ///< true if another mapping's table: rows of values that this one lacks say nothing
};

class RegisterTable {
 public:
  /// The time at which rows are read: a user's table at once; a bundled table, which the tests read, with its first
  /// number.
  enum class Rows { at_once, when_asked };

  /// Reads the text strictly: every combination of the columns' values is in exactly one row. Throws Error with file,
  /// line, column and the column's name.
  RegisterTable(std::string text, const std::string& file, const std::vector<Knob>& knobs, const TableKeys& keys = {},
                Rows rows = Rows::at_once);
  ~RegisterTable();
  RegisterTable(const RegisterTable&) = delete;
  RegisterTable& operator=(const RegisterTable&) = delete;

  /// Returns a thread's registers, for a table without axes. A value without a row, such as x=40 among multiples of 16,
  /// takes the largest number of the rows that agree in the other columns.
  [[nodiscard]] std::int64_t of(const Tile& tile, Mask::Kind mask) const { return at(0, base(mask, {}), tile); }

  /// Returns the column of that name; 0 is `registers`.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view number) const;
  [[nodiscard]] const std::vector<std::string>& numbers() const { return names_; }
  /// Returns the first row of a problem on a machine, by its mask, the sizes of axes() in their order, and its
  /// architecture.
  [[nodiscard]] std::size_t base(Mask::Kind mask, const std::vector<std::int64_t>& sizes,
                                 const std::string& architecture = {}) const;
  /// Returns a tile's number, among those rows.
  [[nodiscard]] std::int64_t at(std::size_t number, std::size_t base, const Tile& tile) const {
    if (!is_read_.load(std::memory_order_acquire)) read_rows();
    std::size_t index = base;
    for (const Column& column : columns_) {
      if (column.knob >= 0) index += column.stride * column.slot(tile);
    }
    return numbers_[number][index];
  }

  /// Returns the knobs of its columns, as indices into the mapping's.
  [[nodiscard]] const std::vector<int>& knobs() const { return knobs_; }
  /// Returns the axes of its columns.
  [[nodiscard]] const std::vector<std::string>& axes() const { return axes_; }
  [[nodiscard]] bool asks_for_mask() const;
  [[nodiscard]] std::size_t rows() const {
    if (!is_read_.load(std::memory_order_acquire)) read_rows();
    return rows_;
  }
  /// Returns the file's text, which a fingerprint of the mapping must cover.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Column {
    std::string name;
    int knob = -1;                     ///< index of the knob; -1: the problem's mask, an axis, or the architecture
    int axis = -1;                     ///< index into axes_; -1 without a knob: the mask or the architecture
    std::vector<std::int64_t> values;  ///< the knob's domain
    std::vector<std::string> words;    ///< the values as the file writes them
    std::size_t slots = 0;             ///< number of values and one more, for all others
    std::size_t stride = 0;
    [[nodiscard]] bool is_architecture() const { return knob < 0 && name == "architecture"; }
    [[nodiscard]] std::size_t slot(std::int64_t value) const;
    [[nodiscard]] std::size_t slot(const std::string& word) const;
    [[nodiscard]] std::size_t slot(const Tile& tile) const;
  };
  class Reader;
  void read_rows() const;

  std::vector<Column> columns_;
  std::vector<int> knobs_;
  std::vector<std::string> axes_, names_;
  std::string text_;
  mutable std::mutex reading_;
  mutable std::atomic<bool> is_read_ = false;
  mutable std::unique_ptr<Reader> reader_;  ///< reader, until the rows are read
  /// Numbers by column, then by the keys' slots, the first key's fastest.
  mutable std::vector<std::vector<std::int32_t>> numbers_;
  mutable std::size_t rows_ = 0;
};

}  // namespace napkin::internal
