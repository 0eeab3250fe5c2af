// Masks and visited chunks against loops over every (row, column) pair.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "model/diagram/visits.hpp"
#include "tests/law/mask_twin.hpp"

namespace test_diagram_masks {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::sees;
using i64 = std::int64_t;

const std::vector<Mask>& masks() {
  static const std::vector<Mask> all = {
      {Mask::Kind::none, 0, 0},     {Mask::Kind::causal, 0, 0},   {Mask::Kind::window, 0, 0},
      {Mask::Kind::window, 5, 0},   {Mask::Kind::window, 3, 2},   {Mask::Kind::window, 0, 9},
      {Mask::Kind::window, 100, 0}, {Mask::Kind::window, 70, 80}, {Mask::Kind::window, -2, 4},
      {Mask::Kind::window, 6, -3},  {Mask::Kind::window, -3, 1},  {Mask::Kind::prefix, 1, 0},
      {Mask::Kind::prefix, 7, 0},   {Mask::Kind::prefix, 64, 0},  {Mask::Kind::prefix, 500, 0}};
  return all;
}

struct Counted {
  i64 chunks = 0, indices = 0, longest = 0, pairs = 0;
};

// Counts the chunks of the streamed axis with a visible pair, for each group of the other axis, pair by pair.
Counted count(const Mask& mask, i64 rows, i64 columns, i64 group, i64 stream_group, i64 chunk, bool streamed_rows) {
  Counted total;
  const i64 outer = streamed_rows ? columns : rows, inner = streamed_rows ? rows : columns;
  for (i64 o = 0; o < outer; o += group) {
    const i64 members = std::min(group, outer - o);
    i64 in_group = 0;
    for (i64 part = 0; part < inner; part += stream_group) {
      const i64 part_end = std::min(inner, part + stream_group);
      for (i64 c = part; c < part_end; c += chunk) {
        const i64 end = std::min(part_end, c + chunk);
        bool any = false;
        for (i64 i = o; i < o + members; ++i) {
          for (i64 j = c; j < end; ++j) {
            any = any || (streamed_rows ? sees(mask, j, i, rows, columns) : sees(mask, i, j, rows, columns));
          }
        }
        if (!any) continue;
        ++in_group;
        total.indices += end - c;
        total.pairs += members * (end - c);
      }
    }
    total.chunks += in_group;
    total.longest = std::max(total.longest, in_group);
  }
  return total;
}

template <class Check>
void for_every_plane(Check check) {
  for (const Mask& mask : masks()) {
    for (i64 rows : {1, 2, 7, 13, 65}) {
      for (i64 columns : {1, 3, 7, 20, 65}) {
        CAPTURE(text_of(mask));
        CAPTURE(rows);
        CAPTURE(columns);
        check(mask, rows, columns);
      }
    }
  }
}

TEST_CASE("visible columns, rows and pairs equal counting every pair") {
  for_every_plane([](const Mask& mask, i64 rows, i64 columns) {
    i64 pairs = 0;
    for (i64 first = 0; first < rows; ++first) {
      for (i64 last : {first, first + 1, first + 3, rows}) {
        std::set<i64> seen;
        for (i64 i = first; i < std::min(last, rows); ++i) {
          for (i64 j = 0; j < columns; ++j) {
            if (sees(mask, i, j, rows, columns)) seen.insert(j);
          }
        }
        const Span span = visible(mask, first, last, rows, columns);
        REQUIRE(span.size() == static_cast<i64>(seen.size()));
        if (!seen.empty()) REQUIRE(span.first == *seen.begin());
      }
      for (i64 j = 0; j < columns; ++j) pairs += sees(mask, first, j, rows, columns) ? 1 : 0;
    }
    REQUIRE(visible_pairs(mask, rows, columns) == Count(pairs));
    for (i64 first = 0; first < columns; ++first) {
      for (i64 last : {first + 1, first + 4}) {
        std::set<i64> seen;
        for (i64 j = first; j < std::min(last, columns); ++j) {
          for (i64 i = 0; i < rows; ++i) {
            if (sees(mask, i, j, rows, columns)) seen.insert(i);
          }
        }
        const Span span = visible_rows(mask, first, last, rows, columns);
        REQUIRE(span.size() == static_cast<i64>(seen.size()));
        if (!seen.empty()) REQUIRE(span.first == *seen.begin());
      }
    }
  });
}

TEST_CASE("visited chunks in closed form equal counting every pair, rows or columns streamed") {
  for_every_plane([](const Mask& mask, i64 rows, i64 columns) {
    for (i64 group : {1, 2, 7, 16, 65, 100}) {
      for (i64 chunk : {1, 2, 3, 5, 16, 64, 100}) {
        CAPTURE(group);
        CAPTURE(chunk);
        for (bool streamed_rows : {false, true}) {
          const i64 inner = streamed_rows ? rows : columns;
          const Counted counted = count(mask, rows, columns, group, inner, chunk, streamed_rows);
          const Visits v = streamed_rows ? visits_of_rows(mask, rows, columns, group, chunk)
                                         : visits(mask, rows, columns, group, chunk);
          REQUIRE(v.chunks == Count(counted.chunks));
          REQUIRE(v.columns == Count(counted.indices));
          REQUIRE(v.longest == Count(counted.longest));
          REQUIRE(v.row_groups == ceil_div(streamed_rows ? columns : rows, group));
          REQUIRE(visited_pairs(mask, rows, columns, group, chunk, streamed_rows) == Count(counted.pairs));
        }
      }
    }
  });
}

TEST_CASE("visited chunks of a split stream equal counting every pair") {
  for_every_plane([](const Mask& mask, i64 rows, i64 columns) {
    for (i64 group : {1, 3, 16}) {
      for (i64 stream_group : {1, 4, 7, 65}) {
        for (i64 chunk : {1, 2, 3, 8}) {
          for (bool streamed_rows : {false, true}) {
            const Counted counted = count(mask, rows, columns, group, stream_group, chunk, streamed_rows);
            REQUIRE(visited_in_split(mask, rows, columns, group, stream_group, chunk, streamed_rows, false) ==
                    Count(counted.indices));
            REQUIRE(visited_in_split(mask, rows, columns, group, stream_group, chunk, streamed_rows, true) ==
                    Count(counted.pairs));
          }
        }
      }
    }
  });
}

TEST_CASE("huge masked planes are exact or refused, and never slow") {
  const i64 big = i64{1} << 31;
  const Mask causal{Mask::Kind::causal, 0, 0};
  CHECK(visible_pairs(causal, big, big) == Count(big / 2) * Count(big + 1));
  CHECK(visible_pairs(causal, i64{1} << 62, 1) == Count(1));
  CHECK_THROWS_AS((void)visible_pairs(causal, i64{1} << 62, i64{1} << 62), Overflow);
  CHECK_THROWS_AS((void)visible_pairs({}, i64{1} << 62, 2), Overflow);
  // 2^31 rows in groups of 1: group k sees k + 1 columns.
  CHECK(visits(causal, big, big, 1, 1).columns == Count(big / 2) * Count(big + 1));
  CHECK(visits(causal, big, big, 1, 1).longest == Count(big));
  CHECK_THROWS_AS((void)visits(causal, i64{1} << 62, i64{1} << 62, 1, 1), Overflow);
  CHECK_THROWS_AS((void)visits(causal, INT64_MAX, INT64_MAX, 1, INT64_MAX), Overflow);
  const Mask wide{Mask::Kind::window, INT64_MAX, INT64_MAX};
  CHECK(visible_pairs(wide, 1 << 20, 1 << 20) == Count(i64{1} << 40));
  CHECK(visits(wide, 1000, 1000, 128, 64).columns == Count(8000));
  const Mask odd{Mask::Kind::window, 1000003, 17};
  CHECK(visits(odd, INT64_MAX / 3, INT64_MAX / 3, INT64_MAX / 5, 1000033).longest > Count(0));
}

}  // namespace

}  // namespace test_diagram_masks
