// Execution units, limits, clocks and constants of a profile.

#include <algorithm>
#include <array>
#include <string>

#include "model/machine/load.hpp"
#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::internal::profile {
namespace {

using enum Dimension;

constexpr std::int64_t most_shape = 4096, most_warps = 64;
constexpr double most_per_lane = 64;

void read_shape(const yaml::Node& node, TensorInstruction& instruction) {
  node.allow({"m", "n", "k", "warps", "source", "measured", "note", "gpu"});
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
  if (const auto* warps = node.find("warps")) instruction.warps = warps->integer(1, most_warps);
  instruction.shape_from = read_provenance(node);
}

double read_clocks_of(const yaml::Node& row, std::string_view key) {
  const yaml::Node* node = row.find(key);
  if (node == nullptr) return 0;
  const double clocks = node->number();
  if (!(clocks > 0) || clocks > 1e6) node->fail("'" + node->text() + "' clocks", "a number above 0, at most 1e6");
  return clocks;
}

/// Throws Error if an instruction takes less than its operations at the unit's rate: a product that overrides the rate
/// must override the timing too.
void check_rate(const yaml::Node& row, const TensorInstruction& instruction, const InstructionTiming& timing) {
  constexpr double measured_to = 0.01;
  const double least = 2 * static_cast<double>((instruction.m * timing.n * instruction.k).get()) /
                       instruction.flop_per_clock * (1 - measured_to);
  for (const double clocks : {timing.clocks_shared, timing.clocks_registers}) {
    if (clocks > 0 && clocks < least)
      row.fail("fewer clocks than the rate allows",
               "at least 2 m n k / rate; a product that states a rate states its timing too");
  }
}

/// Reads a table: unit and provenance once, then rows of n and their clocks.
void read_timing(const yaml::Node& node, TensorInstruction& instruction) {
  node.allow({"unit", "source", "measured", "note", "gpu", "rows"});
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
    check_rate(row, instruction, timing);
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

/// Returns the quantity that a unit's rate counts, by the unit of its numbers, which must agree.
Counted counted_by(const Unit& unit, const yaml::Node& node) {
  static const std::array<std::pair<std::string_view, Counted>, 4> written = {
      {{"results/clk", Counted::results},
       {"instructions/clk", Counted::instructions},
       {"B/clk", Counted::bytes},
       {"FLOP/clk", Counted::flop}}};
  const auto counts = [](const Number& number) {
    return std::find_if(written.begin(), written.end(), [&](const auto& each) { return each.first == number.unit; })
        ->second;
  };
  const Counted first = counts(unit.per_clock.best());
  std::vector<Number> all;
  if (unit.per_clock.datasheet) all.push_back(*unit.per_clock.datasheet);
  if (unit.beside_tensor) all.push_back(*unit.beside_tensor);
  for (const auto* list : {&unit.co_use.alone, &unit.co_use.beside}) all.insert(all.end(), list->begin(), list->end());
  for (const Number& number : all) {
    if (counts(number) != first) node.fail("numbers in different units", "one unit for all numbers of a unit");
  }
  return first;
}

Number read_per_lane(const yaml::Node& node, Counted counts) {
  Number number = read_number(node, counts == Counted::bytes ? bytes : results);
  if (number.value > most_per_lane) node.at("value").fail("too many for one lane", "1 to 64");
  return number;
}

CoUse read_co_use(const yaml::Node& node, const std::vector<Dimension>& dimensions) {
  node.allow({"alone", "beside"});
  const auto read = [&](const char* key) {
    std::vector<Number> out;
    const yaml::Node* list = node.find(key);
    if (list == nullptr) return out;
    for (const yaml::Node& item : list->items()) out.push_back(read_number(item, dimensions));
    if (out.size() != 1 && out.size() != CoUse::most)
      list->fail(std::to_string(out.size()) + " rates", "of one instance, of two and of three; or one for any number");
    return out;
  };
  return {read("alone"), read("beside")};
}

/// Reads a unit's role, which no other unit of the machine may have.
UnitRole read_role(const yaml::Node& node, const Machine& machine) {
  const UnitRole role = node.choice({"issue", "multiply_add"}) == "issue" ? UnitRole::issue : UnitRole::multiply_add;
  if (machine.unit(role) != nullptr) node.fail("a second unit of that role", "one");
  return role;
}

/// Reads the port that a unit's work passes: a unit above it that counts bytes.
UnitId read_passes(const yaml::Node& node, const Machine& machine) {
  std::vector<std::string> ports;
  for (std::size_t i = 0; i < machine.units.size(); ++i) {
    if (machine.units[i].counts != Counted::bytes) continue;
    if (machine.units[i].name == node.text()) return static_cast<UnitId>(i);
    ports.push_back(machine.units[i].name);
  }
  node.fail("'" + node.text() + "' is no port above this unit",
            ports.empty() ? "a unit whose rate is in B/clk, listed first" : one_of(node.text(), ports));
}

struct UnitName {
  std::string_view name;
  std::vector<Dimension> dimensions;
  bool packed = false;  // an instruction of it works on several results of a lane (bytes of a lane)
  bool late = false;    // true if its results come later than those of additions
};

const std::vector<UnitName>& unit_names() {
  static const std::vector<Dimension> results = {results_per_clock, instructions_per_clock, flop_per_clock};
  static const std::vector<UnitName> names = {
      {"special", results, false, true},
      {"fp32", results, true},
      {"fp32_packed", results, true},
      {"fp16", results, true},
      {"int32", results},
      {"alu", results},
      {"conversion", results, true},
      {"conversion_fp8", results, true},
      {"issue", {instructions_per_clock}},
      {"shared_port", {bytes_per_clock}, true},
      {"shuffle", results, false, true},
      {"tensor_memory", results, true},
      {"peer_memory", results, true},
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

/// Throws Error if a product states the rate, and the clocks of the timing are its architecture's, of another rate.
void check_timing_file(const yaml::Node& node, const yaml::Node& timing) {
  const std::string stated = node.location().file;  // of an item that both have the product's
  if (node.at("rate").location().file == stated && timing.location().file != stated) {
    node.at("rate").fail("without timing: the architecture's clocks are of its own rate, and decide",
                         "timing: {unit: clk, source: ..., rows: [...]} beside it, of this rate");
  }
}

void read_instruction(const yaml::Node& node, Machine& machine) {
  node.allow({"name", "types", "asynchronous", "by_descriptor", "rate", "shape", "timing", "level"});
  TensorInstruction instruction;
  instruction.name = node.at("name").text();
  if (const auto* asynchronous = node.find("asynchronous")) instruction.asynchronous = asynchronous->boolean();
  if (const auto* descriptor = node.find("by_descriptor")) instruction.by_descriptor = descriptor->boolean();
  const Number rate = read_number(node.at("rate"), flop_per_clock);
  instruction.flop_per_clock = rate.value;
  instruction.from = rate.from;
  read_shape(node.at("shape"), instruction);
  if (const auto* timing = node.find("timing")) {
    check_timing_file(node, *timing);
    read_timing(*timing, instruction);
  }
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
    entry.allow({"rate", "beside_tensor", "co_use", "per_lane", "role", "passes", "level"});
    Unit unit;
    unit.name = name;
    unit.per_clock = read_stated(entry.at("rate"), row->dimensions);
    if (const auto* beside = entry.find("beside_tensor")) unit.beside_tensor = read_number(*beside, row->dimensions);
    if (const auto* shares = entry.find("co_use")) unit.co_use = read_co_use(*shares, row->dimensions);
    unit.counts = counted_by(unit, entry);
    if (const auto* lane = entry.find("per_lane")) unit.per_lane = read_per_lane(*lane, unit.counts);
    unit.packed = row->packed;
    unit.late_results = row->late;
    if (const auto* role = entry.find("role")) unit.role = read_role(*role, machine);
    if (const auto* port = entry.find("passes")) unit.passes = read_passes(*port, machine);
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
  node.allow({"limit", "idle", "burst"});
  if (const auto* limit = node.find("limit")) power.limit = read_number(*limit, Dimension::power);
  if (const auto* idle = node.find("idle")) power.idle = read_number(*idle, Dimension::power);
  if (power.limit && power.idle && power.idle->value >= power.limit->value) {
    node.at("idle").fail("idle power reaches the limit", "less than the limit");
  }
  if (const auto* burst = node.find("burst")) {
    power.burst = read_number(*burst, Dimension::power);
    if (!power.limit || power.burst->value < power.limit->value)
      burst->fail("burst power below the limit", "at least power.limit, which the card holds for seconds");
  }
}

void complete_power(Machine& machine) {
  Power& power = machine.power;
  const auto share = machine.constants.find("burst_share");
  if (power.burst || !power.limit || share == machine.constants.end()) return;
  power.burst = Number{share->second.value * power.limit->value, power.limit->unit, share->second.from};
}

}  // namespace napkin::internal::profile

namespace napkin::internal {

std::vector<std::string> unit_vocabulary() {
  std::vector<std::string> names;
  for (const profile::UnitName& each : profile::unit_names()) names.emplace_back(each.name);
  return names;
}

}  // namespace napkin::internal
