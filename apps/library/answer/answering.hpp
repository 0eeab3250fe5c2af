#pragma once
// These functions make an answer of a request: select_answer ranks the tiles and evaluates the best one, query_answer
// evaluates the tile that is asked about. A Session keeps what they return. Internal to apps/.

#include "apps/library/question/request.hpp"
#include "napkin/answers.hpp"
#include "napkin/sensitivity.hpp"

namespace napkin {

[[nodiscard]] QueryAnswer query_answer(const Request& request);
[[nodiscard]] SelectAnswer select_answer(Request request, int top);
[[nodiscard]] SensitivityAnswer sensitivity_answer(const Request& request);

}  // namespace napkin
