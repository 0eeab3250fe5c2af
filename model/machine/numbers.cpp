#include "model/machine/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/machine/number.hpp"

namespace napkin::internal {
namespace {

/// The kind of a number beside its unit.
enum class Kind {
  plain,
  allowance,  ///< limit of a power, so that more is better
  highest     ///< highest clock, which no other clock exceeds
};

/// The places of a number: one place, several that change together, or a count.
struct Slot {
  std::vector<double*> values;
  Count* count = nullptr;
  Kind kind = Kind::plain;
};

/// Returns true if more of the unit is better, as of a rate, a size or a count; false for a time, a power or an energy,
/// also per item.
bool is_better_more(std::string_view unit) {
  using enum profile::Dimension;
  constexpr std::array costs = {
      clocks, seconds, power, ratio, energy_per_byte, energy_per_flop, energy_per_instruction, bytes_per_row};
  return std::find(costs.begin(), costs.end(), profile::dimension_of(unit)) == costs.end();
}

/// The walk over a machine's numbers, which calls visit(name, unit, provenance, slot) for each.
template <class Visit>
class Walk {
 public:
  Walk(Machine& machine, Visit visit) : machine_(machine), visit_(std::move(visit)) {}

  void operator()() {
    for (Level& level : machine_.levels) level_numbers(level);
    for (Pipe& pipe : machine_.pipes) pipe_numbers(pipe);
    for (TensorInstruction& each : machine_.tensor) tensor_numbers(each);
    for (Unit& unit : machine_.units) unit_numbers(unit);
    optional("clocks.maximum", machine_.clocks.maximum, Kind::highest);
    optional("clocks.tensor", machine_.clocks.tensor);
    optional("clocks.base", machine_.clocks.base);
    optional("power.limit", machine_.power.limit, Kind::allowance);
    optional("power.idle", machine_.power.idle);
    optional("power.burst", machine_.power.burst);
    for (auto& each : machine_.constants) {
      if (!machine_.fitted.contains(each.first)) one("constants." + each.first, each.second);
    }
    for (auto& each : machine_.fitted) one("fitted." + each.first, each.second);
  }

 private:
  void one(const std::string& name, Number& number, Kind kind = Kind::plain) {
    visit_(name, number.unit, number.from, Slot{{&number.value}, nullptr, kind});
  }
  void optional(const std::string& name, std::optional<Number>& number, Kind kind = Kind::plain) {
    if (number) one(name, *number, kind);
  }
  void stated(const std::string& name, Stated& number) {
    if (number.measured) {
      one(name, *number.measured);
    } else {
      optional(name, number.datasheet);
    }
  }
  /// Visits a capacity. What is kept in the cache below device memory is a share of it, and changes with it.
  void capacity(const std::string& name, Level& level) {
    Number* number = level.capacity.measured    ? &*level.capacity.measured
                     : level.capacity.datasheet ? &*level.capacity.datasheet
                                                : nullptr;
    if (number == nullptr) return;
    Slot slot{{&number->value}, nullptr, Kind::plain};
    const auto kept = machine_.constants.find("l2_working_set");
    if (level.kind == LevelKind::cache && level.parent == 0 && kept != machine_.constants.end())
      slot.values.push_back(&kept->second.value);
    visit_(name, number->unit, number->from, slot);
  }
  void level_numbers(Level& level) {
    const std::string at = "levels." + level.name;
    if (level.per_parent != 1) visit_(at + ".per_parent", "nodes", level.per_parent_from, Slot{{}, &level.per_parent});
    capacity(at + ".capacity", level);
    optional(at + ".per_block", level.per_block);
  }
  void pipe_numbers(Pipe& pipe) {
    const std::string at = "pipes." + pipe.name;
    stated(at + ".bandwidth_per_node", pipe.per_node_clock);
    stated(at + ".bandwidth", pipe.aggregate);
    optional(at + ".latency", pipe.latency);
    optional(at + ".energy", pipe.energy_per_byte);
    for (auto& each : pipe.by_cluster_size) one(at + fmt::format(".bandwidth_of_{}", each.first.get()), each.second);
  }
  void table(const std::string& name, TensorInstruction& each, double InstructionTiming::*shared,
             double InstructionTiming::*registers) {
    Slot slot;
    for (InstructionTiming& row : each.timing) {
      for (const auto column : {shared, registers}) {
        if (row.*column > 0) slot.values.push_back(&(row.*column));
      }
    }
    if (!slot.values.empty()) visit_(name, "clk", each.timing_from, slot);
  }
  void tensor_numbers(TensorInstruction& each) {
    const std::string at = "tensor." + each.name + "." + std::string(name_of(each.type));
    visit_(at + ".rate", "FLOP/clk", each.from, Slot{{&each.flop_per_clock}});
    table(at + ".timing", each, &InstructionTiming::clocks_shared, &InstructionTiming::clocks_registers);
    table(at + ".latency", each, &InstructionTiming::latency_shared, &InstructionTiming::latency_registers);
  }
  void unit_numbers(Unit& unit) {
    const std::string at = "units." + unit.name;
    stated(at + ".rate", unit.per_clock);
    optional(at + ".beside_tensor", unit.beside_tensor);
    family(at + ".co_use.alone", unit.co_use.alone);
    family(at + ".co_use.beside", unit.co_use.beside);
  }
  void family(const std::string& name, std::vector<Number>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) one(fmt::format("{}[{}]", name, i), numbers[i]);
  }

  Machine& machine_;
  Visit visit_;
};

template <class Visit>
void walk(Machine& machine, Visit visit) {
  Walk<Visit>(machine, std::move(visit))();
}

void multiply(const Slot& slot, double factor) {
  for (double* value : slot.values) *value *= factor;
  if (slot.count == nullptr) return;
  const double scaled = std::round(static_cast<double>(slot.count->get()) * factor);
  *slot.count = Count(static_cast<std::int64_t>(std::max(scaled, 1.0)));
}

}  // namespace

std::string_view name_of(Basis basis) {
  constexpr std::array<std::string_view, 5> names = {"measured", "fitted", "published", "derived", "assumed"};
  return names[static_cast<std::size_t>(basis)];
}

Basis basis_of(const Machine& machine, const Provenance& from) {
  if (from.source.starts_with("unverified")) return Basis::assumed;
  if (from.source.starts_with("derived") || (!from.gpu.empty() && from.gpu != machine.name)) return Basis::derived;
  if (from.fitted) return Basis::fitted;
  const bool here = from.tool.starts_with("napkin") || from.tool == "device query";
  return here ? Basis::measured : Basis::published;
}

std::vector<MachineNumber> numbers_of(const Machine& machine) {
  std::vector<MachineNumber> out;
  Machine copy = machine;  // copy, since one walk serves reading and changing
  const std::optional<Number>& highest = machine.clocks.maximum;
  walk(copy, [&](const std::string& name, const std::string& unit, const Provenance& from, const Slot& slot) {
    const double factor = profile::factor_of(unit);
    MachineNumber number;
    number.name = name;
    number.unit = unit;
    number.value = slot.count != nullptr ? static_cast<double>(slot.count->get()) : *slot.values.front() / factor;
    number.whole = slot.count != nullptr || unit == "nodes";
    number.more_is_better = slot.kind == Kind::allowance || is_better_more(unit);
    if (highest && slot.kind != Kind::highest && profile::dimension_of(unit) == profile::Dimension::frequency)
      number.most = highest->value / factor;
    number.from = from;
    out.push_back(std::move(number));
  });
  return out;
}

void switch_off(Machine& machine, const std::string& constant) {
  const auto fit = machine.fitted.find(constant), measured = machine.constants.find(constant);
  if (fit == machine.fitted.end()) {
    if (measured != machine.constants.end()) measured->second.value = 0;
  } else if (measured != machine.constants.end()) {
    machine.fitted.erase(fit);
  } else {
    fit->second.value = 0;
  }
}

Machine with_number_times(Machine machine, std::size_t place, double factor) {
  std::size_t at = 0;
  walk(machine, [&](const std::string&, const std::string&, const Provenance&, const Slot& slot) {
    if (at++ == place) multiply(slot, factor);
  });
  return machine;
}

}  // namespace napkin::internal
