#pragma once
// A TimedLaunch is one placed tile's launch as a part of a longer run, whose clock the others decide with it: a layer's
// product takes 152 us at 1.385 GHz by itself, and less among launches that wait for memory.

#include <memory>
#include <optional>

#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {

class TimedLaunch {
 public:
  /// Times a tile that has an event graph (has_event_graph). `placed` and `plan` outlive it.
  TimedLaunch(const PlacedDiagram& placed, const Plan& plan);
  ~TimedLaunch();
  TimedLaunch(TimedLaunch&&) noexcept;
  TimedLaunch& operator=(TimedLaunch&&) = delete;

  /// Joules of the launch among others: nothing of it lies in the L2 when it begins, so that each of its bytes comes
  /// from device memory once. None where the machine has no energies.
  [[nodiscard]] std::optional<Energy> energy() const;
  /// From its start to that of a launch behind it.
  [[nodiscard]] Seconds time(Hertz clock) const;
  /// The prediction at that clock, without a power.
  [[nodiscard]] Prediction at(Hertz clock) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace napkin
