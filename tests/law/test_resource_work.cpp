// work() compared with loops over every group, chunk and index.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_resource_work {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Mapped;
using i64 = std::int64_t;

bool sees(const Mask& mask, i64 row, i64 column, i64 rows, i64 columns) {
  const i64 diagonal = row + columns - rows;
  if (mask.kind == Mask::Kind::none) return true;
  if (mask.kind == Mask::Kind::causal) return column <= diagonal;
  if (mask.kind == Mask::Kind::prefix) return column < mask.left || column <= diagonal;
  return diagonal - mask.left <= column && column <= diagonal + mask.right;
}

}  // namespace

TEST_CASE("attention: pairs one by one, tiles one by one") {
  std::mt19937 random(8);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  const std::vector<Mask> masks = {{},
                                   {Mask::Kind::causal, 0, 0},
                                   {Mask::Kind::window, 3, 2},
                                   {Mask::Kind::window, 0, 9},
                                   {Mask::Kind::prefix, 6, 0}};
  for (int round = 0; round < 40; ++round) {
    const Mask mask = masks[static_cast<std::size_t>(round) % masks.size()];
    const i64 h = pick(1, 3), g = pick(1, 3), q = pick(1, 33), x = pick(1, 33), d = 64,
              dv = 32 * pick(2, 4);  // widths without padding
    const i64 tile_q = pick(1, 9), tile_x = pick(1, 9), tile_g = pick(1, 2);
    const Mapped m("attention", "attention_sm90", "h200-sxm",
                   {{"h", h}, {"g", g}, {"q", q}, {"x", x}, {"d", d}, {"dv", dv}}, mask);
    i64 pairs = 0, tiles = 0;
    for (i64 i = 0; i < q; ++i) {
      for (i64 j = 0; j < x; ++j) pairs += sees(mask, i, j, q, x) ? 1 : 0;
    }
    for (i64 r = 0; r < q; r += tile_q) {
      for (i64 c = 0; c < x; c += tile_x) {
        bool any = false;
        for (i64 i = r; i < std::min(r + tile_q, q); ++i) {
          for (i64 j = c; j < std::min(c + tile_x, x); ++j) any = any || sees(mask, i, j, q, x);
        }
        tiles += any ? 1 : 0;
      }
    }
    const i64 heads = h * ((g + tile_g - 1) / tile_g), blocks = heads * ((q + tile_q - 1) / tile_q);
    const Work w = work(m.place({{"q", std::to_string(tile_q)},
                                 {"x", std::to_string(tile_x)},
                                 {"g", std::to_string(tile_g)},
                                 {"warpgroups", "1"}}));
    CAPTURE(round);
    CHECK(w.flops == Flops(2 * h * g * pairs * (d + dv)));
    CHECK(w.executed_flops == Flops(2 * heads * tiles * tile_g * tile_q * tile_x * (d + dv)));
    CHECK(w.exponentials == Count(heads * tiles * tile_g * tile_q * (tile_x + 1)));
    CHECK(w.conversions == Count(heads * tiles * tile_g * tile_q * tile_x + blocks * tile_g * tile_q * dv));
  }
}

}  // namespace test_resource_work
