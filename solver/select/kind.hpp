#pragma once
// A kind of question is a set of questions that share a table: attention_sm90 on an H200 at d = 128 under a causal
// mask, whatever the lengths.

#include <string>

#include "solver/space/question.hpp"

namespace napkin {

/// Returns the key of a question's kind, beside its diagram, mapping and machine: cost of its element type, kind of
/// mask, sizes that no block divides, and domains that differ from the mapping's.
[[nodiscard]] std::string kind_of(const Question& question);

/// Returns true if a tile's extents follow from the question's lengths (an axis cut into so many parts), so that a
/// table serves a single shape.
[[nodiscard]] bool serves_one_shape(const Mapping& mapping);

}  // namespace napkin
