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

namespace napkin {

/// Joules of one launch at f0.
struct Energy {
  double core = 0;    ///< tensor operations, warp instructions, bytes from and to the L2
  double device = 0;  ///< bytes to and from device memory
};

/// Bytes that one block gets from the L2, asked for by its own SM or by one of its cluster for all (multicast).
struct L2Bytes {
  double asked = 0, multicast = 0;
};

/// Joules of one operation, instruction or byte of each kind, at f0. A byte from the L2 takes `l2` where all neighbours
/// have asked for it, and `alone` more where it comes for one SM alone.
struct EnergyRates {
  bool known = false;
  double flop_16bit = 0, flop_8bit = 0, instruction = 0, l2 = 0, alone = 0, multicast = 0, device = 0;
  double flop_synchronous = 0;  ///< of tensor instructions whose operands and results lie in registers; 0: as others
  double shared = 0;            ///< a byte that threads load for them from the block's memory
  [[nodiscard]] double of_l2(const L2Bytes& bytes, double share_alone = 1) const {
    return bytes.asked * (l2 + share_alone * alone) + bytes.multicast * multicast;
  }
  /// Of one FLOP of that tensor instruction.
  [[nodiscard]] double of_flop(const TensorInstruction& tensor) const;
};
[[nodiscard]] EnergyRates energy_rates(const PlacedDiagram& placed);

/// Joules of one block at f0: tensor operations, warp instructions and bytes of an iteration and of its ends, and what
/// an iteration takes more whose chunk is cut, and one whose bytes all come for its SM alone. Whatever the lengths of
/// the axes that blocks and chunks divide.
struct BlockEnergy {
  double iteration = 0, once = 0, cut = 0, alone = 0;
  /// `share_alone` of its bytes come for its SM alone; at least, where that is not said.
  [[nodiscard]] double of(const LaunchShape& shape) const { return of(shape, shape.alone.least); }
  [[nodiscard]] double of(const LaunchShape& shape, double share_alone) const {
    return (iteration + alone * share_alone) * shape.who.total_iterations +
           (once + cut * shape.cut.all()) * shape.who.total_blocks;
  }
};
[[nodiscard]] BlockEnergy block_energy(const PlacedDiagram& placed, const EventGraph& graph, const EnergyRates& rates);

/// Of all blocks, each of that energy; `device_bytes`: device_bytes_in_order().
[[nodiscard]] Energy energy_of(const PlacedDiagram& placed, const BlockEnergy& block, const EnergyRates& rates,
                               const LaunchShape& shape, double device_bytes);
/// None where the profile has no energies.
[[nodiscard]] std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph);
[[nodiscard]] std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph,
                                              const LaunchShape& shape);

/// Between the L2 and one block, its own copy of what is multicast, rows of a box as the L2 hands them out: in one
/// iteration of the loop, else in head and tail.
[[nodiscard]] L2Bytes l2_bytes(const PlacedDiagram& placed, Phase phase);

/// Bytes to and from device memory of a launch that is repeated: 0 where the L2 holds every array.
[[nodiscard]] double device_bytes(const PlacedDiagram& placed);
/// With those that the order of the blocks has it send again. (resource/reuse)
[[nodiscard]] double device_bytes_in_order(const PlacedDiagram& placed);

/// That no load of the matrix units exceeds: voltage droops under them, and the SMs count fewer clocks than the card's
/// clock says. Where that was not measured: the maximum.
[[nodiscard]] Hertz highest_clock(const Machine& machine);

/// Power is what the card takes on the mean from one launch to the next.
struct HeldClock {
  Hertz clock;
  Watts power;
};
[[nodiscard]] HeldClock held_clock(const Machine& machine, const Energy& energy, double cycles);

/// What of a machine decides it, by name looked up once.
struct PowerLaw {
  double idle = 0, tree = 0;  ///< watts; at f0
  double limit = 0;           ///< watts; 0: none is known
  double highest = 0;         ///< Hz
  double gap = 0;             ///< clocks at the highest between two launches
  double exponent = 1;        ///< n
};
[[nodiscard]] PowerLaw power_law(const Machine& machine);
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles);
/// Of a launch that takes `least` however fast the clock: what device memory takes. Its energy is spent over that time.
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles, Seconds least);
/// At least held_clock().clock: where the power's tangent at f0 meets the limit. Some nanoseconds.
[[nodiscard]] Hertz clock_at_most(const PowerLaw& law, const Energy& energy, double cycles);
/// Whether the card may hold the clock at which those cycles take that time: where it takes more than its limit at that
/// clock it holds less, and the cycles take longer. A part of held_clock()'s cost.
[[nodiscard]] bool may_end_within(const PowerLaw& law, const Energy& energy, double cycles, Seconds time);
/// One call by the event graph: its cycles on the busiest node, the clock that the card holds, launch overhead. Where
/// the profile has no energies: the assumed clock, and no power.
struct GraphPrediction {
  double cycles = 0;
  Hertz clock;
  std::optional<Watts> power;
  Seconds time;
};
[[nodiscard]] GraphPrediction predict_by_graph(const PlacedDiagram& placed, const EventGraph& graph,
                                               const Period& period);

}  // namespace napkin
