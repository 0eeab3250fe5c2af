// What is read again, in closed form: blocks that run together are a wave, a rectangle of rows and planes of tiles;
// what one wave touched is touched again one wave later, or when the order comes back to it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "model/resource/order.hpp"
#include "model/resource/reuse.hpp"

namespace napkin {
namespace {

/// What blocks touch, bytes: of a row of tiles in all its planes alike, of a plane in all its rows, and each its own.
struct Touches {
  double row = 0, plane = 0, own = 0;
};

/// Whether what crosses differs from row to row of tiles, and from plane to plane; `axes`: BlockSequence::axes().
struct Differs {
  bool row = false, plane = false;
};
Differs differs(const PlacedDiagram& placed, const Crossing& c, const std::vector<AxisId>& axes) {
  Differs out;
  for (const AxisId axis : placed.axes_of(c)) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) (axis == axes.back() ? out.row : out.plane) = true;
  }
  return out;
}

/// Clusters are blocks here: of so many rows.
Touches touches_of(const PlacedDiagram& placed, const std::vector<AxisId>& axes) {
  Touches out;
  const PlacedLevel& block = placed.block();
  for (const Crossing& c : placed.crossings) {
    if (c.into != block.level || c.auxiliary >= 0 || c.parts) continue;
    double bytes = bytes_per_value(c.type);
    const auto [row, plane] = differs(placed, c, axes);
    for (const AxisId axis : placed.axes_of(c)) {
      const bool grouped = std::find(axes.begin(), axes.end(), axis) != axes.end();
      bytes *= real(grouped ? block.extent[at(axis)] : placed.problem->sizes[at(axis)]);
    }
    if (row) bytes *= std::max(real(placed.cluster), 1.0);
    // A result lies in the partition of those who wrote it alone.
    (row && plane ? out.own : row ? out.row : out.plane) += c.store ? bytes / 2 : bytes;
  }
  return out;
}

bool is_stream(const PlacedDiagram& placed, const Crossing& c) {
  return c.into == placed.block().level && !c.store && c.phase == Phase::loop && c.auxiliary < 0 && !c.parts;
}

/// Rows and planes that so many blocks (clusters) in a row meet, on the mean.
struct Met {
  double rows = 0, planes = 0;
};
Met met_by(const BlockSequence& sequence, double running, double rows) {
  const double planes = static_cast<double>(sequence.planes());
  if (sequence.order() == BlockOrder::hilbert) {
    const double side = hilbert_unaligned * std::sqrt(running);
    return {std::min(side, rows), std::min(side, planes)};
  }
  const double down =
      sequence.order() == BlockOrder::grouped ? std::min(static_cast<double>(sequence.section()), rows) : rows;
  return {std::min(down, running), std::min(1 + (running - 1) / down, planes)};
}

}  // namespace

double streams_alone(const PlacedDiagram& placed, double blocks) {
  const BlockSequence sequence(placed);
  const double cluster = std::max(real(placed.cluster), 1.0),
               rows = static_cast<double>(sequence.size() / sequence.planes()) / cluster;
  const double running = std::clamp(blocks / cluster, 1.0, rows * static_cast<double>(sequence.planes()));
  const Met met = met_by(sequence, running, rows);
  double all = 0, alone = 0;
  for (const Crossing& c : placed.crossings) {
    if (!is_stream(placed, c) || placed.multicast(c)) continue;
    double bytes = bytes_per_value(c.type);
    for (const AxisId axis : placed.axes_of(c)) bytes *= real(placed.block().extent[at(axis)]);
    const auto [row, plane] = differs(placed, c, sequence.axes());
    all += bytes;
    alone += bytes * (row && plane ? 1 : row ? met.rows / running : plane ? met.planes / running : 1 / running);
  }
  return all > 0 ? alone / all : 1;
}

bool streams_crossed(const PlacedDiagram& placed) {
  std::optional<std::uint64_t> first;  // grouped axes of a stream, of more than one group
  for (const Crossing& c : placed.crossings) {
    if (!is_stream(placed, c)) continue;
    std::uint64_t has = 0;
    for (const AxisId axis : placed.axes_of(c)) {
      if (placed.block().groups_of[at(axis)] > Count(1)) has |= std::uint64_t{1} << axis;
    }
    if (first && *first != has) return true;
    first = has;
  }
  return false;
}

double reread_by_waves(const PlacedDiagram& placed) {
  const L2Model l2 = l2_model(*placed.machine);
  if (l2.bytes <= 0 || !placed.packed.empty() || placed.problem->mask.kind != Mask::Kind::none) return 0;
  const BlockSequence sequence(placed);
  if (sequence.axes().size() < 2) return 0;
  const Touches bytes = touches_of(placed, sequence.axes());
  const double cluster = std::max(real(placed.cluster), 1.0);
  const double rows = static_cast<double>(sequence.size() / sequence.planes()) / cluster,
               planes = static_cast<double>(sequence.planes());
  const double running = std::min(std::floor(real(placed.machine->compute_nodes()) / cluster), rows * planes);
  const double waves = rows * planes / running, all_rows = rows * bytes.row, all_planes = planes * bytes.plane;
  // Touched by all waves, in rows and planes at a time; a piece that was touched a wave or more ago may be gone.
  const auto again = [&](double at_a_time, double one, double all, double gone) {
    return std::max(waves * at_a_time * one - all, 0.0) * gone;
  };
  if (sequence.order() == BlockOrder::hilbert) {
    // A wave is about a square; the next one lies beside, above or below it: it touches the rows or the planes again.
    const double side = hilbert_unaligned * std::sqrt(running),
                 wave = side * (bytes.row + bytes.plane) + running * bytes.own;
    const double gone = (chance_gone(l2, 0, wave) + chance_gone(l2, 0, 2 * wave)) / 2;
    return again(std::min(side, rows), bytes.row, all_rows, gone) +
           again(std::min(side, planes), bytes.plane, all_planes, gone);
  }
  // Down the rows of a section, plane after plane; then the next section. Waves begin and end within a plane.
  const double section =
      sequence.order() == BlockOrder::grouped ? std::min(static_cast<double>(sequence.section()), rows) : rows;
  const double high = std::min(section, running), wide = std::min(running / high, planes),
               cut = wide < planes ? 1 - 1 / high : 0;
  const double wave = high * bytes.row + (wide + cut) * bytes.plane + running * bytes.own;
  const double pass = section * bytes.row + planes * bytes.plane + section * planes * bytes.own;
  const double after_wave = chance_gone(l2, 0, wave), after_pass = chance_gone(l2, 0, pass);
  const double by_cuts = waves * cut * bytes.plane * after_wave;
  if (section > high)
    return by_cuts + again(high, bytes.row, all_rows, after_pass) + again(wide, bytes.plane, all_planes, after_wave);
  return by_cuts + again(high, bytes.row, all_rows, after_wave) + again(wide, bytes.plane, all_planes, after_pass);
}

}  // namespace napkin
