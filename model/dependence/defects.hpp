#pragma once
// find_defects checks the claims that a nest's author makes: "parallel: [i, d]" and "same_as: attention_reference" are
// checked, and a claim that does not hold is a defect.

#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

struct Defect {
  std::string text;
};

/// Lists the defects of a nest: loops claimed parallel that are not, even with temporaries of their own in each
/// iteration; and outputs that differ from those of the nest `same_as` on equal arbitrary values (by more than 1e-9 of
/// the larger, or in shape). Throws Error if that nest cannot be loaded.
[[nodiscard]] std::vector<Defect> find_defects(const Nest& nest);

}  // namespace napkin::internal::dependence
