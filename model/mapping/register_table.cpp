#include "model/mapping/register_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "model/mapping/tile.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_registers = 255;                        // registers that an instruction can name
constexpr std::int64_t most_counted = (std::int64_t{1} << 31) - 1;  // variants, bytes, instructions
constexpr std::size_t most_combinations = std::size_t{1} << 20;
constexpr std::int32_t unknown = -1;

constexpr std::array<std::string_view, 4> facts = {"compiler", "date", "revision", "command"};
/// The numbers of a bundled kernel's table: its needs, and compiled tiles as evidence, which no answer uses.
constexpr std::array<std::string_view, 4> evidence = {"registers", "kept", "spilled", "needless"};

bool is_name(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

}  // namespace

std::size_t RegisterTable::Column::slot(std::int64_t value) const {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

std::size_t RegisterTable::Column::slot(const Tile& tile) const {
  const std::int64_t value = tile.values[static_cast<std::size_t>(knob)];
  if (slots == values.size())
    return std::min(static_cast<std::size_t>(value), slots - 1);  // a word's value is its index
  return slot(value);
}

std::size_t RegisterTable::Column::slot(const std::string& word) const {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

bool RegisterTable::asks_for_mask() const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [](const Column& column) { return column.knob < 0 && column.name == "mask"; });
}

std::optional<std::size_t> RegisterTable::find(std::string_view number) const {
  const auto found = std::find(names_.begin(), names_.end(), number);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::size_t RegisterTable::base(Mask::Kind mask, const std::vector<std::int64_t>& sizes,
                                const std::string& architecture) const {
  std::size_t index = 0;
  for (const Column& column : columns_) {
    if (column.knob >= 0) continue;
    if (column.axis >= 0)
      index += column.stride * column.slot(sizes[static_cast<std::size_t>(column.axis)]);
    else if (column.is_architecture())
      index += column.stride * column.slot(architecture);
    else  // a mask that the kernel does not take is refused; here it has some row's number
      index += column.stride * std::min(column.slot(static_cast<std::int64_t>(mask)), column.slots - 1);
  }
  return index;
}

class RegisterTable::Reader {
 public:
  Reader(RegisterTable& table, std::vector<Knob> knobs, TableKeys keys, std::string file)
      : table_(table), knobs_(std::move(knobs)), keys_(std::move(keys)), file_(std::move(file)), rest_(table.text_) {}

  void read_heading() {
    while (heading_.empty() && next_line()) heading(line_);
    if (heading_.empty())
      throw Error(file_, "a table without columns", "knobs, mask, registers, kept, spilled, needless");
  }

  void read_rows() {
    table_.numbers_.assign(table_.names_.size(), std::vector<std::int32_t>(combinations_, unknown));
    while (next_line()) row(line_);
    for (const std::string_view name : facts) {
      if (std::find(facts_.begin(), facts_.end(), name) == facts_.end())
        throw Error(file_, "'# " + std::string(name) + ": ...' is missing", "who made the table, and when");
    }
    need_all_combinations();
    fill_others();
  }

 private:
  /// A piece of text with its position.
  struct Word {
    std::string_view text;
    int line = 0, column = 1;
  };

  /// Puts the next line that is no comment into line_, and takes the facts of those before it.
  [[nodiscard]] bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_.text = rest_.substr(0, end);
      ++line_.line;
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (!line_.text.starts_with('#')) return true;
      fact(line_);
    }
    return false;
  }

  [[nodiscard]] Location place(const Word& word) const { return {file_, word.line, word.column}; }

  /// Splits a line at the separators, without the blanks around each piece.
  static void split(const Word& line, char separator, std::vector<Word>& out) {
    out.clear();
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = std::min(line.text.find(separator, begin), line.text.size());
      std::string_view part = line.text.substr(begin, end - begin);
      const std::size_t blanks = std::min(part.find_first_not_of(' '), part.size());
      part.remove_prefix(blanks);
      part = part.substr(0, part.find_last_not_of(' ') + 1);
      out.push_back({part, line.line, line.column + static_cast<int>(begin + blanks)});
      if (end == line.text.size()) return;
      begin = end + 1;
    }
  }

  [[nodiscard]] std::int64_t integer(const Word& word, std::string_view field, std::int64_t most) const {
    std::int64_t value = -1;
    const char* end = word.text.data() + word.text.size();
    const auto [stop, code] = std::from_chars(word.text.data(), end, value);
    if (code != std::errc{} || stop != end || value < 0 || value > most)
      throw Error(place(word), std::string(field), "'" + std::string(word.text) + "' is no number of them",
                  "a whole number from 0 to " + std::to_string(most));
    return value;
  }

  /// Reads a fact: "# compiler: NVRTC 13.0"; a line that begins with no known name is a comment.
  void fact(const Word& line) {
    const std::string_view text = line.text.substr(std::min<std::size_t>(2, line.text.size()));
    const std::string_view name = text.substr(0, text.find(':'));
    if (std::find(facts.begin(), facts.end(), name) == facts.end()) return;
    if (std::find(facts_.begin(), facts_.end(), name) != facts_.end())
      throw Error(place(line), std::string(name), "stands twice", "each once");
    if (text.find_first_not_of(' ', name.size() + 1) == std::string_view::npos)
      throw Error(place(line), std::string(name), "is empty", "who made the table, and when");
    facts_.push_back(name);
  }

  [[nodiscard]] std::vector<std::string> known_columns() const {
    std::vector<std::string> names;
    for (const Knob& knob : knobs_) names.push_back(knob.name);
    for (const auto& [axis, sizes] : keys_.axes) names.push_back(axis);
    names.emplace_back("mask");
    names.emplace_back("architecture");
    return names;
  }

  [[nodiscard]] bool find_knob(const std::string& name) const {
    return std::any_of(knobs_.begin(), knobs_.end(), [&](const Knob& knob) { return knob.name == name; });
  }

  [[nodiscard]] Column mask_column(Column out) const {
    const std::array<const char*, 4> words = {"none", "causal", "window", "prefix"};  // in the order of Mask::Kind
    for (std::size_t kind = 0; kind < words.size(); ++kind) {
      const bool taken = keys_.masks.empty() ? Mask::Kind(kind) != Mask::Kind::prefix
                                             : std::count(keys_.masks.begin(), keys_.masks.end(), Mask::Kind(kind)) > 0;
      if (!taken) continue;
      out.words.emplace_back(words[kind]);
      out.values.push_back(static_cast<std::int64_t>(kind));
    }
    out.slots = out.values.size();
    return out;
  }

  [[nodiscard]] Column architecture_column(Column out) const {
    out.words = keys_.architectures;
    for (std::size_t i = 0; i < out.words.size(); ++i) out.values.push_back(static_cast<std::int64_t>(i));
    out.slots = out.values.size() + 1;
    return out;
  }

  [[nodiscard]] Column column(const Word& word) const {
    Column out;
    out.name = word.text;
    if (out.name == "mask") return mask_column(std::move(out));
    if (out.name == "architecture") return architecture_column(std::move(out));
    const auto axis =
        std::find_if(keys_.axes.begin(), keys_.axes.end(), [&](const auto& one) { return one.first == out.name; });
    if (axis != keys_.axes.end() && !find_knob(out.name)) {
      out.values = axis->second;
      out.slots = out.values.size() + 1;
      for (const std::int64_t value : out.values) out.words.push_back(std::to_string(value));
      return out;
    }
    const auto knob = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) { return k.name == out.name; });
    if (knob == knobs_.end()) throw Error(place(word), out.name, "unknown column", one_of(out.name, known_columns()));
    out.knob = static_cast<int>(knob - knobs_.begin());
    out.values = knob->domain;
    out.words = knob->words;
    out.slots = out.values.size() + (knob->words.empty() ? 1 : 0);
    if (knob->words.empty()) {
      for (const std::int64_t value : out.values) out.words.push_back(std::to_string(value));
    }
    return out;
  }

  /// Reads the heading: keys, `registers`, other numbers; for a bundled kernel also the columns of `evidence`.
  void heading(const Word& line) {
    split(line, ',', heading_);
    const auto first =
        std::find_if(heading_.begin(), heading_.end(), [](const Word& w) { return w.text == evidence[0]; });
    const auto keys = static_cast<std::size_t>(first - heading_.begin());
    if (first == heading_.end())
      throw Error(place(line), std::string(evidence[0]), "is not where it belongs",
                  "knobs and mask, then registers,kept,spilled,needless");
    add_keys(keys);
    add_numbers(line, keys);
  }

  void add_keys(std::size_t keys) {
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < keys; ++i) {
      Column one = column(heading_[i]);
      for (const Column& other : table_.columns_) {
        if (other.name == one.name) throw Error(place(heading_[i]), one.name, "stands twice", "each column once");
      }
      one.stride = combinations;
      combinations *= one.slots;
      if (combinations > most_combinations)
        throw Error(place(heading_[i]), one.name, "the columns have more than 2^20 combinations", "fewer columns");
      if (one.knob >= 0) table_.knobs_.push_back(one.knob);
      if (one.knob < 0 && one.name != "mask" && !one.is_architecture()) {
        one.axis = static_cast<int>(table_.axes_.size());
        table_.axes_.push_back(one.name);
      }
      table_.columns_.push_back(std::move(one));
    }
    combinations_ = combinations;
  }

  void add_numbers(const Word& line, std::size_t keys) {
    of_bundled_ = keys + 1 < heading_.size() && heading_[keys + 1].text == evidence[1];
    for (std::size_t i = keys; i < heading_.size(); ++i) {
      const std::string name(heading_[i].text);
      if (!is_name(name)) throw Error(place(heading_[i]), name, "not a name", "small letters, digits and _");
      if (std::find(names_.begin(), names_.end(), name) != names_.end())
        throw Error(place(heading_[i]), name, "stands twice", "each column once");
      names_.push_back(name);
    }
    table_.names_ = of_bundled_ ? std::vector<std::string>{names_.front()} : names_;
    for (std::size_t i = 0; of_bundled_ && i < evidence.size(); ++i) {
      if (names_.size() == evidence.size() && names_[i] == evidence[i]) continue;
      throw Error(place(line), std::string(evidence[i]), "is not where it belongs",
                  "knobs and mask, then registers,kept,spilled,needless");
    }
  }

  /// Returns true for a value that the mapping lacks and may lack: an architecture that it does not run on; where the
  /// table is another mapping's, any number.
  [[nodiscard]] bool says_nothing(const Column& column, const Word& word) const {
    if (column.is_architecture())
      return std::find(keys_.others.begin(), keys_.others.end(), word.text) != keys_.others.end();
    return keys_.of_another && !word.text.empty() &&
           std::all_of(word.text.begin(), word.text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  /// Puts the slots that a cell names into slots_: "*" all, "2|3" two.
  void find_slots(const Column& column, const Word& cell) {
    slots_.clear();
    if (cell.text == "*") {
      for (std::size_t i = 0; i < column.values.size(); ++i) slots_.push_back(i);
      return;
    }
    split(cell, '|', words_);
    for (const Word& word : words_) {
      const auto found = std::find(column.words.begin(), column.words.end(), word.text);
      const auto slot = static_cast<std::size_t>(found - column.words.begin());
      const auto text = [&] { return std::string(word.text); };
      if (found == column.words.end() && says_nothing(column, word)) continue;
      if (found == column.words.end())
        throw Error(place(word), column.name, "unknown '" + text() + "'", "*, or " + one_of(text(), column.words));
      if (std::find(slots_.begin(), slots_.end(), slot) != slots_.end())
        throw Error(place(word), column.name, "'" + text() + "' stands twice", "each value once");
      slots_.push_back(slot);
    }
  }

  /// Puts the combinations that the cells of a row name into indices_.
  void find_indices() {
    indices_.assign(1, 0);
    for (std::size_t c = 0; c < table_.columns_.size(); ++c) {
      const Column& column = table_.columns_[c];
      find_slots(column, cells_[c]);
      next_.clear();
      for (const std::size_t slot : slots_) {
        for (const std::size_t index : indices_) next_.push_back(index + slot * column.stride);
      }
      indices_.swap(next_);
    }
  }

  void row(const Word& line) {
    split(line, ',', cells_);
    if (cells_.size() != heading_.size())
      throw Error(place(line), "row", std::to_string(cells_.size()) + " cells",
                  "one for each of the " + std::to_string(heading_.size()) + " columns");
    const std::size_t keys = table_.columns_.size();
    row_.clear();
    for (std::size_t i = 0; i < names_.size(); ++i)
      row_.push_back(
          static_cast<std::int32_t>(integer(cells_[keys + i], names_[i], i == 0 ? most_registers : most_counted)));
    find_indices();
    for (const std::size_t index : indices_) {
      if (table_.numbers_[0][index] != unknown)
        throw Error(place(line), "row", "another row speaks of " + text_of(index), "each combination in one row");
      for (std::size_t i = 0; i < table_.numbers_.size(); ++i) table_.numbers_[i][index] = row_[i];
    }
    spoken_of_ += indices_.size();
    ++table_.rows_;
  }

  /// Writes the values of a slot: "warpgroups=2,overlap=on"; "any other" for the slot of other values.
  [[nodiscard]] std::string text_of(std::size_t index) const {
    std::vector<std::string> words;
    for (const Column& c : table_.columns_) {
      const std::size_t slot = index / c.stride % c.slots;
      words.push_back(c.name + "=" + (slot < c.words.size() ? c.words[slot] : "any other"));
    }
    return words.empty() ? "every tile" : joined(words, ",");
  }

  /// Returns true if the combination has a slot for other values.
  [[nodiscard]] bool has_others(std::size_t index) const {
    return std::any_of(table_.columns_.begin(), table_.columns_.end(),
                       [&](const Column& c) { return index / c.stride % c.slots == c.values.size(); });
  }

  void need_all_combinations() const {
    std::size_t combinations = 1;
    for (const Column& c : table_.columns_) combinations *= c.values.size();
    if (spoken_of_ == combinations) return;
    for (std::size_t index = 0; index < combinations_; ++index) {
      if (table_.numbers_[0][index] == unknown && !has_others(index))
        throw Error(place(heading_.front()), "row", "no row speaks of " + text_of(index), "one more row; * for any");
    }
  }

  /// Fills the slots of other values with the largest number of the column's own values.
  void fill_others() {
    for (std::vector<std::int32_t>& numbers : table_.numbers_) {
      for (const Column& c : table_.columns_) {
        if (c.slots == c.values.size()) continue;
        for (std::size_t first = 0; first < numbers.size(); first += c.slots * c.stride) {
          std::int32_t* const others = &numbers[first + c.values.size() * c.stride];
          for (const std::int32_t* own = &numbers[first]; own != others; own += c.stride) {
            for (std::size_t i = 0; i < c.stride; ++i) others[i] = std::max(others[i], own[i]);
          }
        }
      }
    }
  }

  RegisterTable& table_;
  const std::vector<Knob> knobs_;
  const TableKeys keys_;
  const std::string file_;
  std::string_view rest_;  // rest of the text
  Word line_;              // current line
  std::size_t combinations_ = 0;
  bool of_bundled_ = false;  // true if the table has evidence beside registers
  std::vector<Word> heading_;
  std::vector<std::string> names_;  // names of the columns after the keys, evidence among them
  std::vector<std::string_view> facts_;
  std::size_t spoken_of_ = 0;                        // number of combinations that have a row
  std::vector<Word> cells_, words_;                  // cells of the current row, and words of one cell
  std::vector<std::int32_t> row_;                    // numbers of the row
  std::vector<std::size_t> slots_, indices_, next_;  // positions in the current cell and row
};

RegisterTable::RegisterTable(std::string text, const std::string& file, const std::vector<Knob>& knobs,
                             const TableKeys& keys, Rows rows)
    : text_(std::move(text)), reader_(std::make_unique<Reader>(*this, knobs, keys, file)) {
  reader_->read_heading();
  if (rows == Rows::at_once) read_rows();
}

RegisterTable::~RegisterTable() = default;

void RegisterTable::read_rows() const {
  const std::lock_guard lock(reading_);
  if (is_read_) return;
  reader_->read_rows();
  reader_.reset();
  is_read_.store(true, std::memory_order_release);
}

}  // namespace napkin::internal
