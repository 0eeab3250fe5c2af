#pragma once
// These functions turn a question into an answer: select_answer ranks the tiles and evaluates the best one,
// query_answer evaluates the tile that is asked about. A Session keeps what they return. Internal to apps/.

#include "apps/library/question/question.hpp"
#include "napkin/answers.hpp"
#include "napkin/need.hpp"
#include "napkin/sensitivity.hpp"
#include "napkin/step.hpp"

namespace napkin {
class Session;
}

namespace napkin::internal {

[[nodiscard]] QueryAnswer query_answer(const Question& question, AnswerParts parts);
[[nodiscard]] SelectAnswer select_answer(const Question& question, int top, AnswerParts parts);
[[nodiscard]] SensitivityAnswer sensitivity_answer(const Question& question);
[[nodiscard]] NeedAnswer need_answer(const Question& question, const NeedAsk& ask);

struct Island;

/// Predicts a model's step. `machine` is one GPU under the question's conditions; `island` joins several, nullptr for a
/// single GPU.
[[nodiscard]] StepAnswer step_answer(const Session& session, const StepAsk& ask, const Machine& machine,
                                     const Island* island);

}  // namespace napkin::internal
