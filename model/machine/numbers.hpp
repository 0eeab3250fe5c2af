#pragma once
// The numbers of a machine one by one: "pipes.l2.bandwidth_per_node" is 35 B/clk, and a copy of the machine can be made
// in which it is 1 % more.

#include <string>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

/// One number that a prediction may read. A quantity that is stated twice (datasheet and measured) appears once, by the
/// value that counts; a table of times or latencies of one instruction appears as one number, its first entry.
struct MachineNumber {
  std::string name;    ///< path in the profile: "units.special.rate", "fitted.energy_l2", "tensor.wgmma.bf16.timing"
  std::string unit;    ///< as written in the profile
  double value = 0;    ///< in that unit
  bool whole = false;  ///< counts things: 132 SMs have 131 and 133 as neighbours
  Provenance from;
};

/// All of them, in the profile's order.
[[nodiscard]] std::vector<MachineNumber> numbers_of(const Machine& machine);

/// The machine with the number at that place of numbers_of() multiplied; a whole number is rounded, to 1 at least.
[[nodiscard]] Machine with_number_times(Machine machine, std::size_t place, double factor);

}  // namespace napkin
