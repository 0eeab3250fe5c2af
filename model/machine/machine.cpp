#include "model/machine/machine.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

/// Returns the bytes a second of one stated pair: per node and clock where that is known, else the whole machine's.
double rate(const Machine& machine, const Pipe& pipe, Hertz clock) {
  const Count nodes = std::max(machine.nodes(pipe.from), machine.nodes(pipe.to));
  const auto of_node = [&](const Number& number) { return number.value * static_cast<double>(nodes) * clock.value; };
  if (pipe.per_node_clock.measured) return of_node(*pipe.per_node_clock.measured);
  if (pipe.aggregate.measured) return pipe.aggregate.measured->value;
  if (pipe.per_node_clock.datasheet) return of_node(*pipe.per_node_clock.datasheet);
  if (pipe.aggregate.datasheet) return pipe.aggregate.datasheet->value;
  return 0;
}

}  // namespace

std::optional<LevelId> Machine::find_level(std::string_view level_name) const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].name == level_name) return static_cast<LevelId>(i);
  }
  return std::nullopt;
}

LevelId Machine::level(std::string_view level_name) const {
  if (const auto found = find_level(level_name)) return *found;
  std::vector<std::string> known;
  known.reserve(levels.size());
  for (const Level& each : levels) known.push_back(each.name);
  throw Error(name, "no level '" + std::string(level_name) + "'", one_of(level_name, known));
}

Count Machine::nodes(LevelId level) const {
  Count product = 1;
  for (LevelId at = level; at >= 0; at = levels[static_cast<std::size_t>(at)].parent) {
    const Level& each = levels[static_cast<std::size_t>(at)];
    if (each.kind != LevelKind::cross_transfer) product *= each.per_parent;
  }
  return product;
}

const Pipe* Machine::pipe_into(LevelId level) const {
  const Level& into = levels[static_cast<std::size_t>(level)];
  for (const Pipe& pipe : pipes) {
    const bool found =
        into.kind == LevelKind::cross_transfer ? pipe.from == level : pipe.to == level && pipe.from == into.parent;
    if (found) return &pipe;
  }
  return nullptr;
}

const Pipe* Machine::find_pipe(std::string_view pipe_name) const {
  for (const Pipe& pipe : pipes) {
    if (pipe.name == pipe_name) return &pipe;
  }
  return nullptr;
}

const Unit* Machine::unit(std::string_view unit_name) const {
  for (const Unit& each : units) {
    if (each.name == unit_name) return &each;
  }
  return nullptr;
}

const Unit* Machine::unit(UnitRole role) const {
  const auto has = [&](const Unit& each) { return each.role == role && each.per_clock.known(); };
  const auto found = std::find_if(units.begin(), units.end(), has);
  return found == units.end() ? nullptr : &*found;
}

const Unit* Machine::port() const {
  const auto is = [](const Unit& each) { return each.counts == Counted::bytes && each.per_clock.known(); };
  const auto found = std::find_if(units.begin(), units.end(), is);
  return found == units.end() ? nullptr : &*found;
}

const Number* Machine::find_constant(std::string_view constant_name) const {
  for (const auto* each : {&fitted, &constants}) {
    const auto found = each->find(constant_name);
    if (found != each->end()) return &found->second;
  }
  return nullptr;
}

double Machine::constant(std::string_view constant_name) const {
  const Number* found = find_constant(constant_name);
  if (found == nullptr)
    throw Error(name, "constants." + std::string(constant_name) + ": is missing",
                "the number, in the profile of " + name + " or of its architecture, " + architecture);
  return found->value;
}

double Machine::constant_or(std::string_view constant_name, double absent) const {
  const Number* found = find_constant(constant_name);
  return found == nullptr ? absent : found->value;
}

double Machine::constant_or(const Unit& unit, std::string_view field, double absent) const {
  return constant_or(unit.name + "." + std::string(field), absent);
}

const TensorInstruction* Machine::tensor_for(DType type) const {
  for (const TensorInstruction& instruction : tensor) {
    if (instruction.type == type) return &instruction;
  }
  return nullptr;
}

const TensorInstruction* Machine::tensor_for(DType type, std::string_view instruction) const {
  for (const TensorInstruction& each : tensor) {
    if (each.type == type && each.name == instruction) return &each;
  }
  return nullptr;
}

bool Machine::cost_alike(DType a, DType b) const {
  const auto numbers = [](const TensorInstruction& i) {
    return std::tie(i.name, i.asynchronous, i.by_descriptor, i.warps, i.flop_per_clock, i.m, i.n_least, i.n_most,
                    i.n_step, i.k, i.timing, i.level);
  };
  std::vector<decltype(numbers(tensor.front()))> of_a, of_b;
  for (const TensorInstruction& instruction : tensor) {
    if (instruction.type == a) of_a.push_back(numbers(instruction));
    if (instruction.type == b) of_b.push_back(numbers(instruction));
  }
  return a == b || (bits(a) == bits(b) && !of_a.empty() && of_a == of_b);
}

Count count_of(const Number& number) {
  const double rounded = std::round(number.value);
  if (!(std::abs(rounded) < 9.2e18)) throw Overflow("a number of the machine (" + number.unit + ")");
  return static_cast<std::int64_t>(rounded);
}

double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock) {
  const double general = rate(machine, pipe, clock);
  if (general > 0 || pipe.by_cluster_size.empty()) return general;
  return pipe.by_cluster_size.front().second.value;
}

double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock, Count cluster_size) {
  for (const auto& [size, number] : pipe.by_cluster_size) {
    if (size == cluster_size) return number.value;
  }
  return bytes_per_second(machine, pipe, clock);
}

double peak_flops(const Machine& machine, const TensorInstruction& instruction, Hertz clock) {
  return static_cast<double>(machine.nodes(instruction.level)) * instruction.flop_per_clock * clock.value;
}

double instruction_clocks(const TensorInstruction& instruction, Count n, bool a_from_registers) {
  if (n < Count(1)) throw Error(instruction.name, "n = " + std::to_string(n.get()), "an n of at least 1");
  const auto clocks = [&](const InstructionTiming& row) {
    return a_from_registers ? row.clocks_registers : row.clocks_shared;
  };
  const InstructionTiming* below = nullptr;
  for (const InstructionTiming& row : instruction.timing) {
    if (!(clocks(row) > 0)) continue;
    if (row.n >= n) {
      if (row.n == n || below == nullptr) return clocks(row);
      const double part = static_cast<double>(n - below->n) / static_cast<double>(row.n - below->n);
      return clocks(*below) + part * (clocks(row) - clocks(*below));
    }
    below = &row;
  }
  if (below != nullptr) return clocks(*below) * static_cast<double>(n) / static_cast<double>(below->n);
  return 2 * static_cast<double>(instruction.m * n * instruction.k) / instruction.flop_per_clock;
}

Machine abstract_machine(Count values) {
  if (values < Count(1) || values > Count(std::int64_t{1} << 62)) {
    throw Error("--memory", std::to_string(values.get()) + " values", "how many values the low level holds: 1 to 2^62");
  }
  Machine machine;
  machine.name = "abstract";
  machine.about = "two levels: everything, and a memory of " + std::to_string(values.get()) + " values";
  machine.architecture = "abstract";
  Level high, low;
  high.name = "high";
  low.name = "low";
  low.parent = 0;
  Number capacity;
  capacity.value = static_cast<double>(values);
  capacity.unit = "values";
  capacity.from.source = "the question";
  low.capacity.datasheet = capacity;
  machine.levels = {high, low};
  Pipe pipe;
  pipe.name = "high";
  pipe.to = 1;
  machine.pipes = {pipe};
  machine.compute = 1;
  return machine;
}

}  // namespace napkin::internal
