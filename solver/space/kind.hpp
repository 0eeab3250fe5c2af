#pragma once
// A kind of question is a set of questions that share a table: attention_sm90 on an H200 at d = 128 under a causal
// mask, whatever the lengths.

#include <string>

#include "solver/space/setup.hpp"

namespace napkin::internal {

/// Returns the key of a question's kind, beside its diagram, mapping and machine: cost of its element type, kind of
/// mask, sizes that no block divides, and domains that differ from the mapping's.
[[nodiscard]] std::string kind_of(const Setup& setup);

/// Returns true if blocks cut the streamed axis into so many parts, whose extents follow from the question's lengths.
[[nodiscard]] bool cuts_into_parts(const Mapping& mapping);

}  // namespace napkin::internal
