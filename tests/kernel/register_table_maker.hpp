#pragma once
// A RegisterTableMaker makes a mapping's register table from recorded verdicts: attention_sm90.registers.csv is what it
// wrote.
//
// It starts from the numbers that the mapping has (one number, guarded rows or an earlier table). A combination of
// knobs and mask with a tile that the rule accepts and the compiler objects to gets a larger number: one that rejects
// the tile, where the kernel sets its registers itself; else one granule more, whose variants are other code and have
// to be compiled. No number falls by itself: a smaller one is a claim, which a person writes into the mapping and
// compiles.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/mapping/compile/compiled.hpp"
#include "model/mapping/read/load.hpp"
#include "tests/kernel/register_verdicts.hpp"

namespace napkin::internal::test {

class RegisterTableMaker {
 public:
  /// The columns are the knobs that the agent's numbers ask for, the mask where they do, and those of `by`.
  RegisterTableMaker(const Mapping& mapping, const std::set<std::string>& by) : mapping_(mapping) {
    find_agent();
    find_columns(by);
    find_numbers();
  }

  /// Counts one tile's verdict.
  void count(const RuledTile& one, Mask::Kind mask, Verdict verdict) {
    Combination& combination = combinations_[index_of(one.tile, mask)];
    if (verdict == Verdict::unknown) return;
    if (verdict == Verdict::kept) ++(one.legal ? combination.kept : combination.needless);
    if (verdict == Verdict::spilled) ++combination.spilled;
    if (verdict == Verdict::kept || !one.legal) return;
    const PlacedAgent& agent = one.placed.agents[agent_];
    const std::int64_t left = (one.plan.registers_limit - one.plan.registers_per_thread).get();
    const std::int64_t more = agent.registers ? left + 1 : one.placed.machine->limits.register_granule_per_thread.get();
    combination.raised = std::max(combination.raised, agent.overhead.get() + more);
  }

  /// Raises the numbers that verdicts contradict. Returns how many were raised.
  int raise() {
    int raised = 0;
    for (Combination& combination : combinations_) {
      if (combination.raised <= combination.registers) continue;
      combination.registers = combination.raised;
      ++raised;
    }
    return raised;
  }

  /// Returns the columns' names and the rows.
  [[nodiscard]] std::string rows() {
    std::vector<std::size_t> all(combinations_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    rows_.clear();
    divide(all, std::vector<std::vector<std::size_t>>(columns_.size()));
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.slots < b.slots; });
    std::string out;
    for (const Column& column : columns_) out += column.name + ",";
    out += "registers,kept,spilled,needless\n";
    for (const Row& row : rows_) out += text_of(row) + "\n";
    return out;
  }
  [[nodiscard]] const std::string& agent() const { return mapping_.agents[agent_].name; }

 private:
  struct Column {
    std::string name;
    int knob = -1;  // the mask
    std::vector<std::int64_t> values;
    std::vector<std::string> words;
    std::size_t stride = 1;
  };
  struct Combination {
    std::int64_t registers = 0, raised = 0, kept = 0, spilled = 0, needless = 0;
  };
  struct Row {
    std::vector<std::vector<std::size_t>> slots;  // by column; none: any
    Combination sum;
  };

  void find_agent() {
    std::size_t most = 0, several = 0;
    for (std::size_t i = 0; i < mapping_.agents.size(); ++i) {
      const Overhead& overhead = mapping_.agents[i].overhead;
      const std::size_t has = overhead.numbers.size() + (overhead.table ? 1 : 0);
      several += has > 0 ? 1 : 0;
      if (has > most) agent_ = i;
      most = std::max(most, has);
    }
    if (several != 1) throw Error(mapping_.file, "not one agent with an overhead", "one");
  }

  void find_columns(std::set<std::string> names) {
    const Overhead& overhead = mapping_.agents[agent_].overhead;
    if (overhead.table && overhead.table->asks_for_mask()) names.insert("mask");
    if (overhead.table) {
      for (const int knob : overhead.table->knobs()) names.insert(knob_at(knob).name);
    }
    for (const auto& [guard, value] : overhead.numbers) {
      if (value.kind != Value::Kind::literal) throw Error(mapping_.file, "an overhead that is no number", "a number");
      if (!guard.masks.empty()) names.insert("mask");
      for (const auto& [knob, values] : guard.all) names.insert(knob_at(knob).name);
    }
    std::size_t size = 1;
    const auto add = [&](Column column) {
      column.stride = size;
      size *= column.values.size();
      columns_.push_back(std::move(column));
    };
    for (std::size_t k = 0; k < mapping_.knobs.size(); ++k) {
      const Knob& knob = mapping_.knobs[k];
      if (names.erase(knob.name) == 0) continue;
      Column column{knob.name, static_cast<int>(k), knob.domain, knob.words, 1};
      for (const std::int64_t value : knob.domain) {
        if (knob.words.empty()) column.words.push_back(std::to_string(value));
      }
      add(std::move(column));
    }
    if (names.erase("mask") > 0) add({"mask", -1, {0, 1, 2}, {"none", "causal", "window"}, 1});
    if (!names.empty()) throw Error("--by", "'" + *names.begin() + "' is no knob", "a knob, or mask");
    combinations_.resize(size);
  }

  // The mapping's numbers, combination by combination.
  void find_numbers() {
    Tile tile;
    for (const Knob& knob : mapping_.knobs) tile.values.push_back(knob.domain.front());
    for (std::size_t i = 0; i < combinations_.size(); ++i) {
      Mask::Kind mask = Mask::Kind::none;
      for (const Column& column : columns_) {
        const std::int64_t value = column.values[slot_of(i, column)];
        if (column.knob < 0)
          mask = static_cast<Mask::Kind>(value);
        else
          tile.values[static_cast<std::size_t>(column.knob)] = value;
      }
      combinations_[i].registers = number_of(tile, mask);
    }
  }

  [[nodiscard]] std::int64_t number_of(const Tile& tile, Mask::Kind mask) const {
    const Overhead& overhead = mapping_.agents[agent_].overhead;
    if (overhead.table) return overhead.table->of(tile, mask);
    for (const auto& [guard, value] : overhead.numbers) {
      const bool meant = guard.masks.empty() || std::count(guard.masks.begin(), guard.masks.end(), mask) > 0;
      if (meant && holds(guard, tile)) return value.literal;
    }
    return 0;
  }

  [[nodiscard]] const Knob& knob_at(int knob) const { return mapping_.knobs[static_cast<std::size_t>(knob)]; }

  static std::size_t slot_of(std::size_t index, const Column& column) {
    return index / column.stride % column.values.size();
  }

  [[nodiscard]] std::size_t index_of(const Tile& tile, Mask::Kind mask) const {
    std::size_t index = 0;
    for (const Column& c : columns_) {
      const std::int64_t value =
          c.knob < 0 ? static_cast<std::int64_t>(mask) : tile.values[static_cast<std::size_t>(c.knob)];
      index +=
          c.stride * static_cast<std::size_t>(std::find(c.values.begin(), c.values.end(), value) - c.values.begin());
    }
    return index;
  }

  // Combinations of one number become a row; others are divided by the column that leaves the least disorder.

  /// Returns the column's values in groups: values of a group have equal numbers in all combinations of the other
  /// columns.
  [[nodiscard]] std::map<std::vector<std::int64_t>, std::vector<std::size_t>> groups_of(
      const std::vector<std::size_t>& cells, const Column& column) const {
    std::vector<std::vector<std::int64_t>> numbers(column.values.size());
    for (const std::size_t cell : cells) numbers[slot_of(cell, column)].push_back(combinations_[cell].registers);
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> out;
    for (std::size_t slot = 0; slot < numbers.size(); ++slot) {
      if (!numbers[slot].empty()) out[numbers[slot]].push_back(slot);
    }
    return out;
  }

  /// Returns Shannon's entropy of the numbers, times their count.
  static double disorder(const std::vector<std::int64_t>& numbers) {
    std::map<std::int64_t, double> times;
    for (const std::int64_t number : numbers) ++times[number];
    double sum = 0;
    for (const auto& [number, n] : times) sum -= n * std::log(n / static_cast<double>(numbers.size()));
    return sum;
  }

  void divide(const std::vector<std::size_t>& cells, std::vector<std::vector<std::size_t>> slots) {
    const auto other = [&](std::size_t c) {
      return combinations_[c].registers != combinations_[cells.front()].registers;
    };
    if (std::none_of(cells.begin(), cells.end(), other)) return add_row(cells, std::move(slots));
    std::size_t best = columns_.size();
    double least = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto groups = groups_of(cells, columns_[c]);
      if (groups.size() < 2) continue;
      double sum = 0;
      for (const auto& [numbers, alike] : groups) sum += disorder(numbers) * static_cast<double>(alike.size());
      if (best == columns_.size() || sum < least - 1e-9) {
        best = c;
        least = sum;
      }
    }
    for (const auto& [numbers, alike] : groups_of(cells, columns_[best])) {
      std::vector<std::size_t> part;
      std::copy_if(cells.begin(), cells.end(), std::back_inserter(part), [&, &alike = alike](std::size_t cell) {
        return std::find(alike.begin(), alike.end(), slot_of(cell, columns_[best])) != alike.end();
      });
      slots[best] = alike;
      divide(part, slots);
    }
  }

  void add_row(const std::vector<std::size_t>& cells, std::vector<std::vector<std::size_t>> slots) {
    Row row{std::move(slots), {}};
    row.sum.registers = combinations_[cells.front()].registers;
    for (const std::size_t cell : cells) {
      row.sum.kept += combinations_[cell].kept;
      row.sum.spilled += combinations_[cell].spilled;
      row.sum.needless += combinations_[cell].needless;
    }
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] std::string text_of(const Row& row) const {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      std::vector<std::string> words;
      for (const std::size_t slot : row.slots[c]) words.push_back(columns_[c].words[slot]);
      out += (words.empty() ? "*" : joined(words, "|")) + ",";
    }
    const auto& [registers, raised, kept, spilled, needless] = row.sum;
    for (const std::int64_t n : {registers, kept, spilled}) out += std::to_string(n) + ",";
    return out + std::to_string(needless);
  }

  const Mapping& mapping_;
  std::size_t agent_ = 0;
  std::vector<Column> columns_;
  std::vector<Combination> combinations_;  // by the columns' slots, the first column's fastest
  std::vector<Row> rows_;
};

/// Returns the whole text of a table.
inline std::string register_table(const std::string& kernel, const std::string& path, const std::string& revision,
                                  const std::set<std::string>& by = {}) {
  const Mapping mapping = load_mapping(kernel, "KERNEL");
  RegisterTableMaker maker(mapping, by);
  std::set<std::string> compilers, dates;
  for (const Verdicts& verdicts : read_verdicts(path)) {
    const std::unique_ptr<Measurable> m = measurable_of(verdicts.ask);
    for_each_ruled(*m, 32, [&](const RuledTile& one) {
      maker.count(one, verdicts.ask.mask.kind, verdict_of(verdicts, *m->setup->mapping, one));
    });
    compilers.insert(verdicts.compiler);
    dates.insert(verdicts.date);
  }
  const int raised = maker.raise();
  std::fprintf(stderr, "%s: %d combinations raised\n", kernel.c_str(), raised);
  std::string out =
      "# Registers that a thread of " + kernel + "'s " + maker.agent() +
      " needs beyond its arrays, so that the compiler keeps all of them. Made, not edited.\n"
      "# Of the tiles compiled: kept, accepted and without objection; spilled, rejected, and the compiler "
      "objects;\n# needless, rejected, though it does not.\n";
  out += "# compiler: " + joined({compilers.begin(), compilers.end()}) + "\n";
  out += "# date: " + *dates.rbegin() + "\n# revision: " + revision + "\n";
  out += "# command: run_compile " + kernel + " --table tests/measured/registers/" + kernel + ".jsonl\n";
  return out + maker.rows();
}

}  // namespace napkin::internal::test
