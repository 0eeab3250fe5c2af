#include "model/clock/power/joules.hpp"

#include "model/clock/power/power.hpp"

namespace napkin::internal {

double joules_of_byte(const Machine& machine, LevelId into) {
  const Pipe* pipe = machine.pipe_into(into);
  if (pipe == nullptr) return 0;
  if (pipe->energy_per_byte) return pipe->energy_per_byte->value;
  const EnergyRates rates = energy_rates(machine);
  if (into == machine.compute) return rates.l2 + rates.alone;
  return pipe->from == 0 ? rates.device : pipe->from == machine.compute ? rates.shared : 0;
}

double joules_of_flop(const Machine& machine, const TensorInstruction& instruction) {
  return energy_rates(machine).of_flop(instruction);
}

}  // namespace napkin::internal
