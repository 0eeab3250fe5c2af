#include "apps/library/judge/sweep.hpp"

#include <algorithm>
#include <set>

namespace napkin::internal {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Hashes a tile without the shape, so that shapes that differ only in length share compiled variants.
std::uint64_t hash_of(const Tile& tile, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed);
  for (const std::int64_t value : tile.values) hash = mixed(hash ^ static_cast<std::uint64_t>(value));
  return hash;
}

using Hashed = std::vector<std::pair<std::uint64_t, const Tile*>>;

/// Groups tiles of equal prediction, in an order that depends on the seed.
std::vector<Hashed> by_prediction(const std::vector<Ranked>& all, const SweepOptions& options) {
  std::vector<Hashed> classes;
  double time = -1;
  for (const Ranked& one : all) {
    if (one.prediction.time.value > options.within * all.front().prediction.time.value) break;
    if (classes.empty() || one.prediction.time.value > time * (1 + 1e-12)) classes.emplace_back();
    time = one.prediction.time.value;
    classes.back().emplace_back(hash_of(one.tile, options.seed), &one.tile);
  }
  for (Hashed& one : classes) std::sort(one.begin(), one.end());
  return classes;
}

/// Picks `wanted` of `n` indices, evenly spread, the first included.
std::vector<std::size_t> spread(std::size_t n, std::size_t wanted) {
  std::vector<std::size_t> out;
  if (wanted >= n) wanted = n;
  for (std::size_t i = 0; i < wanted; ++i) out.push_back(wanted == 1 ? 0 : i * (n - 1) / (wanted - 1));
  return out;
}

/// Collects tiles, each once.
class Collected {
 public:
  bool add(const Tile& tile, TileRole role, std::string source = {}) {
    if (!seen_.insert(tile.values).second) return false;
    tiles_.push_back({tile, role, std::move(source)});
    return true;
  }
  std::vector<SweepTile> take() { return std::move(tiles_); }

 private:
  std::set<std::vector<std::int64_t>> seen_;
  std::vector<SweepTile> tiles_;
};

/// Collects a tile of each prediction, then a second of each, until there are enough.
void add_near(const std::vector<Ranked>& all, const SweepOptions& options, Collected& out) {
  std::vector<Hashed> classes = by_prediction(all, options);
  auto left = static_cast<std::size_t>(std::max<std::int64_t>(options.most, 0));
  for (std::size_t round = 0; left > 0; ++round) {
    std::erase_if(classes, [&](const Hashed& one) { return one.size() <= round; });
    if (classes.empty()) return;
    for (const std::size_t i : spread(classes.size(), left)) {
      if (out.add(*classes[i][round].second, TileRole::near_best)) --left;
    }
  }
}

void add_random(const std::vector<Ranked>& all, const SweepOptions& options, Collected& out) {
  Hashed hashed;
  for (const Ranked& one : all) hashed.emplace_back(hash_of(one.tile, ~options.seed), &one.tile);
  std::sort(hashed.begin(), hashed.end());
  std::int64_t left = options.random;
  for (const auto& [hash, tile] : hashed) {
    if (left <= 0) return;
    if (out.add(*tile, TileRole::random)) --left;
  }
}

}  // namespace

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed);
  for (const char c : text) hash = mixed(hash ^ static_cast<unsigned char>(c));
  return hash;
}

std::vector<SweepTile> sweep_tiles(const Question& question, const Setup& setup, const std::vector<Ranked>& all,
                                   const SweepOptions& options) {
  if (all.empty()) return {};
  Collected out;
  out.add(best_tile(setup).value(), TileRole::selected);
  for (const SweepTile& expert : expert_tiles(question, setup)) out.add(expert.tile, TileRole::expert, expert.source);
  add_near(all, options, out);
  add_random(all, options, out);
  return out.take();
}

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = i;
  std::uint64_t state = mixed(seed);
  for (std::size_t i = n; i > 1; --i) {
    state = mixed(state);
    std::swap(out[i - 1], out[state % i]);
  }
  return out;
}

}  // namespace napkin::internal
