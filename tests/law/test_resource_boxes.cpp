// The copy engine's boxes compared with loops over rows, boxes and bytes, and with a counter's numbers.

#include <doctest/doctest.h>

#include <random>

#include "model/resource/boxes.hpp"
#include "tests/law/boxes_twin.hpp"

namespace test_resource_boxes {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::counted_box;
using napkin::internal::testing::counted_row;
using i64 = std::int64_t;

/// Returns the bytes of all rows of the array once, or of as many rows outside it.
i64 counted(i64 rows, i64 row, i64 tile, i64 tiles, bool multicast, bool beside) {
  const i64 pitch = (row + 15) / 16 * 16, box = counted_box(tile);
  i64 out = 0;
  for (i64 r = 0; r < rows; ++r) {
    for (i64 at = 0; at < tile * tiles; at += box) {
      const i64 inside = beside ? 0 : std::clamp<i64>(row - at, 0, box);
      out += counted_row(r * pitch + at, inside, box, multicast);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("boxes of rows: any row, tile and number of rows") {
  std::mt19937 random(11);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 3000; ++round) {
    const i64 steps[] = {1, 2, 16, 32, 64, 128};
    const i64 tile = pick(1, 5) * steps[pick(0, 5)], tiles = pick(1, 4), row = pick(1, tile * tiles),
              rows = pick(1, 20);
    const bool multicast = pick(0, 1) == 1;
    CAPTURE(tile);
    CAPTURE(tiles);
    CAPTURE(row);
    CAPTURE(rows);
    CAPTURE(multicast);
    const BoxedRows boxed(row, tile, tiles, multicast);
    CHECK(box_width(tile) == Count(counted_box(tile)));
    CHECK(boxed.inside(rows * tiles, rows).get() == counted(rows, row, tile, tiles, multicast, false));
    CHECK(boxed.inside(3 * rows * tiles, rows) == boxed.inside(rows * tiles, rows) * 3);
    CHECK((boxed.outside() * tiles).get() == counted(1, row, tile, tiles, multicast, true));
  }
}

TEST_CASE("visits that do not bring every tile count like the mean one") {
  const BoxedRows boxed(2000, 512, 4, false);
  const Count period = boxed.inside(8 * 4, 8);
  CHECK(boxed.inside(8 * 13 + 3, 8 * 1000) == ceil_div(period * (8 * 13 + 3), 8 * 4));
}

TEST_CASE("as an H200 counted them") {
  // Rows of 2048 bf16 columns in boxes of 16, 32 or 64: by multicast a line sends 64 bytes at least.
  CHECK(BoxedRows(4096, 32, 128, true).inside(128, 1) == Count(2 * 4096));
  CHECK(BoxedRows(4096, 32, 128, false).inside(128, 1) == Count(4096));
  CHECK(BoxedRows(4096, 64, 64, true).inside(64, 1) == Count(4096));
  CHECK(BoxedRows(4096, 512, 8, true).inside(8, 1) == Count(4096));
  // Rows of 2000 bytes begin anywhere in a line: a box of 128 touches 144 bytes of sectors in the mean. The last of 16
  // has 80 bytes of the array, 96 in sectors, and 48 of zeros.
  CHECK(BoxedRows(2000, 512, 4, false).inside(8 * 4, 8) == Count(8 * (15 * 144 + 96 + 64)));
  CHECK(BoxedRows(2000, 512, 4, true).inside(8 * 4, 8) == Count(8 * (15 * 160 + 112 + 96)));
  // Two boxes of 64 bytes beside the array.
  CHECK(BoxedRows(4096, 192, 22, true).inside(22, 1) == Count(4096 + 2 * 96));
  CHECK(BoxedRows(4096, 192, 22, false).inside(22, 1) == Count(22 * 192));
}

}  // namespace test_resource_boxes
