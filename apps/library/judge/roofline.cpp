#include "apps/library/judge/roofline.hpp"

#include "apps/library/judge/replay.hpp"
#include "apps/library/rank/evaluate.hpp"

namespace napkin::internal {
namespace {

RooflineTile tile_at(const TileValues& tile, const PredictedAnswer& predicted, double flops,
                     const std::vector<LevelAnswer>& levels) {
  RooflineTile out{tile, predicted.tflops * 1e12, {}};
  for (const LevelAnswer& level : levels) {
    if (level.transfer > 0 && level.bandwidth)
      out.points.push_back({level.name, flops / static_cast<double>(level.transfer)});
  }
  return out;
}

}  // namespace

RooflineAnswer roofline_of(const Question& question, const Setup& setup, const QueryAnswer& answer,
                           const std::vector<AlternativeAnswer>& runners) {
  const PredictedAnswer& predicted = answer.predicted.value();
  const double flops = static_cast<double>(answer.work.flops);
  RooflineAnswer out;
  out.clock = predicted.clock;
  if (const TensorInstruction* instruction = question.machine->tensor_for(question.problem.dtype)) {
    out.instruction = instruction->name;
    out.peak = peak_flops(*question.machine, *instruction, Hertz(predicted.clock));
  }
  for (const LevelAnswer& level : answer.levels) {
    if (level.bandwidth && level.transfer > 0) out.slopes.push_back({level.name, *level.bandwidth});
  }
  out.tiles.push_back(tile_at(answer.head.tile, predicted, flops, answer.levels));
  for (const AlternativeAnswer& runner : runners) {
    const Placement placement = place(placer_of(setup), tile_of(*setup.mapping, runner.tile));
    const PredictedAnswer& one = runner.predicted;
    out.tiles.push_back(tile_at(runner.tile, one, flops, levels_of(placement.placed, Hertz(one.clock), Rereads::none)));
  }
  return out;
}

}  // namespace napkin::internal
