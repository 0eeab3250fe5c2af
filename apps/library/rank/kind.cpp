#include "apps/library/rank/kind.hpp"

#include <algorithm>

#include "model/base/library.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/mapping/table_rows.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

/// Factor by which device memory takes longer than the products from which on a call is decode or few_rows.
constexpr double twice = 2;
/// Share of a call's time for launch, fills and drains from which on the call is short.
constexpr double good_part = 0.25;

/// Returns the time of device memory's least bytes over the time of the contractions.
double memory_over_products(const Prediction& least) {
  const auto of = [&](bool tensor) {
    const auto found = std::find_if(least.pipes.begin(), least.pipes.end(),
                                    [&](const PipeUse& pipe) { return (pipe.name == "tensor") == tensor; });
    return found == least.pipes.end() ? 0 : found->busy;
  };
  return of(false) / std::max(of(true), 1e-9);
}

Regime regime_of(const PlacedDiagram& placed, const Prediction& prediction) {
  const auto least = least_time(placed);
  if (least && memory_over_products(*least) >= twice)
    return work(placed).exponentials > Count(0) ? Regime::decode : Regime::few_rows;
  const double launch = launch_overhead(*placed.machine).value, time = prediction.time.value;
  return launch + prediction.ends * (time - launch) >= good_part * time ? Regime::short_call : Regime::many_waves;
}

}  // namespace

PredictionKind kind_of(const Question& question, const Setup& setup, const PlacedDiagram& placed,
                       const Prediction& prediction) {
  PredictionKind out;
  out.kernel = setup.ideal ? "" : setup.mapping->name;
  out.algorithm = question.diagram->name;
  out.architecture = question.machine->architecture, out.gpu = question.machine->name;
  out.regime = regime_of(placed, prediction);
  out.by_graph = !prediction.at_least;
  out.burst = question.ask.conditions.load.kind == CardLoad::Kind::burst;
  out.counted = settings_without_row(*placed.mapping, placed.tile).empty();
  out.own_mapping = names_file(question.ask.kernel), out.own_machine = names_file(question.ask.gpu);
  return out;
}

}  // namespace napkin::internal
