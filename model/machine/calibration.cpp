#include "model/machine/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/base/error.hpp"
#include "model/machine/calibration_rules.hpp"
#include "model/machine/number.hpp"

namespace napkin {
namespace {

/// The number at "units.special.rate" and the like, made where the profile may have one; nullptr where it may not.
class Places {
 public:
  explicit Places(Machine& machine) : machine_(machine) {}

  /// What predictions use there now; for by-name numbers nothing where there is none.
  [[nodiscard]] std::optional<Number> used(const std::string& name) const {
    const auto [section, key, field] = parts(name);
    if (section == "units" || section == "pipes") {
      const Stated* stated = stated_at(section, key, field);
      if (stated != nullptr) return stated->known() ? std::optional<Number>(stated->best()) : std::nullopt;
    }
    const std::optional<Number>* number = optional_at(section, key, field);
    if (number != nullptr) return *number;
    const auto found = machine_.constants.find(key);
    return section == "constants" && found != machine_.constants.end() ? std::optional<Number>(found->second)
                                                                       : std::nullopt;
  }

  /// False where the machine has no such unit or pipe.
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

  Machine& machine_;
};

double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// The value in `unit`, at four digits; whole bytes.
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
    const bool same =
        instruction.name == "wgmma" && (instruction.type == DType::bf16 || instruction.type == DType::f16);
    if (!same) continue;
    instruction.timing = timing.rows;
    instruction.timing_from = {{}, stamp.tool, stamp.date, stamp.driver, timing.note, rounded(timing.spread, 2)};
  }
}

}  // namespace

Calibration calibrate(const Machine& base, const Readings& readings, const Stamp& stamp) {
  Calibration out{base, {}};
  Places places(out.machine);
  for (const MeasuredNumber& measured : measured_numbers(readings))
    out.findings.push_back(place(places, measured, stamp));
  put_timing(out.machine, measured_timing(readings), stamp);
  return out;
}

}  // namespace napkin
