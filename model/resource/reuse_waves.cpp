// What is read again, in closed form: blocks that run together are a wave, a rectangle of rows and planes of tiles;
// what one wave touched is touched again one wave later, or when the order comes back to it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "model/resource/order.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {
namespace {

/// The bytes that blocks touch: those of a row of tiles, shared by all planes; those of a plane, shared by all its
/// rows; those of a single block.
struct Touches {
  double row = 0, plane = 0, own = 0;
};

/// True if the crossing's data differ between rows of tiles, and between planes; `axes` come from
/// BlockSequence::axes().
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

/// Returns the bytes that blocks touch. A cluster of so many rows counts as a block here.
Touches touches_of(const PlacedDiagram& placed, const std::vector<AxisId>& axes, const L2Model& l2) {
  Touches out;
  const PlacedLevel& block = placed.block();
  for (const Crossing& c : placed.crossings) {
    if (c.into != block.level || c.auxiliary >= 0 || placed.in_parts(c)) continue;
    double bytes = bytes_per_value(c.type);
    const auto [row, plane] = differs(placed, c, axes);
    for (const AxisId axis : placed.axes_of(c)) {
      const bool grouped = std::find(axes.begin(), axes.end(), axis) != axes.end();
      bytes *= real(grouped ? block.extent[at(axis)] : placed.problem->sizes[at(axis)]);
    }
    if (row) bytes *= std::max(real(placed.cluster), 1.0);
    // A result lies in the partition of those who wrote it alone.
    (row && plane ? out.own : row ? out.row : out.plane) += c.store ? bytes / l2.partitions : bytes;
  }
  return out;
}

bool is_stream(const PlacedDiagram& placed, const Crossing& c) {
  return c.into == placed.block().level && !c.store && c.phase == Phase::loop && c.auxiliary < 0 && !placed.in_parts(c);
}

/// The mean rows and planes of tiles that so many consecutive blocks (clusters) touch.
struct Rectangle {
  double rows = 0, planes = 0;
};
Rectangle touched_by(const BlockSequence& sequence, double running, double rows) {
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

double unshared_in_order(const PlacedDiagram& placed, double blocks) {
  const BlockSequence sequence(placed);
  const double cluster = std::max(real(placed.cluster), 1.0),
               rows = static_cast<double>(sequence.size() / sequence.planes()) / cluster;
  const double running = std::clamp(blocks / cluster, 1.0, rows * static_cast<double>(sequence.planes()));
  const Rectangle touched = touched_by(sequence, running, rows);
  double all = 0, alone = 0;
  for (const Crossing& c : placed.crossings) {
    if (!is_stream(placed, c) || placed.multicast(c)) continue;
    double bytes = bytes_per_value(c.type);
    for (const AxisId axis : placed.axes_of(c)) bytes *= real(placed.block().extent[at(axis)]);
    const auto [row, plane] = differs(placed, c, sequence.axes());
    all += bytes;
    alone += bytes * (row && plane ? 1 : row ? touched.rows / running : plane ? touched.planes / running : 1 / running);
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

namespace {

/// A launch as waves of blocks that run together, in rows and planes of tiles; clusters are blocks here.
struct Waves {
  double rows = 1, planes = 1, running = 1;
  Touches bytes;  ///< bytes of one row, one plane, one block
  L2Model l2;

  [[nodiscard]] double count() const { return rows * planes / running; }
  /// Returns the bytes read again by waves that touch so many rows at a time, each evicted with that probability.
  [[nodiscard]] double rows_again(double at_a_time, double gone) const {
    return std::max(count() * at_a_time * bytes.row - rows * bytes.row, 0.0) * gone;
  }
  [[nodiscard]] double planes_again(double at_a_time, double gone) const {
    return std::max(count() * at_a_time * bytes.plane - planes * bytes.plane, 0.0) * gone;
  }
  [[nodiscard]] double gone_after(double other_bytes) const { return chance_gone(l2, 0, other_bytes); }
};

/// Returns the bytes read again along a Hilbert curve: a wave is about a square, and the next, beside, above or below
/// it, touches its rows or its planes again.
double reread_along_hilbert(const Waves& w) {
  const double side = hilbert_unaligned * std::sqrt(w.running);
  const double wave = side * (w.bytes.row + w.bytes.plane) + w.running * w.bytes.own;
  const double gone = (w.gone_after(wave) + w.gone_after(2 * wave)) / 2;
  return w.rows_again(std::min(side, w.rows), gone) + w.planes_again(std::min(side, w.planes), gone);
}

/// Returns the bytes read again by sections: down the rows of a section, plane after plane, then the next section.
/// Waves begin and end within a plane.
double reread_by_sections(const Waves& w, double section) {
  const double high = std::min(section, w.running), wide = std::min(w.running / high, w.planes);
  const double cut = wide < w.planes ? 1 - 1 / high : 0;  // planes more that a wave begins or ends in
  const double wave = high * w.bytes.row + (wide + cut) * w.bytes.plane + w.running * w.bytes.own;
  const double pass = section * w.bytes.row + w.planes * w.bytes.plane + section * w.planes * w.bytes.own;
  const double after_wave = w.gone_after(wave), after_pass = w.gone_after(pass);
  const double by_cuts = w.count() * cut * w.bytes.plane * after_wave;
  // A section higher than a wave comes back to its rows with its next pass, to its planes with the next wave.
  const bool higher = section > high;
  return by_cuts + w.rows_again(high, higher ? after_pass : after_wave) +
         w.planes_again(wide, higher ? after_wave : after_pass);
}

}  // namespace

namespace {

/// Returns true if planes that share a piece of the array follow one another, and so do waves.
bool follow_one_another(const PlacedDiagram& placed, const Crossing& c, const std::vector<AxisId>& axes) {
  const auto& own = placed.axes_of(c);
  bool shared = false;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    if (placed.block().groups_of[at(axes[i])] <= Count(1)) continue;
    const bool has = std::find(own.begin(), own.end(), axes[i]) != own.end();
    if (has && shared) return false;
    shared = !has;
  }
  return true;
}

/// The number of planes that all waves touch, repeats included; the probability that a plane's piece is evicted before
/// the next wave reaches the same point.
struct PlanesAgain {
  double met = 0, gone = 1;
};
PlanesAgain planes_again(const PlacedDiagram& placed, const BlockSequence& sequence, double running, double waves) {
  const double rows = static_cast<double>(sequence.rows()), planes = static_cast<double>(sequence.planes()),
               section = static_cast<double>(sequence.section());
  PlanesAgain out{waves * std::min(running, planes)};
  if (sequence.order() == BlockOrder::hilbert || sequence.order() == BlockOrder::grouped) return out;
  out.met = std::min(out.met, section * (std::ceil(planes / section) + waves - 1));  // the end of a wave cuts a section
  if (section > 1) return out;
  const L2Model l2 = l2_model(*placed.machine);
  const Touches touched = touches_of(placed, sequence.axes(), l2);
  const double wide = std::min(planes, std::ceil((running - 1) / rows) + 1);
  out.gone = chance_gone(l2, touched.plane, wide * touched.plane + running * (touched.row + touched.own));
  return out;
}

}  // namespace

double reread_at_most(const PlacedDiagram& placed, Count blocks_a_node) {
  const auto& stream = placed.streamed->stream;
  const bool masked = placed.problem->mask.kind != Mask::Kind::none && placed.streamed->skips,
             divided = stream && placed.block().groups_of[at(*stream)] > Count(1);
  if (!placed.packed.empty() || masked || divided) return std::numeric_limits<double>::infinity();
  const BlockSequence sequence(placed);
  const std::vector<AxisId>& axes = sequence.axes();
  const double running = std::min(real(blocks_at_a_time(placed, blocks_a_node)), real(placed.blocks)),
               blocks = static_cast<double>(sequence.size()), waves = std::ceil(blocks / running);
  const PlanesAgain again = planes_again(placed, sequence, running, waves);
  double bytes = 0;
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level || c.auxiliary >= 0 || c.store || placed.in_parts(c)) continue;
    double each = bytes_per_value(c.type), all = each;
    for (const AxisId axis : placed.axes_of(c)) {
      const double size = real(placed.problem->sizes[at(axis)]);
      each *= std::find(axes.begin(), axes.end(), axis) != axes.end() ? real(placed.block().extent[at(axis)]) : size;
      all *= size;
    }
    const auto [row, plane] = differs(placed, c, axes);
    const double met = row && plane ? blocks
                       : row        ? waves * std::min(running, static_cast<double>(sequence.rows()))
                       : plane      ? again.met
                                    : waves;
    bytes += std::max(met * each - all, 0.0) * (!row && follow_one_another(placed, c, axes) ? again.gone : 1);
  }
  return bytes;
}

double reread_by_waves(const PlacedDiagram& placed) {
  Waves waves;
  waves.l2 = l2_model(*placed.machine);
  if (waves.l2.bytes <= 0 || !placed.packed.empty() || placed.problem->mask.kind != Mask::Kind::none) return 0;
  const BlockSequence sequence(placed);
  if (sequence.axes().size() < 2) return 0;
  if (permutes_axes(placed)) return real(reread_bytes(placed, Count(1)).value);
  const double cluster = std::max(real(placed.cluster), 1.0);
  waves.bytes = touches_of(placed, sequence.axes(), waves.l2);
  waves.rows = static_cast<double>(sequence.size() / sequence.planes()) / cluster;
  waves.planes = static_cast<double>(sequence.planes());
  waves.running = std::min(std::floor(real(placed.machine->compute_nodes()) / cluster), waves.rows * waves.planes);
  if (sequence.order() == BlockOrder::hilbert) return reread_along_hilbert(waves);
  const bool grouped = sequence.order() == BlockOrder::grouped;
  return reread_by_sections(waves,
                            grouped ? std::min(static_cast<double>(sequence.section()), waves.rows) : waves.rows);
}

}  // namespace napkin::internal
