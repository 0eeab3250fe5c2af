#include "model/clock/launch/device_time.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::internal {

double DeviceTime::seconds(double busy, double clock) const {
  const auto wave = [&](double part, double alone) { return std::max(busy * part, alone / clock); };
  const double all = waves > 0 ? waves * wave(share, clocks) : 0;
  const double rest = wave(rest_share, rest_clocks);
  const double bound = rest > 0 ? busy * rest_share / rest : 0;
  return all + rest + (ends + bound * bound * bound * last) / clock;
}

bool DeviceTime::binds(double busy, double clock) const {
  return (waves > 0 && busy * share > clocks / clock) || busy * rest_share > rest_clocks / clock;
}

DeviceTime device_time(const LaunchShape& shape, const LaunchClocks& clocks, const Period& period, BlockOrder order,
                       double resident, double first_chunk) {
  DeviceTime out;
  if (shape.packed) return out;
  const Schedule& who = shape.who;
  const bool even = order == BlockOrder::even;
  const double alone = (even ? who.iterations : who.longest) * period.clocks;
  out.ends = std::max(clocks.longest - alone, 0.0);
  out.last = std::max(period.clocks - first_chunk, -out.ends);
  if (shape.unequal || even || who.total_blocks <= 0) return out;
  const auto of_wave = [&](double blocks) { return shape.mean * std::max(period.clocks, blocks * period.pipe.clocks); };
  const double slots = who.nodes * resident;
  out.waves = std::ceil(who.total_blocks / slots) - 1;
  out.share = slots / who.total_blocks;
  out.clocks = of_wave(resident);
  const double rest = who.total_blocks - out.waves * slots;
  out.rest_share = rest / who.total_blocks;
  out.rest_clocks = of_wave(std::ceil(rest / who.nodes));
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

}  // namespace napkin::internal
