// links: model/machine
// Hardware profiles from arbitrary bytes: only napkin::Error may escape.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/machine/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const napkin::internal::Machine machine =
        napkin::internal::parse_machine(std::string_view(reinterpret_cast<const char*>(data), size), "input.yaml");
    for (const napkin::internal::Pipe& pipe : machine.pipes) {
      (void)napkin::internal::bytes_per_second(machine, pipe, napkin::Hertz(1e9));
    }
    for (const napkin::internal::TensorInstruction& instruction : machine.tensor) {
      (void)napkin::internal::instruction_clocks(instruction, instruction.n_most, false);
    }
  } catch (const napkin::Error&) {
    // refused with a message: that is the answer to bad input
  }
  return 0;
}
