// Loads of seconds under the card's power limit (steady/loads_of_seconds.jsonl): predictions of the SMs' clock and of
// the card's power. s = 4096 without a mask, d = 64 and 128, is calibration, the rest held out.

#include <cmath>
#include <vector>

#include "tests/measured/row.hpp"

namespace test_steady {

namespace {

using cli::Json;
using measured::number;

std::vector<Json> rows() { return measured::rows_of("steady/loads_of_seconds.jsonl"); }

bool held_out(const Json& row) {
  return row["mask"] != "none" || row["shape"]["q"] != 4096 || row["shape"]["d"] == 256;
}

/// Predicted over measured, less one: of the clock (cycles over wall time), the power and the time.
struct Errors {
  double clock = 0, power = 0, time = 0;
};

Errors errors_of(const Json& row) {
  const Json p = measured::predicted(row);
  const double clock = number(row, "cycles") / number(row, "time");
  const Errors out{number(p, "cycles") / number(p, "time") / clock - 1, number(p, "power") / number(row, "power") - 1,
                   number(p, "time") / number(row, "time") - 1};
  MESSAGE(cli::pairs(row["shape"]) << " " << row["mask"].get<std::string>()
                                   << std::string(held_out(row) ? ", held out" : ", calibration") << ": clock "
                                   << 100 * out.clock << " %, power " << 100 * out.power << " %, time "
                                   << 100 * out.time << " %");
  return out;
}

TEST_CASE("loads of seconds on two cards that have been at work: clock within 3 %, power within 5 %, held out") {
  int held = 0;
  for (const Json& row : rows()) {
    CHECK(row["good"].get<bool>());
    // Runs of 20 consecutive launches.
    CHECK(20 * row["runs"].get<double>() * row["time"].get<double>() >= 1);
    const Errors errors = errors_of(row);
    CHECK(std::abs(errors.time) <= 0.03);
    if (!held_out(row)) continue;
    ++held;
    CHECK(std::abs(errors.clock) <= 0.03);
    CHECK(std::abs(errors.power) <= 0.05);
  }
  CHECK(held == 20);
}

}  // namespace

}  // namespace test_steady
