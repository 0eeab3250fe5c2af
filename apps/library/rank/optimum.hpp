#pragma once
// add_optimum computes the least transfers into the level of a block: in closed form, 2 q d + 4 q x d^2 / M, and in
// whole numbers under all constraints. Internal to apps/.

#include "apps/library/question/question.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Fills `formula` and `optimum` of a query's answer.
void add_optimum(const Question& question, const Setup& setup, const PlacedDiagram& placed, QueryAnswer& answer);

/// Finds the exact optimum of all grouped and streamed axes' sizes on the abstract machine, with the given ones fixed
/// (streams: 1 unless given); groups of 1 if not even these fit.
[[nodiscard]] NamedSizes integer_groups(const Question& question, const Streamed& streamed, const NamedSizes& fixed);

}  // namespace napkin::internal
