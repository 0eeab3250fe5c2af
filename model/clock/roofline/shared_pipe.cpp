#include "model/clock/roofline/shared_pipe.hpp"

namespace napkin {

SharedPipe shared_pipe(const Machine& machine, LevelId into, Hertz clock) {
  const Pipe* pipe = machine.pipe_into(into);
  return {pipe, pipe != nullptr ? bytes_per_second(machine, *pipe, clock) : 0};
}

SharedPipe device_pipe(const PlacedDiagram& placed, Hertz clock) {
  const Machine& machine = *placed.machine;
  LevelId at = placed.block().level;
  while (at > 0 && machine.levels[static_cast<std::size_t>(at)].parent > 0)
    at = machine.levels[static_cast<std::size_t>(at)].parent;
  return shared_pipe(machine, at, clock);
}

}  // namespace napkin
