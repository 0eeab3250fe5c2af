// Vector work alone and beside products, measured again on 2026-11-22 with corrected micro-kernels
// (docs/hardware/hopper.md): new rates of units compared with the shipped profile, and the rate of a softmax by its
// order of instructions.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "apps/report/record/reading.hpp"
#include "model/machine/load.hpp"
#include "model/machine/number.hpp"
#include "tests/golden/cli.hpp"

namespace test_vector {

using namespace napkin;
using namespace napkin::internal;

namespace {

Readings readings() {
  const std::string file = NAPKIN_SOURCE_DIR "/tests/measured/vector/rates.jsonl";
  Readings out;
  for (report::ReadingRow& row : report::parse_readings(cli::contents(file), file))
    out.push_back(std::move(row.reading));
  return out;
}

TEST_CASE("rates of units are the shipped ones, half-width arithmetic too") {
  const Calibration calibration =
      calibrate(load_machine("h200-sxm", "--gpu"), readings(), {"napkin calibrate", "2026-11-22", "580"});
  std::map<std::string, double> change;
  for (const Finding& finding : calibration.findings) {
    if (finding.before)
      change[finding.name] = finding.number.value / profile::factor_of(finding.number.unit) / *finding.before - 1;
  }
  for (const char* name : {"units.special.rate", "units.fp32.rate", "units.fp16.rate", "units.alu.rate",
                           "units.conversion.rate", "units.shuffle.rate"}) {
    CAPTURE(name);
    REQUIRE(change.count(name) == 1);
    CHECK(std::abs(change.at(name)) <= 0.035);
  }
}

TEST_CASE("no softmax takes more exponentials than the unit makes, beside products three quarters of them") {
  int seen = 0;
  for (const Reading& reading : readings()) {
    const std::string work(reading.parameter("work"));
    if (!work.starts_with("softmax") || reading.quantity != "rate") continue;
    CAPTURE(work);
    CHECK(estimate(reading.values).value <= (reading.experiment == "vector_alone" ? 16 : 12));
    ++seen;
  }
  CHECK(seen == 29);
}

}  // namespace

}  // namespace test_vector
