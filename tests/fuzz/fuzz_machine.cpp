// links: model/machine
// Hardware profiles from arbitrary bytes: only napkin::Error may escape.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/machine/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const napkin::Machine machine =
        napkin::parse_machine(std::string_view(reinterpret_cast<const char*>(data), size), "input.yaml");
    for (const napkin::Pipe& pipe : machine.pipes) {
      (void)napkin::bytes_per_second(machine, pipe, napkin::Hertz(1e9));
    }
    for (const napkin::TensorInstruction& instruction : machine.tensor) {
      (void)napkin::instruction_clocks(instruction, instruction.n_most, false);
    }
  } catch (const napkin::Error&) {
    // refused with a message: that is the answer to bad input
  }
  return 0;
}
