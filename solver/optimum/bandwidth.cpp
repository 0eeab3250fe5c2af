#include "solver/optimum/bandwidth.hpp"

#include <cmath>
#include <limits>

#include "model/base/error.hpp"

namespace napkin::internal {

Rates rates_of(const Machine& machine, LevelId level, DType type, Hertz clock) {
  const TensorInstruction* instruction = machine.tensor_for(type);
  const Pipe* pipe = machine.pipe_into(level);
  if (instruction == nullptr) {
    throw Error(machine.name, "no tensor instruction for " + std::string(name_of(type)), "a type that the machine has");
  }
  const double rate = pipe == nullptr ? 0 : bytes_per_second(machine, *pipe, clock);
  if (!(rate > 0)) {
    throw Error(machine.name, "no bandwidth into level '" + machine.levels[static_cast<std::size_t>(level)].name + "'",
                "a pipe with bandwidth");
  }
  return {peak_flops(machine, *instruction, clock), rate * 8 / bits(type)};
}

MatmulMinima matmul_minima(const Rates& rates, double memory) {
  MatmulMinima m;
  m.memory = rates.balance() * rates.balance();
  m.depth = rates.balance() / 2;
  const double spare = 1 / rates.balance() - 1 / std::sqrt(memory);
  m.depth_at_memory = spare > 0 ? 1 / (2 * spare) : std::numeric_limits<double>::infinity();
  return m;
}

double least_accumulator_bytes(const MatmulMinima& minima, double accumulator_bytes) {
  return minima.memory * accumulator_bytes;
}

AttentionMinima attention_minima(const Rates& rates, double d) {
  return {rates.balance() / 2, d * rates.balance(), rates.balance() / 2};
}

double least_rows(const StreamLoad& load) {
  return load.clock * load.bytes / load.sharers * load.processors / (load.clocks_per_row * load.bytes_per_second);
}

double tensor_bound_rate(std::span<const TensorColumn> columns, double processors, double clock) {
  double operations = 0, clocks = 0;
  for (const TensorColumn& c : columns) {
    operations += c.operations;
    clocks += c.clocks;
  }
  return operations / clocks * processors * clock;
}

}  // namespace napkin::internal
