#pragma once
// kind_of returns the kind of a prediction, which its band depends on: attention_sm90 on h200-sxm by the event graph,
// of many waves. Internal to apps/.

#include "apps/library/question/request.hpp"
#include "model/clock/prediction.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/bands.hpp"

namespace napkin {

[[nodiscard]] PredictionKind kind_of(const Request& request, const Layout& layout, const PlacedDiagram& placed,
                                     const Prediction& prediction);

}  // namespace napkin
