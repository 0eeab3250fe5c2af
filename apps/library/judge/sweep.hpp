#pragma once
// sweep_tiles chooses the tiles that a sweep measures: the selected tile, experts' tiles, 200 near the best and 100 at
// random, in an order that depends on the seed alone. Internal to apps/.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {

struct SweepOptions {
  double within = 1.5;      ///< factor of the best prediction within which legal tiles are near ones
  std::int64_t most = 200;  ///< largest number of near tiles, spread over the distinct predictions
  std::int64_t random = 100;
  std::uint64_t seed = 1;
};

enum class TileRole { selected, near_best, expert, random };

struct SweepTile {
  Tile tile;
  TileRole role = TileRole::near_best;
  std::string source;  ///< source of an expert's tile: "FlashAttention-3"
};

/// Chooses tiles, each once: the pick first, then experts', near ones, random ones. Empty if nothing fits. `all` holds
/// every legal tile, best first.
[[nodiscard]] std::vector<SweepTile> sweep_tiles(const Question& question, const Setup& setup,
                                                 const std::vector<Ranked>& all, const SweepOptions& options);

/// Returns the tiles that other kernels ship for the question, in this setup's knobs, if it can express them and they
/// are legal.
[[nodiscard]] std::vector<SweepTile> expert_tiles(const Question& question, const Setup& setup);

/// Shuffles 0 to n - 1 by the seed.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);

/// Hashes a text with a seed, to the same number on every machine.
[[nodiscard]] std::uint64_t hash_of(std::string_view text, std::uint64_t seed);

}  // namespace napkin::internal
