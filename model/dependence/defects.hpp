#pragma once
// find_defects holds a nest to what its author claims of it: "parallel: [i, d]" and "same_as: attention_reference" are
// checked, and what does not hold is a defect.

#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::dependence {

struct Defect {
  std::string text;
};

/// Loops that are claimed parallel and are not, even with temporaries of their own in each iteration; then outputs that
/// differ from those of the nest that is named by same_as when both run on the same arbitrary values (by more than 1e-9
/// of the larger one, or in their shape). Throws Error where that nest cannot be loaded or one of the two cannot run.
[[nodiscard]] std::vector<Defect> find_defects(const Nest& nest);

}  // namespace napkin::dependence
