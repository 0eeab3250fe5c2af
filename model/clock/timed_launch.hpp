#pragma once
// A TimedLaunch is one placed tile's launch as a part of a longer run, whose clock the others decide with it: a layer's
// product takes 152 us at 1.385 GHz by itself, and less among launches that wait for memory.

#include <memory>
#include <optional>

#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin::internal {

class TimedLaunch {
 public:
  /// Prepares a tile that has an event graph (has_event_graph). `placed` and `plan` must outlive it.
  TimedLaunch(const PlacedDiagram& placed, const Plan& plan);
  ~TimedLaunch();
  TimedLaunch(TimedLaunch&&) noexcept;
  TimedLaunch& operator=(TimedLaunch&&) = delete;

  /// Returns the joules of the launch among others: no byte is in the L2 at its start, so each comes from device memory
  /// once. None if the machine has no energies.
  [[nodiscard]] std::optional<Energy> energy() const;
  /// Returns the time from its start to the start of the next launch.
  [[nodiscard]] Seconds time(Hertz clock) const;
  /// Predicts the launch at that clock, without a power.
  [[nodiscard]] Prediction at(Hertz clock) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace napkin::internal
