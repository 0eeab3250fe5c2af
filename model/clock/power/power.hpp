#pragma once
// held_clock finds the clock that a card holds under a load, 1,410 MHz of 1,980 say: at its power limit the clock is an
// outcome. (model/README.md, "Time: power")
//
//   power(f) = idle + tree (f / f0)^(1 + n) + (E_core (f / f0)^n + E_device) / (cycles / f),   f0 = 1.5 GHz
//   f        = the largest clock up to the highest with power(f) <= limit
//
// n (`energy_exponent`): what the voltage that goes with the clock adds to the energy of an operation.

#include <optional>

#include "model/clock/launch/launch.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The joules of a launch at f0.
struct Energy {
  double core = 0;    ///< tensor operations, warp instructions, bytes from and to the L2
  double device = 0;  ///< bytes to and from device memory
};

/// The bytes that a block gets from the L2, requested by its own SM, or by one SM of its cluster for all (multicast).
struct L2Bytes {
  double asked = 0, multicast = 0;
};

/// The joules of an operation, instruction or byte of each kind, at f0. A byte from the L2 takes `l2` if all
/// neighbouring SMs share it, and `alone` more if it is for one SM.
struct EnergyRates {
  bool known = false;
  double flop_16bit = 0, flop_8bit = 0, instruction = 0, l2 = 0, alone = 0, multicast = 0, device = 0;
  double flop_synchronous = 0;  ///< joules of a FLOP of tensor instructions with operands and results in registers; 0:
                                ///< as for the other instructions
  double shared = 0;            ///< joules of a byte that threads load for them from the block's memory
  [[nodiscard]] double of_l2(const L2Bytes& bytes, double share_alone = 1) const {
    return bytes.asked * (l2 + share_alone * alone) + bytes.multicast * multicast;
  }
  /// Returns the joules of one FLOP of that tensor instruction.
  [[nodiscard]] double of_flop(const TensorInstruction& tensor) const;
};
/// Returns a machine's rates. `known` is not set: it depends on the kernel which rates are needed.
[[nodiscard]] EnergyRates energy_rates(const Machine& machine);
[[nodiscard]] EnergyRates energy_rates(const PlacedDiagram& placed);

/// Returns the card's energies over its product's, as `napkin calibrate --power` measured them; 1 if it did not.
[[nodiscard]] double energy_of_card(const Machine& machine);

/// The energy of a block at f0: tensor operations, warp instructions and bytes of an iteration and of its ends, with
/// surcharges for cut chunks and for unshared bytes. It does not depend on the lengths of grouped or streamed axes.
struct BlockEnergy {
  double iteration = 0, once = 0, cut = 0, alone = 0;
  /// Returns the joules of all blocks; `share_alone` of their bytes are unshared, by default the least possible share.
  [[nodiscard]] double of(const LaunchShape& shape) const { return of(shape, shape.alone.least); }
  [[nodiscard]] double of(const LaunchShape& shape, double share_alone) const {
    return (iteration + alone * share_alone) * shape.who.total_iterations +
           (once + cut * shape.cut.all()) * shape.who.total_blocks;
  }
};
[[nodiscard]] BlockEnergy block_energy(const PlacedDiagram& placed, const EventGraph& graph, const EnergyRates& rates);

/// Returns the energy of all blocks; `device_bytes` come from device_bytes_in_order().
[[nodiscard]] Energy energy_of(const PlacedDiagram& placed, const BlockEnergy& block, const EnergyRates& rates,
                               const LaunchShape& shape, double device_bytes);
/// Returns the energy of the launch; nothing if the profile has no energies.
[[nodiscard]] std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph);
[[nodiscard]] std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph,
                                              const LaunchShape& shape);

/// Returns the bytes between the L2 and a block, a multicast's copy included, in whole granules a box row: those of an
/// iteration of the loop, else those of head and tail.
[[nodiscard]] L2Bytes l2_bytes(const PlacedDiagram& placed, Phase phase);

/// Returns the bytes to and from device memory of a repeated launch; 0 if the L2 holds every array.
[[nodiscard]] double device_bytes(const PlacedDiagram& placed);
/// Returns device_bytes() and the re-reads that the order of the blocks causes. (resource/reuse)
[[nodiscard]] double device_bytes_in_order(const PlacedDiagram& placed);

/// Returns the highest SM clock under matrix load, which is below the card's reported clock since voltage droops; the
/// profile's maximum if it was not measured.
[[nodiscard]] Hertz highest_clock(const Machine& machine);

/// The clock that a card holds, and its power: the mean from one launch to the next.
struct HeldClock {
  Hertz clock;
  Watts power;
};
[[nodiscard]] HeldClock held_clock(const Machine& machine, const Energy& energy, double cycles);

/// The machine's constants in the power equation (16.1), looked up once.
struct PowerLaw {
  double idle = 0, tree = 0;  ///< watts when idle, and of the clock tree at f0
  double limit = 0;           ///< watts; 0: none is known
  double highest = 0;         ///< Hz
  double gap = 0;             ///< clocks at the highest between two launches
  double exponent = 1;        ///< n
};
[[nodiscard]] PowerLaw power_law(const Machine& machine);
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles);
/// Finds the clock of a launch that takes `least` or longer at any clock, for device memory. Its energy is spread over
/// that time.
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles, Seconds least);
/// Returns an upper bound of held_clock().clock, in a few nanoseconds: the clock at which the power's tangent at f0
/// meets the limit.
[[nodiscard]] Hertz clock_at_most(const PowerLaw& law, const Energy& energy, double cycles);
/// Returns true if the cycles may take that time: at the clock that they then need, the card stays within its power
/// limit. Cheaper than held_clock().
[[nodiscard]] bool may_end_within(const PowerLaw& law, const Energy& energy, double cycles, Seconds time);
/// The prediction of a call by the event graph: cycles on the busiest node, the clock that the card holds, launch
/// overhead. Without energies in the profile: the assumed clock, and no power.
struct GraphPrediction {
  double cycles = 0;
  Hertz clock;
  std::optional<Watts> power;
  Seconds time;
};
[[nodiscard]] GraphPrediction predict_by_graph(const PlacedDiagram& placed, const EventGraph& graph,
                                               const Period& period);

}  // namespace napkin::internal
