#include "model/clock/launch/device_time.hpp"

#include <algorithm>
#include <cmath>

namespace napkin {

double DeviceTime::seconds(double busy, double clock) const {
  const double wave = clocks / clock, rest = rest_clocks / clock;
  const bool binds = (waves > 0 && busy * share > wave) || busy * rest_share > rest;
  if (!binds) return busy;
  const double last = rest_share > 0 ? std::max(busy * rest_share, rest) : 0;
  return waves * std::max(busy * share, wave) + last + exposed / clock;
}

DeviceTime device_time(const LaunchShape& shape, const LaunchClocks& clocks, const Period& period, BlockOrder order,
                       double resident, double first_chunk) {
  DeviceTime out;
  if (shape.packed) return out;
  const Schedule& who = shape.who;
  const bool even = order == BlockOrder::even;
  const double alone = (even ? who.iterations : who.longest) * period.clocks;
  // Behind the last chunk comes a whole iteration, before the first one's bytes everything that precedes them.
  out.exposed = std::max(clocks.longest - alone + period.clocks - first_chunk, 0.0);
  if (shape.unequal || even || who.total_blocks <= 0) return out;
  const auto of_wave = [&](double blocks) { return shape.mean * std::max(period.clocks, blocks * period.pipe.clocks); };
  const double slots = who.nodes * resident;
  out.waves = std::floor(who.total_blocks / slots);
  out.share = slots / who.total_blocks;
  out.clocks = of_wave(resident);
  const double rest = who.total_blocks - out.waves * slots;
  out.rest_share = rest / who.total_blocks;
  out.rest_clocks = rest > 0 ? of_wave(std::ceil(rest / who.nodes)) : 0;
  return out;
}

double bytes_beside_rows(const PlacedDiagram& placed) {
  const double beside = placed.machine->constant_or("device_row", 0);
  if (beside <= 0 || !placed.packed.empty()) return 0;
  const Diagram& diagram = placed.streamed->diagram;
  double bytes = 0;
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level || c.store || c.auxiliary >= 0 || c.array < 0 || !diagram.is_input(c.array))
      continue;
    const std::vector<AxisId>& axes = diagram.arrays[static_cast<std::size_t>(c.array)].axes;
    if (axes.empty()) continue;
    const AxisId last = axes.back();
    const bool streams = placed.streamed->stream && *placed.streamed->stream == last;
    const Count columns = streams ? placed.block().chunk : placed.block().extent[static_cast<std::size_t>(last)];
    if (columns >= placed.problem->sizes[static_cast<std::size_t>(last)]) continue;
    double rows = 1;
    for (const AxisId axis : axes) rows *= real(placed.problem->sizes[static_cast<std::size_t>(axis)]);
    bytes += rows / real(columns) * beside;
  }
  return bytes;
}

}  // namespace napkin
