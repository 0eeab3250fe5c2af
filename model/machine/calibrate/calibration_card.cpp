// measured_card computes the numbers in which one card differs from the card that was measured for its product's
// profile.

#include <cmath>

#include "model/machine/calibrate/calibration_rules.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {
namespace {

constexpr const char* of_card = "power_card";

/// Returns the constant as small kernels measured it; fitted values, which come from whole kernels, are left out.
double small(const Machine& base, const char* name, double absent) {
  const auto found = base.constants.find(name);
  return found == base.constants.end() ? absent : found->second.value;
}

/// Returns the watts beyond idle power that the base's energies give for a load; 0 if an energy is not known.
double said(const Machine& base, const PowerPoint& point) {
  const double exponent = small(base, "energy_exponent", 1), ratio = point.clock / energy_clock;
  const std::vector<double> energies = {small(base, "energy_tensor_16bit", 0), small(base, "energy_instruction", 0)};
  double core = small(base, "clock_tree", 0) * ratio;
  for (std::size_t kind = 0; kind < energies.size(); ++kind) {
    if (point.rates[kind] > 0 && energies[kind] <= 0) return 0;
    core += energies[kind] * point.rates[kind];
  }
  return core * std::pow(ratio, exponent);
}

}  // namespace

std::vector<MeasuredNumber> measured_card(const Machine& base, const Readings& readings) {
  std::map<std::string, SteadyReading> loads = steady_loads(readings, of_card, {"flops", "instructions"});
  const auto rest = loads.find("rest");
  if (rest == loads.end()) return {};
  const double idle = rest->second.point.power;
  loads.erase(rest);
  std::vector<MeasuredNumber> out = {{"power.idle", "W", {idle, 0, 1}, "with a context, nothing running"}};
  std::vector<double> factors;
  for (const auto& [name, load] : loads) {
    const double watts = said(base, load.point);
    if (load.point.rates.front() > 0 && watts > 0) factors.push_back((load.point.power - idle) / watts);
  }
  if (const auto spin = loads.find("spin"); spin != loads.end() && spin->second.nvml_clock > 0)
    out.push_back(
        {"clocks.maximum", "MHz", {spin->second.nvml_clock, 0, 1}, "with one warpgroup an SM that reads clocks"});
  if (auto clock = clock_beside_tensor(loads)) out.push_back(std::move(*clock));
  if (!factors.empty())
    out.push_back({"constants.energy_of_card", "1", estimate(std::move(factors)),
                   "power beyond idle under steady products, over what the product's energies say of them"});
  return out;
}

}  // namespace napkin::internal
