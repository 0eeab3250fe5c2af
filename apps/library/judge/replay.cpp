#include "apps/library/judge/replay.hpp"

#include <algorithm>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/kind.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/clock/prediction.hpp"
#include "model/machine/numbers.hpp"
#include "napkin/napkin.hpp"
#include "solver/select/select.hpp"
#include "solver/select/tie.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {
namespace {

Ask ask_of(const Head& head) {
  if (!head.gpu) throw Error("gpu", "is null", "the profile that the row was predicted with");
  if (!head.kernel) throw Error("kernel", "is null", "the kernel that was measured");
  Ask ask;
  ask.algorithm = head.algorithm;
  ask.gpu = *head.gpu;
  ask.kernel = *head.kernel;
  ask.dtype = head.dtype;
  ask.mask = head.mask;
  ask.shape = head.shape;
  ask.lengths = head.lengths;
  ask.conditions = head.conditions;
  return ask;
}

std::vector<std::int64_t> preference_of(const Mapping& mapping, const Tile& tile, Count into_blocks) {
  std::vector<std::int64_t> out{into_blocks.get()};
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const auto& domain = mapping.knobs[i].domain;
    out.push_back(std::find(domain.begin(), domain.end(), tile.values[i]) - domain.begin());
  }
  return out;
}

}  // namespace

void leave_out_fitted(Machine& machine) {
  const auto all = machine.fitted;
  for (const auto& each : all) switch_off(machine, each.first);
}

std::unique_ptr<Measurable> measurable_of(const Ask& ask, const Edit& edit) {
  auto out = std::make_unique<Measurable>(Measurable{question_of(default_session(), ask), nullptr, nullptr});
  if (edit) {
    auto machine = std::make_shared<Machine>(*out->question.machine);
    edit(*machine);
    out->question.machine = std::move(machine);
    for (Setup& setup : out->question.setups) setup = on_machine(setup, out->question.machine);
  }
  out->setup = &out->question.setups.front();
  out->placer = std::make_unique<Placer>(placer_of(*out->setup));
  return out;
}

Tile tile_of(const Mapping& mapping, const TileValues& values) {
  Tile tile;
  for (const Knob& knob : mapping.knobs) {
    const auto value =
        std::find_if(values.begin(), values.end(), [&](const KnobValue& v) { return v.name == knob.name; });
    if (value == values.end() && knob.before) {
      tile.values.push_back(*knob.before);
      continue;
    }
    if (value == values.end()) throw Error("tile", "has no " + knob.name, "every knob of " + mapping.name);
    tile.values.push_back(parse_knob(knob, value->word.empty() ? std::to_string(value->number) : value->word, "tile"));
  }
  for (const KnobValue& value : values) {
    if (!mapping.find_knob(value.name))
      throw Error("tile", in_quotes(value.name) + " is no knob of " + mapping.name, "leave it out");
  }
  return tile;
}

TilePrediction predict_tile(const Measurable& measurable, const Tile& tile, Rereads rereads) {
  const Placement placement = place(*measurable.placer, tile);
  const Prediction prediction = measurable.setup->workspace->predicted(placement.placed);
  return {answer_of(prediction), levels_of(placement.placed, prediction.clock, rereads), placement.violations.empty(),
          bytes_into_blocks(placement.placed),
          kind_of(measurable.question, *measurable.setup, placement.placed, prediction)};
}

ScoredRow Replay::operator()(const ValidationRow& row) {
  auto& question = questions_[question_key(row.head)];
  if (question == nullptr) question = measurable_of(ask_of(row.head), edit_);
  const Tile tile = tile_of(*question->setup->mapping, row.head.tile);
  TilePrediction today = predict_tile(*question, tile, Rereads::none);
  return {&row,
          std::move(today.predicted),
          std::move(today.levels),
          preference_of(*question->setup->mapping, tile, today.into_blocks),
          today.legal,
          std::move(today.kind)};
}

}  // namespace napkin::internal
