#pragma once
// least_transfer finds the legal tile that moves the fewest bytes into the level where a block lives, whatever it costs
// in time: for attention with d = 128 on an H200 a tile of 192 queries. Internal to apps/.

#include <optional>

#include "apps/library/question/latest.hpp"
#include "apps/library/question/request.hpp"

namespace napkin {

/// What the least transfer depends on: not on the knobs that the user fixed.
struct LeastTransferKey {
  const Streamed* streamed = nullptr;
  const Machine* machine = nullptr;
  Sizes sizes;
  Mask mask;
  DType dtype = DType::bf16;
  bool operator==(const LeastTransferKey&) const = default;

  struct Hash {
    std::size_t operator()(const LeastTransferKey& key) const;
  };
};
using LeastTransfers = Latest<LeastTransferKey, std::optional<OptimumAnswer::Integer>, LeastTransferKey::Hash>;

/// What groups of such sizes move where a block lives, in chunks of 1. In values on the abstract machine.
[[nodiscard]] std::int64_t moved_by(const Request& request, const Layout& layout, const NamedSizes& group);

/// In bytes; nothing where no tile is legal. Kept in Request::known.
[[nodiscard]] std::optional<OptimumAnswer::Integer> least_transfer(const Request& request, const Layout& layout);

}  // namespace napkin
