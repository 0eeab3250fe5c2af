#include "model/clock/timed_launch.hpp"

#include "model/clock/run/period.hpp"
#include "model/clock/time_model.hpp"

namespace napkin::internal {

struct TimedLaunch::State {
  const PlacedDiagram& placed;
  const Plan& plan;
  EventGraph graph;
  Period period;
  TimeModel model;
  Timing timing;

  State(const PlacedDiagram& of, const Plan& with)
      : placed(of),
        plan(with),
        graph(event_graph(of)),
        period(internal::period(graph)),
        model(of, ByClock::graph),
        timing(model.of(of, with.blocks_per_sm, graph, period)) {
    KnownRereads known;
    model.notice_rereads(placed, plan.blocks_per_sm, timing, known);
  }
};

TimedLaunch::TimedLaunch(const PlacedDiagram& placed, const Plan& plan)
    : state_(std::make_unique<State>(placed, plan)) {}
TimedLaunch::~TimedLaunch() = default;
TimedLaunch::TimedLaunch(TimedLaunch&&) noexcept = default;

std::optional<Energy> TimedLaunch::energy() const {
  std::optional<Energy> out = state_->timing.energy;
  if (out && device_bytes(state_->placed) == 0) out->device += state_->model.compulsory * state_->model.rates.device;
  return out;
}

Seconds TimedLaunch::time(Hertz clock) const {
  const State& s = *state_;
  return s.model.with_launch(s.model.at(s.placed, s.plan.blocks_per_sm, s.timing, clock));
}

Prediction TimedLaunch::at(Hertz clock) const {
  const State& s = *state_;
  Timing timing = s.model.at(s.placed, s.plan.blocks_per_sm, s.timing, clock);
  timing.power.reset();
  return s.model.explained(s.placed, timing, &s.period);
}

}  // namespace napkin::internal
