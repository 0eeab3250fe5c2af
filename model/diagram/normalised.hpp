#pragma once
// is_normalised() tells "softmax normalised over x (S)" from a plain softmax: streamed, its rows are normalised from
// chunk to chunk, as FlashAttention-1 writes them. Operation::function holds the word.

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

constexpr const char* normalised_word = "normalised";

[[nodiscard]] inline bool is_normalised(const Operation& softmax) {
  return softmax.kind == OpKind::softmax && softmax.function == normalised_word;
}

}  // namespace napkin::internal
