#pragma once
// A TimeModel turns one placed tile into seconds: 781 us for 128 x 128 tiles of attention on an H200. It keeps what all
// tiles of one variant of a mapping share, so that a selection times thousands of tiles by one model.

#include <optional>
#include <string_view>

#include "model/clock/launch/device_time.hpp"
#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/shared_pipe.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {

/// The fullest pipe's seconds and name.
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

/// The seconds of the pipes that nodes share.
struct SharedSeconds {
  double into_block = 0, device = 0, exchange = 0;
};

struct Timing {
  BlockLoad load;
  Schedule who;
  SharedSeconds shared = {};
  Fullest fullest = {};
  double seconds = 0;  // seconds without the launch overhead
  Hertz clock;
  std::optional<Watts> power = {};
  double cycles = 0;   // clocks by the event graph
  double meeting = 0;  // clocks after the last block's end, until its cluster may leave
  std::optional<Energy> energy = {};
  DeviceTime device = {};  // waves of the launch, if the event graph is known
};

/// The results of a tile's event graph, and of its launch at a question's lengths.
struct KnownLaunch {
  const Period& period;
  const BlockEnergy& energy;
  const LaunchShape& shape;
  LaunchClocks clocks;
  double device_bytes;  ///< result of device_bytes_in_order()
};

/// The time model of a problem and a mapping's variant, which is a choice of its alternatives.
struct TimeModel {
  /// Prepares predictions. `wanted` may be the graph only if has_event_graph(placed), which the caller has checked.
  TimeModel(const PlacedDiagram& placed, ByClock wanted);
  /// Times a placement by the roofline, or by a known graph and launch.
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch* known = nullptr) const;
  /// Times a placement by its graph.
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const EventGraph& graph,
                          const Period& period) const;
  /// Adds bytes that device memory sends again because the L2 has evicted them. (resource/reuse)
  void read_again(const PlacedDiagram& placed, double bytes, Timing& timing) const;
  /// Adds re-reads if they cost more than 0.1 % of the time; smaller ones are only bounded, since a count takes longer
  /// than the rest of a prediction. The seconds are infinite if `known` may simulate no further launch.
  void notice_rereads(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing, KnownRereads& known) const;
  /// Returns the launch's seconds if its bytes keep device memory busy for so many.
  [[nodiscard]] double device_seconds(const Timing& timing, double busy) const {
    return timing.device.seconds(busy, timing.clock.value);
  }
  /// Returns true if device memory could be the slowest pipe if all loads came from it.
  [[nodiscard]] bool may_bind(const Timing& timing) const;
  /// Returns the timing at that clock, whatever the power, with its re-reads.
  [[nodiscard]] Timing at(const PlacedDiagram& placed, Count blocks_per_node, Timing timing, Hertz clock) const;
  [[nodiscard]] Seconds with_launch(const Timing& timing) const {
    return Seconds(timing.seconds + timing.meeting / timing.clock.value) + launch;
  }
  /// Returns the seconds of a launch that device memory alone limits, than which none is shorter but by rounding: to
  /// the last digit where a DeviceTime has no waves, as of a packed batch.
  [[nodiscard]] Seconds device_at_least() const { return Seconds(device.seconds(compulsory)) + launch; }
  /// Makes the prediction of a timing. `period` comes from period(graph, true); nullptr without an event graph.
  [[nodiscard]] Prediction explained(const PlacedDiagram& placed, const Timing& timing, const Period* period) const;

  AssumedClock clock;
  Workload workload;
  SharedPipe into_block, device;   // into_block is empty if both are the same pipe
  const Pipe* exchange = nullptr;  // pipe between the blocks of a cluster
  double compulsory = 0;           // bytes
  bool from_device = false;        // true if the L2 does not keep them from launch to launch
  double nodes = 1;
  EnergyRates rates;
  PowerLaw power;
  Seconds launch;
  bool by_graph = false;

 private:
  void roofline_time(Count blocks_per_node, Timing& timing) const;
  void hold_clock(Timing& timing) const;
  /// Makes the launch as long as device memory takes, which limits it only if more bandwidth would make it shorter.
  void wait_for_device(Timing& timing) const;
  void synchronise(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing) const;
  void event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch& known, Timing& timing) const;
  [[nodiscard]] Fullest fullest_of(const BlockLoad& load, const Schedule& who, const SharedSeconds& shared) const;
  [[nodiscard]] SharedSeconds shared_seconds(const PlacedDiagram& placed, const Timing& timing) const;
  [[nodiscard]] double first_chunk(const Timing& timing) const;
  [[nodiscard]] double exposed_clocks(const Timing& timing, Count blocks_per_node) const;
};

/// Returns the clocks that a pipe of the busiest node works.
[[nodiscard]] double busy_clocks(const PipeLoad& pipe, const Schedule& who);

}  // namespace napkin::internal
