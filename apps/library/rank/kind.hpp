#pragma once
// kind_of returns the kind of a prediction, which its band depends on: attention_sm90 on h200-sxm by the event graph,
// of many waves. Internal to apps/.

#include "apps/library/question/question.hpp"
#include "model/clock/prediction.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/bands.hpp"

namespace napkin::internal {

[[nodiscard]] PredictionKind kind_of(const Question& question, const Setup& setup, const PlacedDiagram& placed,
                                     const Prediction& prediction);

}  // namespace napkin::internal
