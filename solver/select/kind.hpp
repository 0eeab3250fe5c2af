#pragma once
// A kind of question is what a table serves: attention_sm90 on an H200 at d = 128 under a causal mask, whatever the
// lengths.

#include <string>

#include "solver/space/question.hpp"

namespace napkin {

/// The kind of a question as a key, beside its diagram, mapping and machine: what its element type costs, kind of mask,
/// the sizes that no block divides, and domains that differ from the mapping's.
[[nodiscard]] std::string kind_of(const Question& question);

/// Whether a tile's extents follow from the question's lengths, an axis cut into so many parts: then a table serves
/// questions of one shape alone.
[[nodiscard]] bool serves_one_shape(const Mapping& mapping);

}  // namespace napkin
