#pragma once
// The time of one variant's tiles, as values: what time.cpp's predictions are made of. Internal to clock/.

#include <memory>
#include <optional>
#include <string_view>

#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {

/// A pipe of the machine that all nodes share.
struct SharedPipe {
  const Pipe* pipe = nullptr;
  double rate = 0;  // bytes a second
  [[nodiscard]] double seconds(double bytes) const { return rate > 0 ? bytes / rate : 0; }
  [[nodiscard]] double latency() const { return pipe != nullptr && pipe->latency ? pipe->latency->value : 0; }
  [[nodiscard]] std::string_view name() const { return pipe != nullptr ? pipe->name : std::string_view(); }
};

/// The one that device memory's bytes pass.
[[nodiscard]] SharedPipe device_pipe(const PlacedDiagram& placed, Hertz clock);

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

/// The time model of one variant and problem: what their tiles share is found once.
struct TimeModel {
  /// Without periods: the first clock.
  TimeModel(const PlacedDiagram& placed, std::shared_ptr<Periods> periods);
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph* known = nullptr) const;
  /// With what device memory sends a second time because the L2 no longer holds it. (resource/reuse)
  void read_again(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing) const;
  /// Whether it could take longest: if all that blocks load came from device memory.
  [[nodiscard]] bool may_bind(const Timing& timing) const;
  [[nodiscard]] Seconds with_launch(const Timing& timing) const {
    return Seconds(timing.seconds + timing.meeting / timing.clock.value) + launch;
  }

  AssumedClock clock;
  Workload workload;
  SharedPipe into_block, device;   // the first is empty where they are one
  const Pipe* exchange = nullptr;  // among the blocks of a cluster
  double compulsory = 0;           // bytes
  double nodes = 1;
  EnergyRates rates;
  PowerLaw power;
  Seconds launch;
  std::shared_ptr<Periods> periods;
  bool by_graph = false;

 private:
  void first_clock(Count blocks_per_node, Timing& timing) const;
  void hold_clock(Timing& timing) const;
  void event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph& known, Timing& timing) const;
  [[nodiscard]] SharedSeconds shared_seconds(const PlacedDiagram& placed, const Timing& timing) const;
  [[nodiscard]] double exposed_clocks(const Timing& timing, Count blocks_per_node) const;
};

/// Clocks that a pipe of the busiest node works.
[[nodiscard]] double busy_clocks(const PipeLoad& pipe, const Schedule& who);

}  // namespace napkin
