#include "model/clock/launch/other_launches.hpp"

#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/shared_pipe.hpp"

namespace napkin::internal {
namespace {

using Moved = std::vector<std::pair<std::string, std::string>>;

Bytes bytes_of_arrays(const PlacedDiagram& placed, const Moved& arrays) {
  Bytes sum;
  if (!placed.packed.empty()) {
    for (const PackedPart& part : placed.packed) sum += part.blank ? Bytes() : bytes_of_arrays(part.placed, arrays);
    return sum;
  }
  const Diagram& diagram = placed.streamed->diagram;
  for (const auto& [name, type] : arrays) {
    Count values = 1;
    for (const AxisId axis : diagram.arrays[static_cast<std::size_t>(diagram.array(name))].axes)
      values *= placed.problem->sizes[static_cast<std::size_t>(axis)];
    sum += bytes_of(values, type == "T" ? placed.problem->dtype : parse_dtype(type, placed.mapping->file));
  }
  return sum;
}

}  // namespace

std::vector<OtherLaunch> other_launches(const PlacedDiagram& placed, Hertz clock) {
  std::vector<OtherLaunch> out;
  const Machine& machine = *placed.machine;
  for (const Launch& launch : placed.mapping->launches) {
    if (!launch.streams()) continue;
    OtherLaunch one{launch.name, bytes_of_arrays(placed, launch.reads), bytes_of_arrays(placed, launch.writes), {}};
    const double bytes = real((one.read + one.written).value);
    const bool stays = bytes <= machine.constant_or("l2_working_set", 0);
    const Pipe* near = machine.pipe_into(placed.block().level);
    const double rate =
        stays && near != nullptr ? bytes_per_second(machine, *near, clock) : device_pipe(placed, clock).rate;
    one.time = launch_overhead(machine) + Seconds(rate > 0 ? bytes / rate : 0);
    out.push_back(std::move(one));
  }
  return out;
}

Seconds time_of_other_launches(const PlacedDiagram& placed, Hertz clock) {
  Seconds sum;
  for (const OtherLaunch& launch : other_launches(placed, clock)) sum = sum + launch.time;
  return sum;
}

}  // namespace napkin::internal
