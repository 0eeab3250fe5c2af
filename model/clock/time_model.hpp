#pragma once
// A TimeModel turns one placed tile into seconds: 781 us for 128 x 128 tiles of attention on an H200. It keeps what all
// tiles of one variant of a mapping share, so that a selection times thousands of tiles by one model.

#include <optional>
#include <string_view>

#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/shared_pipe.hpp"
#include "model/resource/reuse.hpp"

namespace napkin {

/// The fullest pipe's seconds, and its name.
struct Fullest {
  double seconds = 0;
  std::string_view name = "none";
  void with(std::string_view pipe, double busy) {
    if (busy > seconds) {
      seconds = busy;
      name = pipe;
    }
  }
};

/// Seconds of the pipes that nodes share.
struct SharedSeconds {
  double into_block = 0, device = 0, exchange = 0;
};

struct Timing {
  BlockLoad load;
  Schedule who;
  SharedSeconds shared = {};
  Fullest fullest = {};
  double seconds = 0;  // without the launch
  Hertz clock;
  std::optional<Watts> power = {};
  double cycles = 0;   // by the graph
  double meeting = 0;  // clocks behind the last block's end, until its cluster may leave
  std::optional<Energy> energy = {};
};

/// What the event graph says of a tile, and its launch at a question's lengths.
struct KnownLaunch {
  const Period& period;
  const BlockEnergy& energy;
  const LaunchShape& shape;
  LaunchClocks clocks;
  double device_bytes;  ///< device_bytes_in_order()
};

/// What tells the kinds of prediction apart: the event graph's and the roofline's.
enum class ByClock { graph, roofline };

/// The time model of one variant and problem.
struct TimeModel {
  /// By the graph only where has_event_graph(placed), which the caller has asked.
  TimeModel(const PlacedDiagram& placed, ByClock wanted);
  /// By the roofline, or by a graph and a launch that are known.
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch* known = nullptr) const;
  /// By the tile's graph.
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const EventGraph& graph,
                          const Period& period) const;
  /// With so many bytes that device memory sends a second time because the L2 no longer holds them. (resource/reuse)
  void read_again(const PlacedDiagram& placed, double bytes, Timing& timing) const;
  /// With those of this launch, where they cost more than a thousandth of the time: to count less takes longer than
  /// all else. Infinite seconds where `known` acts out no further launch.
  void notice_rereads(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing, KnownRereads& known) const;
  /// Whether device memory could take longest: if all that blocks load came from it.
  [[nodiscard]] bool may_bind(const Timing& timing) const;
  /// The timing at that clock, whatever the power. What device memory sends again stays in it.
  [[nodiscard]] Timing at(const PlacedDiagram& placed, Count blocks_per_node, Timing timing, Hertz clock) const;
  [[nodiscard]] Seconds with_launch(const Timing& timing) const {
    return Seconds(timing.seconds + timing.meeting / timing.clock.value) + launch;
  }
  /// Prediction of a timing; `period`: explained, of a tile that has an event graph, else none.
  [[nodiscard]] Prediction explained(const PlacedDiagram& placed, const Timing& timing, const Period* period) const;

  AssumedClock clock;
  Workload workload;
  SharedPipe into_block, device;   // the first is empty where they are one
  const Pipe* exchange = nullptr;  // among the blocks of a cluster
  double compulsory = 0;           // bytes
  double nodes = 1;
  EnergyRates rates;
  PowerLaw power;
  Seconds launch;
  bool by_graph = false;

 private:
  void roofline_time(Count blocks_per_node, Timing& timing) const;
  void hold_clock(Timing& timing) const;
  void synchronise(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing) const;
  void event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch& known, Timing& timing) const;
  [[nodiscard]] Fullest fullest_of(const BlockLoad& load, const Schedule& who, const SharedSeconds& shared) const;
  [[nodiscard]] SharedSeconds shared_seconds(const PlacedDiagram& placed, const Timing& timing) const;
  [[nodiscard]] double exposed_clocks(const Timing& timing, Count blocks_per_node) const;
};

/// Clocks that a pipe of the busiest node works.
[[nodiscard]] double busy_clocks(const PipeLoad& pipe, const Schedule& who);

}  // namespace napkin
