#pragma once
// sees() is the definition of a mask, cell by cell: sees(causal, 3, 4, 8, 8) is false, as row 3 of 8 does not see
// column 4.

#include <cstdint>

#include "model/diagram/problem.hpp"

namespace napkin::internal::testing {

inline bool sees(const Mask& mask, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  const std::int64_t diagonal = row + columns - rows;
  switch (mask.kind) {
    case Mask::Kind::none: return true;
    case Mask::Kind::causal: return column <= diagonal;
    case Mask::Kind::window: return diagonal - mask.left <= column && column <= diagonal + mask.right;
    case Mask::Kind::prefix: return column < mask.left || column <= diagonal;
  }
  return false;
}

}  // namespace napkin::internal::testing
