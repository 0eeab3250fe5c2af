#include "model/mapping/register_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "model/mapping/tile.hpp"

namespace napkin {
namespace {

constexpr std::int64_t most_registers = 255;                   // that an instruction can name
constexpr std::int64_t most_variants = std::int64_t{1} << 40;  // of a count of compiled variants
constexpr std::size_t most_combinations = std::size_t{1} << 20;
constexpr std::int16_t unknown = -1;

constexpr std::array<std::string_view, 4> facts = {"compiler", "date", "revision", "command"};
constexpr std::array<std::string_view, 4> numbers = {"registers", "kept", "spilled", "needless"};

}  // namespace

std::size_t RegisterTable::Column::slot(const Tile& tile, Mask::Kind mask) const {
  const std::int64_t value = knob < 0 ? static_cast<std::int64_t>(mask) : tile.values[static_cast<std::size_t>(knob)];
  if (slots == values.size())
    return std::min(static_cast<std::size_t>(value), slots - 1);  // a word's value is its place
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

bool RegisterTable::asks_for_mask() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.knob < 0; });
}

class RegisterTable::Reader {
 public:
  Reader(RegisterTable& table, const std::vector<Knob>& knobs) : table_(table), knobs_(knobs) {}

  void read(const std::string& file) {
    std::string_view rest = table_.text_;
    Word line{{}, {file, 0, 1}};
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line.text = rest.substr(0, end);
      ++line.location.line;
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.text.starts_with('#')) {
        fact(line);
      } else if (heading_.empty()) {
        heading(line);
      } else {
        row(line);
      }
    }
    if (heading_.empty())
      throw Error(file, "a table without columns", "knobs, mask, registers, kept, spilled, needless");
    for (const std::string_view name : facts) {
      if (std::find(facts_.begin(), facts_.end(), name) == facts_.end())
        throw Error(file, "'# " + std::string(name) + ": ...' is missing", "who made the table, and when");
    }
    need_all_combinations();
    fill_others();
  }

 private:
  /// A part of the text and where it stands.
  struct Word {
    std::string_view text;
    Location location;
  };

  /// The parts between the separators, each without the blanks around it.
  static std::vector<Word> split(const Word& line, char separator) {
    std::vector<Word> out;
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = std::min(line.text.find(separator, begin), line.text.size());
      std::string_view part = line.text.substr(begin, end - begin);
      Location location = line.location;
      const std::size_t blanks = std::min(part.find_first_not_of(' '), part.size());
      location.column += static_cast<int>(begin + blanks);
      part.remove_prefix(blanks);
      part = part.substr(0, part.find_last_not_of(' ') + 1);
      out.push_back({part, std::move(location)});
      if (end == line.text.size()) return out;
      begin = end + 1;
    }
  }

  static std::int64_t integer(const Word& word, const std::string& field, std::int64_t most) {
    std::int64_t value = -1;
    const char* end = word.text.data() + word.text.size();
    const auto [stop, code] = std::from_chars(word.text.data(), end, value);
    if (code != std::errc{} || stop != end || value < 0 || value > most)
      throw Error(word.location, field, "'" + std::string(word.text) + "' is no number of registers or variants",
                  "a whole number from 0 to " + std::to_string(most));
    return value;
  }

  // "# compiler: NVRTC 13.0"; a line without a known name in front is a comment.
  void fact(const Word& line) {
    const std::string_view text = line.text.substr(std::min<std::size_t>(2, line.text.size()));
    const std::string_view name = text.substr(0, text.find(':'));
    if (std::find(facts.begin(), facts.end(), name) == facts.end()) return;
    if (std::find(facts_.begin(), facts_.end(), name) != facts_.end())
      throw Error(line.location, std::string(name), "stands twice", "each once");
    if (text.find_first_not_of(' ', name.size() + 1) == std::string_view::npos)
      throw Error(line.location, std::string(name), "is empty", "who made the table, and when");
    facts_.push_back(name);
  }

  [[nodiscard]] std::vector<std::string> known_columns() const {
    std::vector<std::string> names;
    for (const Knob& knob : knobs_) names.push_back(knob.name);
    names.emplace_back("mask");
    return names;
  }

  [[nodiscard]] Column column(const Word& word) const {
    Column out;
    out.name = word.text;
    if (out.name == "mask") {
      out.words = {"none", "causal", "window"};  // in the order of Mask::Kind
      out.values = {0, 1, 2};
      out.slots = out.values.size();
      return out;
    }
    const auto knob = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) { return k.name == out.name; });
    if (knob == knobs_.end()) throw Error(word.location, out.name, "unknown column", one_of(out.name, known_columns()));
    out.knob = static_cast<int>(knob - knobs_.begin());
    out.values = knob->domain;
    out.words = knob->words;
    out.slots = out.values.size() + (knob->words.empty() ? 1 : 0);
    if (knob->words.empty()) {
      for (const std::int64_t value : out.values) out.words.push_back(std::to_string(value));
    }
    return out;
  }

  void heading(const Word& line) {
    heading_ = split(line, ',');
    const std::size_t keys = heading_.size() - std::min(heading_.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (keys + i < heading_.size() && heading_[keys + i].text == numbers[i]) continue;
      throw Error(line.location, std::string(numbers[i]), "is not where it belongs",
                  "knobs and mask, then registers,kept,spilled,needless");
    }
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < keys; ++i) {
      Column one = column(heading_[i]);
      for (const Column& other : table_.columns_) {
        if (other.name == one.name) throw Error(heading_[i].location, one.name, "stands twice", "each column once");
      }
      one.stride = combinations;
      combinations *= one.slots;
      if (combinations > most_combinations)
        throw Error(heading_[i].location, one.name, "the columns have more than 2^20 combinations", "fewer columns");
      if (one.knob >= 0) table_.knobs_.push_back(one.knob);
      table_.columns_.push_back(std::move(one));
    }
    table_.registers_.assign(combinations, unknown);
  }

  /// The slots that a cell names: "*" all, "2|3" two.
  static std::vector<std::size_t> slots(const Column& column, const Word& cell) {
    std::vector<std::size_t> out;
    if (cell.text == "*") {
      for (std::size_t i = 0; i < column.values.size(); ++i) out.push_back(i);
      return out;
    }
    for (const Word& word : split(cell, '|')) {
      const auto found = std::find(column.words.begin(), column.words.end(), word.text);
      const auto slot = static_cast<std::size_t>(found - column.words.begin());
      const std::string text(word.text);
      if (found == column.words.end())
        throw Error(word.location, column.name, "unknown '" + text + "'", "*, or " + one_of(text, column.words));
      if (std::find(out.begin(), out.end(), slot) != out.end())
        throw Error(word.location, column.name, "'" + text + "' stands twice", "each value once");
      out.push_back(slot);
    }
    return out;
  }

  void row(const Word& line) {
    const std::vector<Word> cells = split(line, ',');
    if (cells.size() != heading_.size())
      throw Error(line.location, "row", std::to_string(cells.size()) + " cells",
                  "one for each of the " + std::to_string(heading_.size()) + " columns");
    const std::size_t keys = table_.columns_.size();
    const std::int64_t registers = integer(cells[keys], "registers", most_registers);
    for (std::size_t i = 1; i < numbers.size(); ++i)
      (void)integer(cells[keys + i], std::string(numbers[i]), most_variants);
    std::vector<std::size_t> indices = {0};
    for (std::size_t c = 0; c < keys; ++c) {
      std::vector<std::size_t> next;
      for (const std::size_t slot : slots(table_.columns_[c], cells[c])) {
        for (const std::size_t index : indices) next.push_back(index + slot * table_.columns_[c].stride);
      }
      indices = std::move(next);
    }
    for (const std::size_t index : indices) {
      if (table_.registers_[index] != unknown)
        throw Error(line.location, "row", "another row speaks of " + text_of(index), "each combination in one row");
      table_.registers_[index] = static_cast<std::int16_t>(registers);
    }
    spoken_of_ += indices.size();
    ++table_.rows_;
  }

  /// "warpgroups=2,overlap=on"; a slot for other values is "any other".
  [[nodiscard]] std::string text_of(std::size_t index) const {
    std::vector<std::string> words;
    for (const Column& c : table_.columns_) {
      const std::size_t slot = index / c.stride % c.slots;
      words.push_back(c.name + "=" + (slot < c.words.size() ? c.words[slot] : "any other"));
    }
    return words.empty() ? "every tile" : joined(words, ",");
  }

  /// Whether the combination has a slot for other values.
  [[nodiscard]] bool has_others(std::size_t index) const {
    return std::any_of(table_.columns_.begin(), table_.columns_.end(),
                       [&](const Column& c) { return index / c.stride % c.slots == c.values.size(); });
  }

  void need_all_combinations() const {
    std::size_t combinations = 1;
    for (const Column& c : table_.columns_) combinations *= c.values.size();
    if (spoken_of_ == combinations) return;
    for (std::size_t index = 0; index < table_.registers_.size(); ++index) {
      if (table_.registers_[index] == unknown && !has_others(index))
        throw Error(heading_.front().location, "row", "no row speaks of " + text_of(index), "one more row; * for any");
    }
  }

  /// Other values of a column take the largest number of its own values.
  void fill_others() {
    std::vector<std::int16_t>& registers = table_.registers_;
    for (const Column& c : table_.columns_) {
      if (c.slots == c.values.size()) continue;
      for (std::size_t first = 0; first < registers.size(); first += c.slots * c.stride) {
        for (std::size_t i = first; i < first + c.stride; ++i) {
          std::int16_t& others = registers[i + c.values.size() * c.stride];
          for (std::size_t slot = 0; slot < c.values.size(); ++slot)
            others = std::max(others, registers[i + slot * c.stride]);
        }
      }
    }
  }

  RegisterTable& table_;
  const std::vector<Knob>& knobs_;
  std::vector<Word> heading_;
  std::vector<std::string_view> facts_;
  std::size_t spoken_of_ = 0;  // combinations
};

RegisterTable::RegisterTable(std::string_view text, const std::string& file, const std::vector<Knob>& knobs)
    : text_(text) {
  Reader(*this, knobs).read(file);
}

}  // namespace napkin
