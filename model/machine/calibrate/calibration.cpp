#include "model/machine/calibrate/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/base/error.hpp"
#include "model/machine/calibrate/calibration_rules.hpp"
#include "model/machine/number.hpp"

namespace napkin::internal {
namespace {

constexpr const char* exponent_name = "energy_exponent";
/// Source of energies that the card's own energies replace.
constexpr const char* energy_of_card_name = "energy_of_card";
constexpr double exponent_of_small_kernels = 1;  // exponent if the base profile has none (eq. 16.1)

/// The lookup of a number by its place, such as "units.special.rate"; it makes the number if the profile may have it,
/// and returns nullptr otherwise.
class Places {
 public:
  explicit Places(Machine& machine) : machine_(machine) {}

  /// Returns the number that predictions use there now; nothing for a named number that the machine lacks.
  [[nodiscard]] std::optional<Number> used(const std::string& name) const {
    const auto [section, key, field] = parts(name);
    if (section == "units" || section == "pipes") {
      const Stated* stated = stated_at(section, key, field);
      if (stated != nullptr) return stated->known() ? std::optional<Number>(stated->best()) : std::nullopt;
    }
    const std::optional<Number>* number = optional_at(section, key, field);
    if (number != nullptr) return *number;
    if (const auto [list, instances] = shares_at(section, key, field); list != nullptr)
      return instances <= list->size() ? std::optional<Number>((*list)[instances - 1]) : std::nullopt;
    const auto found = machine_.constants.find(key);
    return section == "constants" && found != machine_.constants.end() ? std::optional<Number>(found->second)
                                                                       : std::nullopt;
  }

  /// Puts the number into the machine. Returns false if the machine has no such unit or pipe.
  [[nodiscard]] bool put(const std::string& name, const Number& number) {
    const auto [section, key, field] = parts(name);
    if (Stated* stated = stated_at(section, key, field)) {
      stated->measured = number;
      return true;
    }
    if (std::optional<Number>* place = optional_at(section, key, field)) {
      *place = number;
      return true;
    }
    if (const auto [list, instances] = shares_at(section, key, field); list != nullptr) {
      // Rates that were not measured for fewer instances are taken to be equal.
      if (list->size() < instances) list->resize(instances, number);
      (*list)[instances - 1] = number;
      return true;
    }
    if (section != "constants") return false;
    machine_.constants.insert_or_assign(key, number);
    return true;
  }

 private:
  struct Parts {
    std::string section, key, field;
  };
  static Parts parts(const std::string& name) {
    const auto first = name.find('.'), second = name.find('.', first + 1);
    if (second == std::string::npos) return {name.substr(0, first), name.substr(first + 1), ""};
    return {name.substr(0, first), name.substr(first + 1, second - first - 1), name.substr(second + 1)};
  }
  [[nodiscard]] Stated* stated_at(const std::string& section, const std::string& key, const std::string& field) const {
    if (section == "units" && field == "rate") {
      for (Unit& unit : machine_.units) {
        if (unit.name == key) return &unit.per_clock;
      }
    }
    if (section == "pipes") {
      for (Pipe& pipe : machine_.pipes) {
        if (pipe.name != key) continue;
        if (field == "bandwidth") return &pipe.aggregate;
        if (field == "bandwidth_per_node") return &pipe.per_node_clock;
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<Number>* optional_at(const std::string& section, const std::string& key,
                                                   const std::string& field) const {
    if (section == "units" && field == "beside_tensor") {
      for (Unit& unit : machine_.units) {
        if (unit.name == key) return &unit.beside_tensor;
      }
    }
    if (section == "pipes" && field == "latency") {
      for (Pipe& pipe : machine_.pipes) {
        if (pipe.name == key) return &pipe.latency;
      }
    }
    if (section == "clocks" && key == "maximum") return &machine_.clocks.maximum;
    if (section == "power" && key == "idle") return &machine_.power.idle;
    return nullptr;
  }

  struct Shares {
    std::vector<Number>* list = nullptr;
    std::size_t instances = 0;
  };
  /// Returns the rates of a unit for a number of instances: "co_use.alone.2".
  [[nodiscard]] Shares shares_at(const std::string& section, const std::string& key, const std::string& field) const {
    constexpr std::string_view alone = "co_use.alone.", beside = "co_use.beside.";
    const bool is_alone = field.starts_with(alone);
    if (section != "units" || (!is_alone && !field.starts_with(beside))) return {};
    for (Unit& unit : machine_.units) {
      if (unit.name == key)
        return {is_alone ? &unit.co_use.alone : &unit.co_use.beside, static_cast<std::size_t>(field.back() - '0')};
    }
    return {};
  }

  Machine& machine_;
};

double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// Returns the value in `unit`, to four digits; bytes are whole.
Number number_of(const MeasuredNumber& measured, const Stamp& stamp) {
  Number out;
  out.unit = measured.unit;
  const double factor = profile::factor_of(measured.unit);
  out.value = rounded(measured.estimate.value / factor, 4) * factor;
  if (out.unit == "B" || out.unit == "MB") out.value = std::round(out.value);
  out.from.tool = stamp.tool;
  out.from.date = stamp.date;
  out.from.driver = stamp.driver;
  out.from.note = measured.note;
  out.from.spread = rounded(measured.estimate.spread, 2);
  return out;
}

Finding place(Places& places, const MeasuredNumber& measured, const Stamp& stamp) {
  Finding out;
  out.name = measured.name;
  out.number = number_of(measured, stamp);
  out.runs = measured.estimate.runs;
  if (const auto before = places.used(measured.name)) out.before = before->value / profile::factor_of(measured.unit);
  if (!(out.number.value > 0)) {
    out.why = "not told apart from 0";
  } else {
    out.placed = places.put(measured.name, out.number);
    if (!out.placed) out.why = "the base has no such unit or pipe";
  }
  return out;
}

void put_timing(Machine& machine, const MeasuredTiming& timing, const Stamp& stamp) {
  if (timing.rows.empty()) return;
  for (TensorInstruction& instruction : machine.tensor) {
    const bool measured = instruction.name == timing.instruction &&
                          std::find(timing.types.begin(), timing.types.end(), instruction.type) != timing.types.end();
    if (!measured) continue;
    instruction.timing = timing.rows;
    Provenance from;
    from.tool = stamp.tool;
    from.date = stamp.date;
    from.driver = stamp.driver;
    from.note = timing.note;
    from.spread = rounded(timing.spread, 2);
    instruction.timing_from = from;
  }
}

}  // namespace

Calibration calibrate(const Machine& base, const Readings& readings, const Stamp& stamp) {
  Calibration out{base, {}};
  Places places(out.machine);
  const Number* known = base.find_constant(exponent_name);
  const double exponent = known != nullptr ? known->value : exponent_of_small_kernels;
  for (const MeasuredNumber& measured : measured_card(base, readings))
    out.findings.push_back(place(places, measured, stamp));
  for (const MeasuredNumber& measured : measured_numbers(readings, exponent)) {
    if (measured.name == "constants.energy_tensor_16bit") out.machine.constants.erase(energy_of_card_name);
    out.findings.push_back(place(places, measured, stamp));
  }
  if (known == nullptr && out.machine.constant_or("energy_tensor_16bit", 0) > 0) {
    Number assumed{exponent, "1", {}};
    assumed.from.source = "unverified: what steady loads say on an H200";
    out.machine.constants.emplace(exponent_name, assumed);
  }
  put_timing(out.machine, measured_timing(readings), stamp);
  return out;
}

}  // namespace napkin::internal
