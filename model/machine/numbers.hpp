#pragma once
// numbers_of lists the numbers of a machine: "pipes.l2.bandwidth_per_node" is 35 B/clk. with_number_times returns a
// copy of the machine in which one of them is 1 % more.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// A number that a prediction may read. A quantity stated twice (datasheet and measured) appears once, by the value
/// that counts; an instruction's table of times or latencies appears as a single number, its first entry.
struct MachineNumber {
  std::string name;    ///< path in the profile: "units.special.rate", "fitted.energy_l2", "tensor.wgmma.bf16.timing"
  std::string unit;    ///< unit in the profile
  double value = 0;    ///< value in that unit
  bool whole = false;  ///< true for a count, whose neighbours are whole: 131 and 133 for 132 SMs
  bool more_is_better = true;                             ///< true for a rate or a capacity, false for a latency, by
                                                          ///< the quantity alone
  double most = std::numeric_limits<double>::infinity();  ///< upper limit: no clock exceeds the highest
  Provenance from;
};

/// The basis of a number, the surest first.
enum class Basis {
  measured,   ///< measurement by this program on that product
  fitted,     ///< fit to runs of whole kernels on that product
  published,  ///< datasheet, or measurement by others
  derived,    ///< derivation from a sibling: another product of the architecture, or another architecture
  assumed     ///< assumption without a source
};
[[nodiscard]] std::string_view name_of(Basis basis);
[[nodiscard]] Basis basis_of(const Machine& machine, const Provenance& from);

/// Lists all numbers, in the profile's order.
[[nodiscard]] std::vector<MachineNumber> numbers_of(const Machine& machine);

/// Multiplies the number at that place of numbers_of(); a whole number is rounded, to 1 at least.
[[nodiscard]] Machine with_number_times(Machine machine, std::size_t place, double factor);

/// Removes a constant's effect: a fitted value is replaced by the measured one, any other by 0, which means no effect.
/// A missing constant is different: without some constants there is no event graph.
void switch_off(Machine& machine, const std::string& constant);

}  // namespace napkin::internal
