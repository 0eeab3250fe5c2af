#pragma once
// vocabulary_of() chooses the words of a machine's makers.

#include "model/machine/machine.hpp"
#include "model/machine/vocabulary.hpp"

namespace napkin::internal {

[[nodiscard]] Vocabulary vocabulary_of(const Machine& machine);

}  // namespace napkin::internal
