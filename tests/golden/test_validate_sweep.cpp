// The tiles of a sweep, which are the same for the same seed.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "apps/library/judge/replay.hpp"
#include "apps/library/judge/sweep.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"

namespace test_validate_sweep {

using namespace napkin;
using namespace napkin::internal;

namespace {

std::unique_ptr<Measurable> question(std::int64_t d, std::int64_t s = 2048, bool causal = false) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.kernel = "attention_sm90";
  ask.shape = {{"h", 16}, {"q", s}, {"x", s}, {"d", d}};
  if (causal) ask.mask.kind = Mask::Kind::causal;
  return measurable_of(ask);
}

std::set<std::vector<std::int64_t>> values(const std::vector<SweepTile>& tiles) {
  std::set<std::vector<std::int64_t>> out;
  for (const SweepTile& tile : tiles) out.insert(tile.tile.values);
  return out;
}

std::size_t count(const std::vector<SweepTile>& tiles, TileRole role) {
  return static_cast<std::size_t>(
      std::count_if(tiles.begin(), tiles.end(), [&](const SweepTile& t) { return t.role == role; }));
}

}  // namespace

TEST_CASE("the pick first, each tile once, as many as asked for") {
  const auto m = question(256);
  const auto all = legal_tiles(*m->setup);
  REQUIRE(all.size() > 200);
  SweepOptions options;
  options.most = 40;
  options.random = 15;
  const auto tiles = sweep_tiles(m->question, *m->setup, all, options);
  CHECK(tiles.front().tile == best_tile(*m->setup));
  CHECK(tiles.front().role == TileRole::selected);
  CHECK(values(tiles).size() == tiles.size());
  CHECK(count(tiles, TileRole::near_best) == 40);
  CHECK(count(tiles, TileRole::random) == 15);
  CHECK(count(tiles, TileRole::expert) >= 1);

  // Tiles near the best are within 1.5x, and their predictions differ.
  std::set<double> times;
  for (const SweepTile& tile : tiles) {
    const double time = predict_tile(*m, tile.tile, Rereads::none).predicted.time;
    if (tile.role == TileRole::near_best) CHECK(time <= 1.5 * all.front().prediction.time.value * (1 + 1e-9));
    if (tile.role == TileRole::near_best) times.insert(time);
  }
  CHECK(times.size() > 10);
}

TEST_CASE("without a cap: every legal tile within 1.5x") {
  const auto m = question(256);
  const auto all = legal_tiles(*m->setup);
  SweepOptions options;
  options.most = 1000000;
  options.random = 0;
  const auto tiles = sweep_tiles(m->question, *m->setup, all, options);
  const auto taken = values(tiles);
  for (const Ranked& one : all) {
    if (one.prediction.time.value <= 1.5 * all.front().prediction.time.value) CHECK(taken.count(one.tile.values) == 1);
  }
}

TEST_CASE("the seed decides") {
  const auto m = question(128);
  const auto all = legal_tiles(*m->setup);
  SweepOptions options;
  options.most = options.random = 20;
  const auto first = sweep_tiles(m->question, *m->setup, all, options),
             again = sweep_tiles(m->question, *m->setup, all, options);
  CHECK(values(first) == values(again));
  options.seed = 2;
  CHECK(values(first) != values(sweep_tiles(m->question, *m->setup, all, options)));
  CHECK(shuffled(50, 1) == shuffled(50, 1));
  CHECK(shuffled(50, 1) != shuffled(50, 2));
  auto order = shuffled(50, 3);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
}

TEST_CASE("experts' tiles are legal and theirs") {
  const auto has = [](const std::vector<SweepTile>& tiles, const Mapping& mapping, std::int64_t warpgroups,
                      std::int64_t x) {
    return std::any_of(tiles.begin(), tiles.end(), [&](const SweepTile& t) {
      return value_of(mapping, t.tile, "warpgroups") == warpgroups && value_of(mapping, t.tile, "x") == x;
    });
  };
  // FlashAttention-3's 192x192 at d = 64 is not among them: here it spills if the maximum is kept.
  for (const auto& [d, causal, warpgroups, x] :
       {std::tuple{64, true, 3, 128}, {128, false, 2, 176}, {128, true, 2, 128}, {256, false, 2, 80}}) {
    const auto m = question(d, 2048, causal);
    const auto tiles = expert_tiles(m->question, *m->setup);
    const std::int64_t head_size = d;
    CAPTURE(head_size);
    CHECK(has(tiles, *m->setup->mapping, warpgroups, x));
    const Rules rules(*m->setup->streamed, *m->setup->mapping, *m->question.machine, m->question.problem);
    for (const SweepTile& tile : tiles) {
      const PlacedDiagram placed = m->placer->place(tile.tile);
      CHECK(violations(rules, placed, plan(placed)).empty());
      CHECK_FALSE(tile.source.empty());
    }
  }
}

}  // namespace test_validate_sweep
