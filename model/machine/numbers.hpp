#pragma once
// numbers_of lists the numbers of a machine one by one: "pipes.l2.bandwidth_per_node" is 35 B/clk, and a copy of the
// machine can be made in which it is 1 % more.

#include <limits>
#include <string>
#include <string_view>
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
  bool more_is_better = true;                             ///< as the quantity is, whatever it does to one prediction
  double most = std::numeric_limits<double>::infinity();  ///< no clock passes the highest one
  Provenance from;
};

/// How a number is known, the surest first.
enum class Basis {
  measured,   ///< by this program, on that product
  fitted,     ///< to runs of whole kernels on that product
  published,  ///< a datasheet's, or measured by others
  derived,    ///< from a sibling: another product of the architecture, or another architecture
  assumed     ///< nobody says it
};
[[nodiscard]] std::string_view name_of(Basis basis);
[[nodiscard]] Basis basis_of(const Machine& machine, const Provenance& from);

/// All of them, in the profile's order.
[[nodiscard]] std::vector<MachineNumber> numbers_of(const Machine& machine);

/// The machine with the number at that place of numbers_of() multiplied; a whole number is rounded, to 1 at least.
[[nodiscard]] Machine with_number_times(Machine machine, std::size_t place, double factor);

/// The machine without a constant's effect: a fitted one's measured value in its place where there is one, else 0,
/// which every clock takes for no effect. A constant that is missing is another thing: without some there is no event
/// graph.
void switch_off(Machine& machine, const std::string& constant);

}  // namespace napkin
