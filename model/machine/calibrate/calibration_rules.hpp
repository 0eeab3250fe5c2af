#pragma once
// measured_numbers() computes the numbers of a profile from readings: tma_box from the clocks that one more box takes.
// Internal to model/machine.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/machine/calibrate/fit.hpp"
#include "model/machine/calibrate/reading.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {

struct MeasuredNumber {
  std::string name;   ///< place in a profile
  std::string unit;   ///< unit in the profile
  Estimate estimate;  ///< value in SI units, or per clock
  std::string note;
};

/// Measures all numbers that the readings suffice for; `exponent` is n of eq. 16.1.
[[nodiscard]] std::vector<MeasuredNumber> measured_numbers(const Readings& readings, double exponent);

/// The clocks of a 16-bit product against n, with the latencies of a single product. Below the smallest measured n: the
/// line through the three smallest (A in shared memory: 16 + n/4 clocks of operands), or the smallest (A in registers).
struct MeasuredTiming {
  std::string instruction;              ///< measured instruction, by its name in the profile
  std::vector<DType> types;             ///< types that take these clocks
  std::vector<InstructionTiming> rows;  ///< rows by n; empty: not measured
  double spread = 0;                    ///< largest spread of the rows
  std::string note;
};
[[nodiscard]] MeasuredTiming measured_timing(const Readings& readings);

/// Measures the numbers of mma.sync and cp.async.
[[nodiscard]] std::vector<MeasuredNumber> measured_synchronous(const Readings& readings);

/// Measures energies and the clock tree from loads of known rates (eq. 16.1), as constants.
[[nodiscard]] std::vector<MeasuredNumber> measured_energies(const Readings& readings, double exponent);

/// Measures the numbers that differ between cards of a product: idle power, highest clocks, and the card's energies
/// over those that the base has from small kernels (eq. 16.5).
[[nodiscard]] std::vector<MeasuredNumber> measured_card(const Machine& base, const Readings& readings);

/// A load that ran until clock and power were steady, and the rates of its kinds of work.
struct SteadyReading {
  PowerPoint point;
  double nvml_clock = 0;  ///< hertz
};
/// Returns an experiment's loads by name, if their power was read.
[[nodiscard]] std::map<std::string, SteadyReading> steady_loads(const Readings& readings, const std::string& experiment,
                                                                const std::vector<std::string>& kinds);

/// Measures the SMs' clock under matrix load as a fraction of NVML's clock, times NVML's highest clock. Nothing if no
/// load has products, the first kind of work.
[[nodiscard]] std::optional<MeasuredNumber> clock_beside_tensor(const std::map<std::string, SteadyReading>& loads);

}  // namespace napkin::internal
