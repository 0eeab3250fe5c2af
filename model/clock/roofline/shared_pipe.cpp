#include "model/clock/roofline/shared_pipe.hpp"

#include "model/base/error.hpp"

namespace napkin::internal {

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

SharedPipe device_pipe(const Machine& machine) {
  const Hertz clock(machine.clocks.maximum ? machine.clocks.maximum->value : 0);
  for (std::size_t i = 1; i < machine.levels.size(); ++i) {
    if (machine.levels[i].parent != 0) continue;
    const SharedPipe pipe = shared_pipe(machine, static_cast<LevelId>(i), clock);
    if (pipe.rate > 0) return pipe;
  }
  throw Error(machine.name, "has no bandwidth of device memory", "pipes: {device: {bandwidth}}");
}

}  // namespace napkin::internal
