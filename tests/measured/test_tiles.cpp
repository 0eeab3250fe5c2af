// Chunks of a product's blocks whose consumers wait as long as their products would take, without computing them
// (tiles/chunks.jsonl), beside the steady state of matmul_sm90's event graph.

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "apps/report/record/reading.hpp"
#include "model/clock/graph/event_graph.hpp"
#include "model/clock/run/period.hpp"
#include "model/machine/calibrate/reading.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_tiles {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// Returns the clocks from chunk to chunk if block i has row i % rows of tiles and column i / rows.
double predicted(const Reading& reading) {
  const std::int64_t rows = std::stoll(std::string(reading.parameter("rows")));
  const test::LaidOut laid(
      "matmul_sm90", "h200-sxm",
      {{"a", 128 * rows}, {"b", reading.parameter("from") == "l2" ? 2048 : 32768}, {"c", 128 * ((131 + rows) / rows)}},
      DType::bf16);
  const EventGraph graph = event_graph(laid.place({{"a", "128"},
                                                   {"c", "128"},
                                                   {"b", "64"},
                                                   {"warpgroups", "2"},
                                                   {"stages", std::string(reading.parameter("stages"))},
                                                   {"cluster", std::string(reading.parameter("cluster"))},
                                                   {"order", "grid"}}));
  return period(graph).clocks;
}

}  // namespace

TEST_CASE("a chunk of 128 x 128 x 64, by the copies that its buffer holds, who shares it and where it comes from") {
  double sum = 0;
  int count = 0;
  for (const char* name : {"tiles/chunks.jsonl", "tiles/chunk_shapes.jsonl"}) {
    const std::string file = (measured::root / name).string();
    for (const report::ReadingRow& row : report::parse_readings(cli::contents(file), file)) {
      const Reading& reading = row.reading;
      const std::string tile(reading.parameter("tile"));
      if (reading.parameter("work") != "512" || !(tile.empty() || tile == "128x128x64")) continue;
      std::string what;
      for (const char* key : {"from", "stages", "rows", "cluster"})
        what += key + (" " + std::string(reading.parameter(key))) + ", ";
      const double found = estimate(reading.values).value, says = predicted(reading);
      MESSAGE(what << found << " clocks, predicted " << says);
      CAPTURE(what);
      // The largest errors: two buffers, tiles that many blocks share, and four buffers from device memory.
      CHECK(says == doctest::Approx(found).epsilon(reading.parameter("from") == "l2" ? 0.2 : 0.27));
      sum += std::abs(says / found - 1);
      ++count;
    }
  }
  MESSAGE("mean " << sum / count << " of " << count);
  CHECK(count == 50);
  CHECK(sum / count < 0.115);
}

}  // namespace test_tiles
