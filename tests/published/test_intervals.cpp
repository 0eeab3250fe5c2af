// The errors that bands are made of are today's model's, and bands hold as many rows as they say, each row's source
// left out. docs/intervals.md has the tables.

#include <doctest/doctest.h>

#include "apps/library/judge/intervals.hpp"
#include "model/base/library.hpp"
#include "tests/golden/cli.hpp"
#include "tests/measured/found_rows.hpp"
#include "tests/published/published_rows.hpp"

namespace test_intervals {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("errors.json is what today's model gives: else run script/accuracy") {
  const std::string today = measured::found_errors(published::answers(), NAPKIN_SOURCE_DIR "/tests/measured").text();
  CHECK(today == embedded_file("apps/library/judge/data/errors.json").text);
}

TEST_CASE("eight of ten rows lie within the bands that were made without their source, in every regime") {
  const IntervalJudgement judged = judge_intervals();
  CHECK(judged.all.rows > 4000);
  CHECK(judged.all.share() > 0.75);
  CHECK(judged.all.share() < 0.85);
  CHECK(judged.published.share() > 0.75);
  CHECK(judged.published.share() < 0.85);
  CHECK(judged.regimes.size() == 5);
  for (const IntervalGroup& regime : judged.regimes) {
    CAPTURE(regime.of);
    CHECK(regime.rows >= 10);
    CHECK(regime.share() >= 0.75);
    CHECK(regime.share() <= 0.85);
  }
  for (const IntervalGroup& gpu : judged.gpus) {
    CAPTURE(gpu.of);
    CHECK(gpu.share() > 0.50);                      // 9 of 17 rows of an RTX 5090, of two sources
    if (gpu.rows >= 20) CHECK(gpu.share() < 0.95);  // the 19 rows of an A100 PCIe are of one source: all in, or all out
  }
}

TEST_CASE("docs/intervals.md has the tables of today's bands: else run script/accuracy") {
  const std::string page = cli::contents(NAPKIN_SOURCE_DIR "/docs/intervals.md");
  CHECK(page.find(table_of(judge_intervals())) != std::string::npos);
}

}  // namespace test_intervals
