// setup_of() makes a Setup of parts that a test owns itself.
#pragma once

#include <memory>

#include "solver/space/setup.hpp"

namespace napkin::internal::test {

/// Returns a pointer that does not own; the part must outlive it.
template <class Part>
std::shared_ptr<const Part> lent(const Part& part) {
  return {std::shared_ptr<const void>(), &part};
}

/// Makes the setup of a struct with `streamed`, `mapping`, `machine` and `problem`, which must outlive it.
template <class Parts>
Setup setup_of(const Parts& parts) {
  return {lent(parts.streamed), lent(parts.mapping), lent(parts.machine), parts.problem, {}};
}

}  // namespace napkin::internal::test
