#pragma once
// A SharedPipe is a pipe of the machine that all nodes share, with its rate: device memory's brings 4.6 TB/s on an
// H200.

#include <string_view>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// A pipe of the machine that all nodes share.
struct SharedPipe {
  const Pipe* pipe = nullptr;
  double rate = 0;  // bytes a second
  [[nodiscard]] double seconds(double bytes) const { return rate > 0 ? bytes / rate : 0; }
  [[nodiscard]] double latency() const { return pipe != nullptr && pipe->latency ? pipe->latency->value : 0; }
  [[nodiscard]] std::string_view name() const { return pipe != nullptr ? pipe->name : std::string_view(); }
};

/// Returns the pipe into that level.
[[nodiscard]] SharedPipe shared_pipe(const Machine& machine, LevelId into, Hertz clock);
/// Returns the pipe that carries this tile's bytes from device memory, at that clock.
[[nodiscard]] SharedPipe device_pipe(const PlacedDiagram& placed, Hertz clock);
/// Returns device memory's pipe of a machine: the first that has a rate. Throws Error if none has.
[[nodiscard]] SharedPipe device_pipe(const Machine& machine);

}  // namespace napkin::internal
