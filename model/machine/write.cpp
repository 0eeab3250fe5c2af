#include "model/machine/write.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "model/base/error.hpp"
#include "model/machine/number.hpp"

namespace napkin::internal {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Returns the shortest decimal form that reads back as the same number, or a whole one without exponent.
std::string decimal(double value) {
  if (value == std::rint(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<long long>(value));
  for (int digits = 1; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    if (std::stod(text) == value) return text;
  }
  return fmt::format("{:.17g}", value);
}

/// Writes the value in the number's own unit. A quotient like 4.625e12 / 1e9 may differ in the last bit from the
/// decimal that was read.
std::string value_text(const Number& number) {
  const double factor = profile::factor_of(number.unit), value = number.value / factor;
  for (int digits = 1; digits < 16; ++digits) {
    const double rounded = std::stod(fmt::format("{:.{}g}", value, digits));
    if (rounded * factor == number.value) return decimal(rounded);
  }
  return decimal(value);
}

std::string measured_text(const Provenance& from) {
  std::string out =
      fmt::format("tool: {}, date: {}, driver: {}", in_quotes(from.tool), in_quotes(from.date), in_quotes(from.driver));
  if (from.spread) out += ", spread: " + decimal(*from.spread);
  return out;
}

std::string note_text(const Provenance& from) {
  std::string out = from.gpu.empty() ? "" : ", gpu: " + from.gpu;
  if (!from.note.empty()) out += ", note: " + in_quotes(from.note);
  if (!from.disputed) return out;
  const Disputed& other = *from.disputed;
  return out + fmt::format(", disputed: {{value: {}, unit: {}, source: {}}}", value_text({other.value, other.unit, {}}),
                           other.unit, in_quotes(other.source));
}

/// Writes "source: ..." or "measured: {...}", and the remarks.
std::string origin_text(const Provenance& from) {
  return (from.measured() ? "measured: {" + measured_text(from) + "}" : "source: " + in_quotes(from.source)) +
         note_text(from);
}

std::string text_of(const Number& number) {
  return fmt::format("{{value: {}, unit: {}, {}}}", value_text(number), number.unit, origin_text(number.from));
}

class Writer {
 public:
  [[nodiscard]] std::string take() { return std::move(text_); }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }
  void number(int depth, const std::string& key, const std::optional<Number>& number) {
    if (number) line(depth, key + ": " + text_of(*number));
  }
  void count(int depth, const std::string& key, Count value, const std::string& unit, const Provenance& from) {
    line(depth, fmt::format("{}: {{value: {}, unit: {}, {}}}", key, value.get(), unit, origin_text(from)));
  }
  void stated(int depth, const std::string& key, const Stated& stated) {
    if (!stated.known()) return;
    if (!stated.datasheet || !stated.measured) return number(depth, key, stated.best());
    line(depth, key + ":");
    line(depth + 1, "datasheet: " + text_of(*stated.datasheet));
    const Number& m = *stated.measured;
    line(depth + 1, fmt::format("measured: {{value: {}, unit: {}, {}{}}}", value_text(m), m.unit, measured_text(m.from),
                                note_text(m.from)));
  }

 private:
  std::string text_;
};

std::string_view kind_name(LevelKind kind) {
  return kind == LevelKind::cache ? "cache" : kind == LevelKind::cross_transfer ? "cross_transfer" : "ordinary";
}

const std::string& level_name(const Machine& machine, LevelId level) {
  return machine.levels[static_cast<std::size_t>(level)].name;
}

bool known(const Provenance& from) { return from.measured() || !from.source.empty(); }

void write_levels(Writer& out, const Machine& machine) {
  out.line(0, "levels:");
  for (const Level& level : machine.levels) {
    out.line(1, level.name + ":");
    out.line(2, fmt::format("kind: {}", kind_name(level.kind)));
    if (level.parent >= 0) out.line(2, "parent: " + level_name(machine, level.parent));
    if (known(level.per_parent_from)) out.count(2, "per_parent", level.per_parent, "nodes", level.per_parent_from);
    out.stated(2, "capacity", level.capacity);
    out.number(2, "per_block", level.per_block);
    if (known(level.transaction_from)) out.count(2, "transaction", level.transaction, "B", level.transaction_from);
  }
  out.line(0, "compute: " + level_name(machine, machine.compute));
  if (!machine.cores.empty()) out.line(0, "cores:");
  for (const Core& core : machine.cores) out.line(1, core.name + ": " + level_name(machine, core.level));
}

void write_pipes(Writer& out, const Machine& machine) {
  out.line(0, "pipes:");
  for (const Pipe& pipe : machine.pipes) {
    out.line(1, pipe.name + ":");
    out.line(2, "from: " + level_name(machine, pipe.from));
    out.line(2, "to: " + level_name(machine, pipe.to));
    if (!pipe.engine.empty()) out.line(2, "engine: " + pipe.engine);
    out.stated(2, "bandwidth", pipe.aggregate);
    out.stated(2, "bandwidth_per_node", pipe.per_node_clock);
    if (!pipe.by_cluster_size.empty()) out.line(2, "by_cluster_size:");
    for (const auto& [size, rate] : pipe.by_cluster_size)
      out.line(3, fmt::format("- {{size: {}, bandwidth: {}}}", size.get(), text_of(rate)));
    out.number(2, "latency", pipe.latency);
    out.number(2, "energy", pipe.energy_per_byte);
  }
}

std::string timing_row(const InstructionTiming& row) {
  std::string out = fmt::format("- {{n: {}", row.n.get());
  const auto add = [&](std::string_view key, double clocks) {
    if (clocks > 0) out += fmt::format(", {}: {}", key, decimal(clocks));
  };
  add("a_shared", row.clocks_shared);
  add("a_registers", row.clocks_registers);
  add("latency_a_shared", row.latency_shared);
  add("latency_a_registers", row.latency_registers);
  return out + "}";
}

/// Writes all of an instruction but its type.
std::string instruction_text(const Machine& machine, const TensorInstruction& t) {
  Writer out;
  if (t.asynchronous) out.line(2, "asynchronous: true");
  if (t.by_descriptor) out.line(2, "by_descriptor: true");
  out.line(2, fmt::format("rate: {{value: {}, unit: FLOP/clk, {}}}", decimal(t.flop_per_clock), origin_text(t.from)));
  const std::string n = t.n_least == t.n_most ? fmt::format("{}", t.n_least.get())
                                              : fmt::format("{{from: {}, to: {}, step: {}}}", t.n_least.get(),
                                                            t.n_most.get(), t.n_step.get());
  const std::string warps = t.warps > Count(1) ? fmt::format("warps: {}, ", t.warps.get()) : "";
  out.line(2, fmt::format("shape: {{m: {}, n: {}, k: {}, {}{}}}", t.m.get(), n, t.k.get(), warps,
                          origin_text(t.shape_from)));
  if (!t.timing.empty()) {
    out.line(2, "timing:");
    out.line(3, "unit: clk");
    out.line(3, t.timing_from.measured() ? "measured: {" + measured_text(t.timing_from) + "}"
                                         : "source: " + in_quotes(t.timing_from.source));
    if (!t.timing_from.gpu.empty()) out.line(3, "gpu: " + t.timing_from.gpu);
    if (!t.timing_from.note.empty()) out.line(3, "note: " + in_quotes(t.timing_from.note));
    out.line(3, "rows:");
    for (const InstructionTiming& row : t.timing) out.line(4, timing_row(row));
  }
  if (t.level != machine.compute) out.line(2, "level: " + level_name(machine, t.level));
  return out.take();
}

void write_tensor(Writer& out, const Machine& machine, std::string& text) {
  text += out.take() + "tensor:";
  if (machine.tensor.empty()) text += " []";
  text += "\n";
  for (std::size_t i = 0; i < machine.tensor.size();) {
    const std::string all = instruction_text(machine, machine.tensor[i]);
    std::string types;
    std::size_t next = i;
    for (; next < machine.tensor.size() && machine.tensor[next].name == machine.tensor[i].name &&
           instruction_text(machine, machine.tensor[next]) == all;
         ++next) {
      types += (types.empty() ? "" : ", ") + std::string(name_of(machine.tensor[next].type));
    }
    text += fmt::format("  - name: {}\n    types: [{}]\n{}", machine.tensor[i].name, types, all);
    i = next;
  }
}

void write_co_use(Writer& out, const CoUse& shares) {
  if (shares.alone.empty() && shares.beside.empty()) return;
  out.line(2, "co_use:");
  for (const auto& [key, list] : {std::pair("alone:", &shares.alone), std::pair("beside:", &shares.beside)}) {
    if (list->empty()) continue;
    out.line(3, key);
    for (const Number& each : *list) out.line(4, "- " + text_of(each));
  }
}

void write_units(Writer& out, const Machine& machine) {
  out.line(0, machine.units.empty() ? "units: {}" : "units:");
  for (const Unit& unit : machine.units) {
    out.line(1, unit.name + ":");
    out.stated(2, "rate", unit.per_clock);
    out.number(2, "beside_tensor", unit.beside_tensor);
    write_co_use(out, unit.co_use);
    out.number(2, "per_lane", unit.per_lane);
    if (unit.role != UnitRole::none) out.line(2, unit.role == UnitRole::issue ? "role: issue" : "role: multiply_add");
    if (unit.passes >= 0) out.line(2, "passes: " + machine.units[static_cast<std::size_t>(unit.passes)].name);
    if (unit.level != machine.compute) out.line(2, "level: " + level_name(machine, unit.level));
  }
}

void write_numbers(Writer& out, const std::string& section, const std::map<std::string, Number, std::less<>>& numbers) {
  if (numbers.empty()) return;
  out.line(0, section + ":");
  for (const auto& [name, number] : numbers) out.number(1, name, number);
}

void write_names(Writer& out, const Machine& machine) {
  out.line(0, "name: " + machine.name);
  out.line(0, "about: " + in_quotes(machine.about));
  if (!machine.aliases.empty()) out.line(0, "aliases: [" + joined(machine.aliases) + "]");
}

/// Writes the facts of a node, and, in a whole profile, the number of nodes.
std::string nodes_text(const Machine& machine, Writer& out) {
  write_levels(out, machine);
  write_pipes(out, machine);
  std::string text;
  write_tensor(out, machine, text);
  write_units(out, machine);
  if (machine.limits.known) write_numbers(out, "limits", machine.limits.stated);
  return text;
}

void write_clocks(Writer& out, const Machine& machine) {
  out.line(0, "clocks:");
  out.number(1, "maximum", machine.clocks.maximum);
  out.number(1, "tensor", machine.clocks.tensor);
  out.number(1, "base", machine.clocks.base);
  if (machine.power.limit || machine.power.idle) out.line(0, "power:");
  out.number(1, "limit", machine.power.limit);
  out.number(1, "idle", machine.power.idle);
  out.number(1, "burst", machine.power.burst);
}

/// Constants that products of one architecture do not share.
constexpr std::array product_constants = {"l2_working_set", "clock_beside_tensor", "clock_tree", "energy_of_card"};

bool is_counted_by_product(const Machine& machine, const Level& level) {
  return &level == &machine.levels[static_cast<std::size_t>(machine.compute)] ||
         (level.parent == 0 && level.kind == LevelKind::cache && level.per_parent > Count(1));
}

bool is_sized_by_product(const Level& level) {
  return level.parent < 0 || (level.parent == 0 && level.kind == LevelKind::cache);
}

void say_product(Provenance& from, const std::string& product) {
  if ((from.measured() || from.fitted) && from.gpu.empty()) from.gpu = product;
}

/// Adds the product's name to every measurement in the architecture's file.
void say_product(Machine& machine) {
  const auto number = [&](auto& each) {
    if (each) say_product(each->from, machine.name);
  };
  const auto stated = [&](Stated& each) { number(each.measured); };
  for (Level& level : machine.levels) {
    for (Provenance* from : {&level.per_parent_from, &level.transaction_from}) say_product(*from, machine.name);
    stated(level.capacity);
    number(level.per_block);
  }
  for (Pipe& pipe : machine.pipes) {
    stated(pipe.per_node_clock);
    stated(pipe.aggregate);
    number(pipe.latency);
    number(pipe.energy_per_byte);
    for (auto& each : pipe.by_cluster_size) say_product(each.second.from, machine.name);
  }
  for (TensorInstruction& each : machine.tensor) {
    for (Provenance* from : {&each.from, &each.shape_from, &each.timing_from}) say_product(*from, machine.name);
  }
  for (Unit& unit : machine.units) {
    stated(unit.per_clock);
    number(unit.per_lane);
    number(unit.beside_tensor);
    for (auto* list : {&unit.co_use.alone, &unit.co_use.beside}) {
      for (Number& each : *list) say_product(each.from, machine.name);
    }
  }
  for (auto* numbers : {&machine.limits.stated, &machine.constants, &machine.fitted}) {
    for (auto& each : *numbers) say_product(each.second.from, machine.name);
  }
}

std::string architecture_text(Machine machine) {
  for (Level& level : machine.levels) {
    if (is_counted_by_product(machine, level)) level.per_parent_from = {};
    if (is_sized_by_product(level)) level.capacity = {};
  }
  for (Pipe& pipe : machine.pipes) {
    if (pipe.from == 0) pipe.aggregate = pipe.per_node_clock = {};
  }
  for (const char* name : product_constants) machine.constants.erase(name);
  say_product(machine);
  Writer out;
  out.line(0, "architecture: " + in_quotes(machine.architecture));
  out.line(0, "about: " + in_quotes("a node of " + machine.name));
  out.line(0, "vendor: " + machine.vendor);
  const std::string text = nodes_text(machine, out);
  write_numbers(out, "constants", machine.constants);
  write_numbers(out, "fitted", machine.fitted);
  return text + out.take();
}

std::string product_text(const Machine& machine) {
  Writer out;
  write_names(out, machine);
  out.line(0, "architecture: " + in_quotes(machine.architecture));
  out.line(0, "levels:");
  for (const Level& level : machine.levels) {
    const bool counted = is_counted_by_product(machine, level), sized = is_sized_by_product(level);
    if (!counted && !(sized && level.capacity.known())) continue;
    out.line(1, level.name + ":");
    if (counted) out.count(2, "per_parent", level.per_parent, "nodes", level.per_parent_from);
    if (sized) out.stated(2, "capacity", level.capacity);
  }
  out.line(0, "pipes:");
  for (const Pipe& pipe : machine.pipes) {
    if (pipe.from != 0) continue;
    out.line(1, pipe.name + ":");
    out.stated(2, "bandwidth", pipe.aggregate);
    out.stated(2, "bandwidth_per_node", pipe.per_node_clock);
  }
  write_clocks(out, machine);
  std::map<std::string, Number, std::less<>> own;
  for (const char* name : product_constants) {
    if (const auto found = machine.constants.find(name); found != machine.constants.end()) own.insert(*found);
  }
  write_numbers(out, "constants", own);
  return out.take();
}

}  // namespace

std::string profile_text(const Machine& machine) {
  Writer out;
  write_names(out, machine);
  out.line(0, "vendor: " + machine.vendor);
  out.line(0, "architecture: " + in_quotes(machine.architecture));
  const std::string text = nodes_text(machine, out);
  write_clocks(out, machine);
  write_numbers(out, "constants", machine.constants);
  write_numbers(out, "fitted", machine.fitted);
  return text + out.take();
}

ProfileFiles profile_files(const Machine& machine) { return {architecture_text(machine), product_text(machine)}; }

}  // namespace napkin::internal
