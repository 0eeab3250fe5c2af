// The chunks that blocks visit of a streamed axis which is split among them, compared with a count of every pair. The
// closed form takes the same time for billions of rows and keys as for hundreds.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/law/mask_twin.hpp"
#include "tests/support/layout.hpp"

namespace test_walk_parts {

using namespace napkin;
using namespace napkin::internal;
using i64 = std::int64_t;

namespace {

struct Counted {
  i64 chunks = 0, columns = 0, longest = 0, last_chunks = 0, last_columns = 0;
};

bool any_seen(const Mask& mask, i64 row, i64 rows_end, i64 column, i64 columns_end, i64 rows, i64 columns) {
  for (i64 i = row; i < rows_end; ++i) {
    for (i64 j = column; j < columns_end; ++j) {
      if (napkin::internal::testing::sees(mask, i, j, rows, columns)) return true;
    }
  }
  return false;
}

/// Counts from the first to the last chunk of a part with a visible pair.
Counted count(const Mask& mask, i64 rows, i64 columns, i64 group, i64 part, i64 chunk) {
  Counted out;
  for (i64 row = 0; row < rows; row += group) {
    out.last_chunks = out.last_columns = 0;
    for (i64 begin = 0; begin < columns; begin += part) {
      i64 in_part = 0;
      for (i64 column = begin; column < std::min(begin + part, columns); column += chunk) {
        const i64 end = std::min({column + chunk, begin + part, columns});
        if (!any_seen(mask, row, std::min(row + group, rows), column, end, rows, columns)) continue;
        ++in_part;
        out.last_columns += end - column;
      }
      out.last_chunks += in_part;
      out.longest = std::max(out.longest, in_part);
    }
    out.chunks += out.last_chunks;
    out.columns += out.last_columns;
  }
  return out;
}

Walk walk_of_tile(const Mask& mask, i64 rows, i64 columns, i64 group, i64 part, i64 chunk) {
  const test::LaidOut question("flash_decoding", "h200-sxm", {{"q", rows}, {"x", columns}, {"d", 64}}, DType::bf16,
                               mask);
  return question
      .place({{"q", std::to_string(group)}, {"shared.x", std::to_string(part)}, {"x", std::to_string(chunk)}})
      .walk;
}

}  // namespace

TEST_CASE("blocks that split keys visit what a count of every pair says, parts of whole chunks or not") {
  const std::vector<Mask> masks{
      {Mask::Kind::causal, 0, 0},    {Mask::Kind::window, 0, 0},  {Mask::Kind::window, 5, 0},
      {Mask::Kind::window, 40, 7},   {Mask::Kind::window, 0, 90}, {Mask::Kind::window, 100, 0},
      {Mask::Kind::window, -20, 40}, {Mask::Kind::prefix, 3, 0},  {Mask::Kind::prefix, 70, 0}};
  for (const Mask& mask : masks) {
    for (const i64 rows : {7, 65, 200}) {
      for (const i64 columns : {5, 65, 130, 300}) {
        for (const i64 group : {1, 16, 48}) {
          for (const auto& sizes : {std::pair<i64, i64>{64, 16}, {48, 16}, {16, 16}, {96, 32}, {40, 16}}) {
            const i64 part = sizes.first, chunk = sizes.second;
            const Counted counted = count(mask, rows, columns, group, part, chunk);
            const Walk walk = walk_of_tile(mask, rows, columns, group, part, chunk);
            CAPTURE(static_cast<int>(mask.kind));
            CAPTURE(mask.left);
            CAPTURE(mask.right);
            CAPTURE(rows);
            CAPTURE(columns);
            CAPTURE(group);
            CAPTURE(part);
            CAPTURE(chunk);
            REQUIRE(walk.total.chunks == Count(counted.chunks));
            REQUIRE(walk.total.columns == Count(counted.columns));
            REQUIRE(walk.total.longest == Count(counted.longest));
            REQUIRE(walk.last_chunks == Count(counted.last_chunks));
            REQUIRE(walk.last_columns == Count(counted.last_columns));
          }
        }
      }
    }
  }
}

TEST_CASE("billions of rows and keys are walked at once, or refused where parts end within a chunk") {
  const i64 rows = 3000000000, columns = 4000000000;
  for (const Mask& mask : {Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 1000000, 0}}) {
    const auto begin = std::chrono::steady_clock::now();
    const Walk walk = walk_of_tile(mask, rows, columns, 128, 4096, 64);
    CHECK(walk.total.longest == Count(64));
    CHECK(walk.total.chunks > Count(rows / 128));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    CHECK_THROWS_WITH_AS((void)walk_of_tile(mask, rows, columns, 128, 4096, 48),
                         doctest::Contains("parts of whole chunks"), Error);
  }
}

}  // namespace test_walk_parts
