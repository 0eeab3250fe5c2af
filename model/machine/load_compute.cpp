// Execution units, limits, clocks and constants of a profile.

#include <algorithm>
#include <array>

#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::profile {
namespace {

using enum Dimension;

constexpr std::int64_t most_shape = 4096;

void read_shape(const yaml::Node& node, TensorInstruction& instruction) {
  node.allow({"m", "n", "k", "source", "measured", "note"});
  instruction.m = node.at("m").integer(1, most_shape);
  instruction.k = node.at("k").integer(1, most_shape);
  const yaml::Node& n = node.at("n");
  if (n.is_scalar()) {
    instruction.n_least = instruction.n_most = instruction.n_step = n.integer(1, most_shape);
  } else {
    n.allow({"from", "to", "step"});
    instruction.n_least = n.at("from").integer(1, most_shape);
    instruction.n_most = n.at("to").integer(instruction.n_least.get(), most_shape);
    instruction.n_step = n.at("step").integer(1, most_shape);
  }
  instruction.shape_from = read_provenance(node);
}

double read_clocks_of(const yaml::Node& row, std::string_view key) {
  const yaml::Node* node = row.find(key);
  if (node == nullptr) return 0;
  const double clocks = node->number();
  if (!(clocks > 0) || clocks > 1e6) node->fail("'" + node->text() + "' clocks", "a number above 0, at most 1e6");
  return clocks;
}

// A table: unit and provenance once, rows of n against clocks.
void read_timing(const yaml::Node& node, TensorInstruction& instruction) {
  node.allow({"unit", "source", "measured", "note", "rows"});
  (void)dimension_of(node.at("unit"), {clocks});
  instruction.timing_from = read_provenance(node);
  for (const yaml::Node& row : node.at("rows").items()) {
    row.allow({"n", "a_shared", "a_registers", "latency_a_shared", "latency_a_registers"});
    InstructionTiming timing;
    timing.n = row.at("n").integer(1, most_shape);
    timing.clocks_shared = read_clocks_of(row, "a_shared");
    timing.clocks_registers = read_clocks_of(row, "a_registers");
    timing.latency_shared = read_clocks_of(row, "latency_a_shared");
    timing.latency_registers = read_clocks_of(row, "latency_a_registers");
    if (!(timing.clocks_shared > 0) && !(timing.clocks_registers > 0)) {
      row.fail("no clocks", "{n: 64, a_shared: 32, a_registers: 32}");
    }
    if (!instruction.timing.empty() && instruction.timing.back().n >= timing.n) {
      row.at("n").fail("n out of order", "rows by ascending n");
    }
    instruction.timing.push_back(timing);
  }
  if (instruction.timing.empty()) node.at("rows").fail("empty", "at least one row");
}

LevelId read_level_of(const yaml::Node& node, const Machine& machine) {
  const yaml::Node* level = node.find("level");
  return level == nullptr ? machine.compute : level_named(*level, machine);
}

// What a unit's rate counts, from the unit it is written in; all of a unit's numbers count the same.
std::string counted(const Unit& unit, const yaml::Node& node) {
  const auto what = [](const Number& number) -> std::string {
    if (number.unit == "B/clk") return "bytes";
    return number.unit == "FLOP/clk" ? "flop" : number.unit.substr(0, number.unit.find('/'));
  };
  std::string first = what(unit.per_clock.best());
  std::vector<Number> all;
  if (unit.per_clock.datasheet) all.push_back(*unit.per_clock.datasheet);
  if (unit.beside_tensor) all.push_back(*unit.beside_tensor);
  for (const Number& number : all) {
    if (what(number) != first) node.fail("numbers in different units", "one unit for all numbers of a unit");
  }
  return first;
}

struct UnitName {
  std::string_view name;
  std::vector<Dimension> dimensions;
};

const std::vector<UnitName>& unit_names() {
  static const std::vector<Dimension> results = {results_per_clock, instructions_per_clock, flop_per_clock};
  static const std::vector<UnitName> names = {
      {"special", results},
      {"fp32", results},
      {"fp16", results},
      {"int32", results},
      {"alu", results},
      {"conversion", results},
      {"conversion_fp8", results},
      {"issue", {instructions_per_clock}},
      {"shared_port", {bytes_per_clock}},
      {"shuffle", results},
  };
  return names;
}

struct LimitField {
  const char* name;
  Count Limits::*field;
  Dimension dimension;
  bool zero_allowed;
};

constexpr std::array limit_fields = {
    LimitField{"warp_size", &Limits::warp_size, threads, false},
    LimitField{"threads_per_node", &Limits::threads_per_node, threads, false},
    LimitField{"warps_per_node", &Limits::warps_per_node, warps, false},
    LimitField{"blocks_per_node", &Limits::blocks_per_node, blocks, false},
    LimitField{"threads_per_block", &Limits::threads_per_block, threads, false},
    LimitField{"registers_per_node", &Limits::registers_per_node, registers, false},
    LimitField{"registers_per_block", &Limits::registers_per_block, registers, false},
    LimitField{"registers_per_thread", &Limits::registers_per_thread, registers, false},
    LimitField{"register_granule_per_thread", &Limits::register_granule_per_thread, registers, false},
    LimitField{"register_granule_per_warp", &Limits::register_granule_per_warp, registers, false},
    LimitField{"schedulers", &Limits::schedulers, schedulers, false},
    LimitField{"shared_reserved_per_block", &Limits::shared_reserved_per_block, bytes, true},
    LimitField{"shared_granule", &Limits::shared_granule, bytes, false},
};

void read_instruction(const yaml::Node& node, Machine& machine) {
  node.allow({"name", "types", "rate", "shape", "timing", "level"});
  TensorInstruction instruction;
  instruction.name = node.at("name").text();
  const Number rate = read_number(node.at("rate"), flop_per_clock);
  instruction.flop_per_clock = rate.value;
  instruction.from = rate.from;
  read_shape(node.at("shape"), instruction);
  if (const auto* timing = node.find("timing")) read_timing(*timing, instruction);
  instruction.level = read_level_of(node, machine);
  const yaml::Node& types = node.at("types");
  const std::vector<std::string> names = types.words();
  if (names.empty()) types.fail("no types", "types: [bf16, f16]");
  for (const std::string& name : names) {
    instruction.type = parse_dtype(name, types.location().text() + ": " + types.path());
    if (machine.tensor_for(instruction.type, instruction.name) != nullptr) {
      types.fail("'" + instruction.name + "' of type " + name + " stands twice",
                 "one entry for an instruction and type");
    }
    machine.tensor.push_back(instruction);
  }
}

}  // namespace

void read_tensor(const yaml::Node& node, Machine& machine) {
  for (const yaml::Node& item : node.items()) read_instruction(item, machine);
}

void read_units(const yaml::Node& node, Machine& machine) {
  std::vector<std::string> known;
  known.reserve(unit_names().size());
  for (const UnitName& each : unit_names()) known.emplace_back(each.name);
  node.allow(known);
  for (const auto& [name, entry] : node.entries()) {
    const auto row = std::find_if(unit_names().begin(), unit_names().end(),
                                  [&name = name](const UnitName& each) { return each.name == name; });
    entry.allow({"rate", "beside_tensor", "level"});
    Unit unit;
    unit.name = name;
    unit.per_clock = read_stated(entry.at("rate"), row->dimensions);
    if (const auto* beside = entry.find("beside_tensor")) unit.beside_tensor = read_number(*beside, row->dimensions);
    unit.what = counted(unit, entry);
    unit.level = read_level_of(entry, machine);
    machine.units.push_back(std::move(unit));
  }
}

void read_limits(const yaml::Node& node, Limits& limits) {
  std::vector<std::string> known;
  known.reserve(limit_fields.size());
  for (const LimitField& each : limit_fields) known.emplace_back(each.name);
  node.allow(known);
  for (const LimitField& each : limit_fields) {
    const yaml::Node& entry = node.at(each.name);
    const Number number =
        each.zero_allowed ? read_number_or_zero(entry, each.dimension) : read_number(entry, each.dimension);
    limits.*each.field = count_of(number);
    limits.stated.emplace(each.name, number);
  }
  limits.known = true;
  if (limits.warps_per_node * limits.warp_size != limits.threads_per_node) {
    node.at("warps_per_node").fail("warps times warp_size is not threads_per_node", "threads_per_node / warp_size");
  }
}

void read_clocks(const yaml::Node& node, Clocks& clocks) {
  node.allow({"maximum", "tensor", "base"});
  clocks.maximum = read_number(node.at("maximum"), frequency);
  if (const auto* tensor = node.find("tensor")) clocks.tensor = read_number(*tensor, frequency);
  if (const auto* base = node.find("base")) clocks.base = read_number(*base, frequency);
  for (const char* key : {"tensor", "base"}) {
    if (node.find(key) != nullptr && read_number(node.at(key), frequency).value > clocks.maximum->value) {
      node.at(key).fail("above the maximum clock",
                        "at most " + node.at("maximum").at("value").text() + " " + clocks.maximum->unit);
    }
  }
}

void read_power(const yaml::Node& node, Power& power) {
  node.allow({"limit", "idle"});
  if (const auto* limit = node.find("limit")) power.limit = read_number(*limit, Dimension::power);
  if (const auto* idle = node.find("idle")) power.idle = read_number(*idle, Dimension::power);
  if (power.limit && power.idle && power.idle->value >= power.limit->value) {
    node.at("idle").fail("idle power reaches the limit", "less than the limit");
  }
}

}  // namespace napkin::profile
