#include "model/machine/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace napkin::internal::profile {
namespace {

using enum Dimension;

struct UnitRow {
  std::string_view name;
  Dimension dimension;
  double factor;  // to SI
};

/// The known units. Decimal prefixes are powers of 1000, binary ones (Ki, Mi, Gi) of 1024.
constexpr std::array units = {
    UnitRow{"B", bytes, 1},
    UnitRow{"KB", bytes, 1e3},
    UnitRow{"MB", bytes, 1e6},
    UnitRow{"GB", bytes, 1e9},
    UnitRow{"KiB", bytes, 1024.0},
    UnitRow{"MiB", bytes, 1048576.0},
    UnitRow{"GiB", bytes, 1073741824.0},
    UnitRow{"GB/s", bytes_per_second, 1e9},
    UnitRow{"TB/s", bytes_per_second, 1e12},
    UnitRow{"GiB/s", bytes_per_second, 1073741824.0},
    UnitRow{"B/clk", bytes_per_clock, 1},
    UnitRow{"clk", clocks, 1},
    UnitRow{"s", seconds, 1},
    UnitRow{"ms", seconds, 1e-3},
    UnitRow{"us", seconds, 1e-6},
    UnitRow{"ns", seconds, 1e-9},
    UnitRow{"MHz", frequency, 1e6},
    UnitRow{"GHz", frequency, 1e9},
    UnitRow{"W", power, 1},
    UnitRow{"pJ/B", energy_per_byte, 1e-12},
    UnitRow{"nJ/B", energy_per_byte, 1e-9},
    UnitRow{"pJ/FLOP", energy_per_flop, 1e-12},
    UnitRow{"nJ/instruction", energy_per_instruction, 1e-9},
    UnitRow{"FLOP/clk", flop_per_clock, 1},
    UnitRow{"results/clk", results_per_clock, 1},
    UnitRow{"instructions/clk", instructions_per_clock, 1},
    UnitRow{"nodes", nodes, 1},
    UnitRow{"threads", threads, 1},
    UnitRow{"warps", warps, 1},
    UnitRow{"blocks", blocks, 1},
    UnitRow{"registers", registers, 1},
    UnitRow{"schedulers", schedulers, 1},
    UnitRow{"instructions", instructions, 1},
    UnitRow{"results", results, 1},
    UnitRow{"1", ratio, 1},
    UnitRow{"ways", ways, 1},
    UnitRow{"B/row", bytes_per_row, 1},
};

struct DimensionRow {
  Dimension dimension;
  std::string_view name;
  double least, most;  // plausible range, SI; a number outside probably has the wrong unit
  bool whole = false;  // true for a count or a size in bytes
};

constexpr std::array dimensions_known = {
    DimensionRow{bytes, "a size", 1, 1e15, true},
    DimensionRow{bytes_per_second, "a bandwidth", 1e6, 1e17},
    DimensionRow{bytes_per_clock, "a bandwidth per clock", 1e-3, 1e7},
    DimensionRow{clocks, "a number of clocks", 1e-3, 1e9},
    DimensionRow{seconds, "a time", 1e-12, 10},
    DimensionRow{frequency, "a frequency", 1e7, 2e10},
    DimensionRow{power, "a power", 0.1, 1e5},
    DimensionRow{energy_per_byte, "an energy per byte", 1e-18, 1e-6},
    DimensionRow{energy_per_flop, "an energy per operation", 1e-18, 1e-6},
    DimensionRow{energy_per_instruction, "an energy per instruction", 1e-15, 1e-3},
    DimensionRow{flop_per_clock, "operations per clock", 1e-3, 1e9},
    DimensionRow{results_per_clock, "results per clock", 1e-3, 1e7},
    DimensionRow{instructions_per_clock, "instructions per clock", 1e-3, 1e7},
    DimensionRow{nodes, "a number of nodes", 1, 1e6, true},
    DimensionRow{threads, "a number of threads", 1, 1e6, true},
    DimensionRow{warps, "a number of warps", 1, 1e6, true},
    DimensionRow{blocks, "a number of blocks", 1, 1e6, true},
    DimensionRow{registers, "a number of registers", 1, 1e9, true},
    DimensionRow{schedulers, "a number of schedulers", 1, 1e3, true},
    DimensionRow{instructions, "a number of instructions", 1, 1e6, true},
    DimensionRow{results, "a number of results", 1, 1e3, true},
    DimensionRow{ratio, "a ratio", 1e-6, 1e3},
    DimensionRow{ways, "a number of ways", 1, 1e4, true},
    DimensionRow{bytes_per_row, "bytes per row", 1, 1e6, true},
};

const DimensionRow& row_of(Dimension dimension) {
  return *std::find_if(dimensions_known.begin(), dimensions_known.end(),
                       [&](const DimensionRow& row) { return row.dimension == dimension; });
}

const UnitRow* find_unit(std::string_view name) {
  const auto row = std::find_if(units.begin(), units.end(), [&](const UnitRow& u) { return u.name == name; });
  return row == units.end() ? nullptr : &*row;
}

bool contains(const std::vector<Dimension>& dimensions, Dimension dimension) {
  return std::find(dimensions.begin(), dimensions.end(), dimension) != dimensions.end();
}

std::vector<std::string> unit_names(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  for (const UnitRow& unit : units) {
    if (contains(dimensions, unit.dimension)) names.emplace_back(unit.name);
  }
  return names;
}

/// Returns "clk", or "one of GB/s, TB/s".
std::string choice_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front() : "one of " + joined(names);
}

std::string names_of(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  names.reserve(dimensions.size());
  for (const Dimension dimension : dimensions) names.push_back(name_of(dimension));
  return joined(names, " or ");
}

std::string shown(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

const UnitRow& read_unit(const yaml::Node& node, const std::vector<Dimension>& dimensions) {
  const UnitRow* unit = find_unit(node.text());
  if (unit == nullptr) {
    node.fail("unknown unit '" + node.text() + "'", one_of(node.text(), unit_names(dimensions)));
  }
  if (!contains(dimensions, unit->dimension)) {
    node.fail("unit '" + node.text() + "' measures " + name_of(unit->dimension) + ", not " + names_of(dimensions),
              choice_of(unit_names(dimensions)));
  }
  return *unit;
}

/// Returns the key's value; throws Error with `right`, the expected value, if it is missing.
template <class Right>
const yaml::Node& require(const yaml::Node& node, std::string_view key, const Right& right) {
  if (const yaml::Node* found = node.find(key)) return *found;
  if constexpr (std::is_invocable_v<Right>)
    node.fail("no " + std::string(key), right());
  else
    node.fail("no " + std::string(key), std::string(right));
}

std::string read_words(const yaml::Node& node, std::string_view right) {
  std::string text = node.text();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) node.fail("empty", std::string(right));
  return text;
}

void check_date(const yaml::Node& node) {
  const std::string& text = node.text();
  const std::string_view pattern = "dddd-dd-dd";
  bool good = text.size() == 4 || text.size() == 7 || text.size() == 10;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    good = pattern[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == pattern[i];
  }
  const auto part = [&](std::size_t at) { return text.size() > at ? std::stoi(text.substr(at, 2)) : 1; };
  good = good && part(5) >= 1 && part(5) <= 12 && part(8) >= 1 && part(8) <= 31;
  if (!good && text != "unknown") {
    node.fail("'" + text + "' is not a date", "2026-11-20, 2026-11, 2026, or unknown");
  }
}

void read_measurement(const yaml::Node& node, Provenance& from) {
  from.tool = read_words(require(node, "tool", "tool: the program that measured it"), "the program that measured it");
  const yaml::Node& date = require(node, "date", "date: 2026-11-20, or unknown");
  check_date(date);
  from.date = date.text();
  from.driver = read_words(require(node, "driver", "driver: \"580\", or unknown"), "\"580\", or unknown");
}

void read_spread(const yaml::Node& node, Provenance& from) {
  const yaml::Node* spread = node.find("spread");
  if (spread == nullptr) return;
  from.spread = spread->number();
  if (*from.spread < 0 || *from.spread > 10)
    spread->fail(spread->text() + " is no spread", "a fraction of the value, such as 0.004");
}

void read_remarks(const yaml::Node& node, Provenance& from) {
  if (const yaml::Node* note = node.find("note")) from.note = read_words(*note, "a remark, or no note at all");
  if (const yaml::Node* gpu = node.find("gpu")) from.gpu = read_words(*gpu, "the product that it was measured on");
}

/// Returns a size or a count as the nearest whole number; decimal fractions (1.2 GB) may leave a rounding error.
double whole(const yaml::Node& node, double value) {
  const double rounded = std::round(value);
  if (std::abs(value - rounded) > 1e-9 * std::max(1.0, std::abs(rounded))) {
    node.fail(shown(value) + " is not whole", "a whole number");
  }
  return rounded;
}

/// Reads `value` and `unit` of the map `node`, in SI.
Number read_value(const yaml::Node& node, const std::vector<Dimension>& dimensions, bool zero_allowed) {
  const yaml::Node& value = require(node, "value", "value: a number");
  const yaml::Node& unit = require(node, "unit", [&] { return "unit: " + choice_of(unit_names(dimensions)); });
  const UnitRow& row = read_unit(unit, dimensions);
  const DimensionRow& range = row_of(row.dimension);
  Number number;
  number.unit = std::string(row.name);
  number.value = value.number() * row.factor;
  if (range.whole) number.value = whole(value, number.value);
  if (zero_allowed && number.value == 0) return number;
  if (!(number.value > 0)) value.fail(value.text() + " is not positive", "a number above 0");
  if (!std::isfinite(number.value) || number.value < range.least || number.value > range.most) {
    value.fail(value.text() + " " + number.unit + " is not plausible for " + std::string(range.name),
               "check value and unit");
  }
  return number;
}

/// Reads `disputed`, the value that another source states of the same quantity.
void read_disputed(const yaml::Node& node, const std::vector<Dimension>& dimensions, Number& number) {
  const yaml::Node* disputed = node.find("disputed");
  if (disputed == nullptr) return;
  if (!disputed->is_map()) disputed->fail("not a number with its source", "{value: ..., unit: ..., source: \"...\"}");
  disputed->allow({"value", "unit", "source"});
  const Number other = read_value(*disputed, dimensions, false);
  if (other.unit == number.unit && other.value == number.value)
    disputed->at("value").fail("the same value again", "the value that the other source states");
  const yaml::Node& source = require(*disputed, "source", "source: \"who states that value\"");
  number.from.disputed = {other.value, other.unit, read_words(source, "who states that value")};
}

Number read_full(const yaml::Node& node, const std::vector<Dimension>& dimensions, bool zero_allowed) {
  if (!node.is_map()) {
    node.fail("not a number with its unit and source",
              "{value: ..., unit: " + unit_names(dimensions).front() + ", source: \"...\"}");
  }
  node.allow({"value", "unit", "source", "measured", "note", "gpu", "disputed"});
  Number number = read_value(node, dimensions, zero_allowed);
  number.from = read_provenance(node);
  read_disputed(node, dimensions, number);
  return number;
}

}  // namespace

namespace {

const UnitRow& unit_of(std::string_view unit) {
  const UnitRow* row = find_unit(unit);
  if (row == nullptr) throw Error("unit", "'" + std::string(unit) + "' is unknown", "a unit of docs/own-gpu.md");
  return *row;
}

}  // namespace

double factor_of(std::string_view unit) { return unit_of(unit).factor; }

Dimension dimension_of(std::string_view unit) { return unit_of(unit).dimension; }

std::string name_of(Dimension dimension) { return std::string(row_of(dimension).name); }

Dimension dimension_of(const yaml::Node& unit, const std::vector<Dimension>& dimensions) {
  return read_unit(unit, dimensions).dimension;
}

Provenance read_provenance(const yaml::Node& node) {
  const yaml::Node* source = node.find("source");
  const yaml::Node* measured = node.find("measured");
  if (source == nullptr && measured == nullptr)
    node.fail("no source", "source: \"...\" or measured: {tool: ..., date: ..., driver: ...}");
  if (source != nullptr && measured != nullptr) {
    measured->fail("both a source and a measurement for one value",
                   "datasheet: {value, unit, source} and measured: {value, unit, tool, date, driver}");
  }
  Provenance from;
  if (source != nullptr) {
    from.source = read_words(*source, "where the number comes from");
  } else {
    measured->allow({"tool", "date", "driver", "spread"});
    read_measurement(*measured, from);
    read_spread(*measured, from);
  }
  read_remarks(node, from);
  return from;
}

Number read_number(const yaml::Node& node, const std::vector<Dimension>& dimensions) {
  return read_full(node, dimensions, false);
}

Number read_number(const yaml::Node& node, Dimension dimension) { return read_full(node, {dimension}, false); }

Number read_number_or_zero(const yaml::Node& node, Dimension dimension) { return read_full(node, {dimension}, true); }

Stated read_stated(const yaml::Node& node, const std::vector<Dimension>& dimensions) {
  Stated stated;
  if (!node.is_map() || node.find("datasheet") == nullptr) {
    Number number = read_full(node, dimensions, false);
    (number.from.measured() ? stated.measured : stated.datasheet) = std::move(number);
    return stated;
  }
  node.allow({"datasheet", "measured"});
  const yaml::Node& datasheet = node.at("datasheet");
  datasheet.allow({"value", "unit", "source", "note"});
  stated.datasheet = read_value(datasheet, dimensions, false);
  stated.datasheet->from = read_provenance(datasheet);
  const yaml::Node& measured = require(
      node, "measured", "measured: {value, unit, tool, date, driver}, or {value, unit, source} in place of both");
  measured.allow({"value", "unit", "tool", "date", "driver", "spread", "note", "gpu", "disputed"});
  stated.measured = read_value(measured, dimensions, false);
  read_measurement(measured, stated.measured->from);
  read_spread(measured, stated.measured->from);
  read_remarks(measured, stated.measured->from);
  read_disputed(measured, dimensions, *stated.measured);
  return stated;
}

Stated read_stated(const yaml::Node& node, Dimension dimension) {
  return read_stated(node, std::vector<Dimension>{dimension});
}

}  // namespace napkin::internal::profile
