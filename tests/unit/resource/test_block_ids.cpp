// BlockIds compared with the closed form of a triangle's ids, and with a count one by one under other masks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "model/resource/block_ids.hpp"
#include "tests/support/layout.hpp"

namespace test_block_ids {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

std::int64_t integer_root(std::int64_t value) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit /= 2) {
    if ((root + bit) * (root + bit) <= value) root += bit;
  }
  return root;
}

/// Returns the column of id b of a triangle with n blocks a side, columns one after the other: the smaller root of x^2
/// - (2n + 1) x + 2 b = 0, rounded down. ("Flash attention backward in Triton on Ascend" has the root of x^2 - (2n - 1)
/// x - 2 (n - 1 - b), which is to be rounded up.)
std::int64_t column_of(std::int64_t b, std::int64_t n) {
  const std::int64_t square = (2 * n + 1) * (2 * n + 1) - 8 * b, root = integer_root(square);
  return (2 * n + 1 - (root * root < square ? root + 1 : root)) / 2;
}

std::int64_t rounded_up(std::int64_t b, std::int64_t n) {
  const std::int64_t root = integer_root((2 * n - 1) * (2 * n - 1) + 8 * (n - 1 - b));
  return (2 * n - 1 - root + 1) / 2;
}

}  // namespace

TEST_CASE("ids of a causal triangle: column and row of each, up to 512 blocks a side") {
  for (const std::int64_t n : {1, 2, 3, 7, 16, 31, 32, 64, 65, 103, 104, 128, 256, 511, 512}) {
    CAPTURE(n);
    const Shape shape{{"q", 128 * n}, {"x", 128 * n}, {"d", 128}};
    const LaidOut laid("ascend_backward", "ascend-950pr", shape, DType::f16, {Mask::Kind::causal, 0, 0});
    const BlockIds ids(laid.place({{"x", "128"}, {"q", "128"}}));
    REQUIRE(ids.size() == n * (n + 1) / 2);
    std::int64_t wrong = 0, id = 0;
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = column; row < n; ++row, ++id) {
        const BlockIds::Place place = ids.at(id);
        const bool right = place.block == column && place.iteration == row - column;
        wrong += right && column_of(id, n) == column && rounded_up(id, n) == column ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("ids of several heads are those of a count one by one") {
  const std::int64_t queries = 1000, keys = 1400, rows = 64, columns = 128;
  for (const bool causal : {false, true}) {
    const Shape shape{{"b", 2}, {"h", 3}, {"q", queries}, {"x", keys}, {"d", 128}};
    const Mask mask{causal ? Mask::Kind::causal : Mask::Kind::none, 0, 0};
    const LaidOut laid("ascend_backward", "ascend-950pr", shape, DType::f16, mask);
    const BlockIds ids(laid.place({{"x", std::to_string(columns)}, {"q", std::to_string(rows)}}));
    std::int64_t id = 0, block = 0, wrong = 0;
    for (std::int64_t plane = 0; plane < 6; ++plane) {
      for (std::int64_t first = 0; first < keys; first += columns, ++block) {
        std::int64_t iteration = 0;
        for (std::int64_t chunk = 0; chunk < queries; chunk += rows) {
          const std::int64_t last = std::min(chunk + rows, queries) - 1;
          if (causal && first > last + keys - queries) continue;  // none of its keys is seen
          const BlockIds::Place place = ids.at(id++);
          wrong += place.block == block && place.iteration == iteration++ ? 0 : 1;
        }
      }
    }
    CHECK(id == ids.size());
    CHECK(wrong == 0);
  }
}

}  // namespace test_block_ids
