// Loads that begin after a pause (transient/h100.jsonl): products of 8192 by PyTorch, whose clock is the SMs' own mean
// over a launch. The profile's burst_share is what eq. 16.1 needs for the ratio of these clocks, on H100s and H200s.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/measured/row.hpp"

namespace test_transient {

namespace {

using cli::Json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Returns the median of column 1 (MHz) or 2 (us) over the launches that end within that time.
double between(const Json& row, double from_ms, double to_ms, int column) {
  std::vector<double> values;
  for (const Json& launch : row["rows"])
    if (launch[0] > from_ms && launch[0] < to_ms) values.push_back(launch[column].get<double>());
  REQUIRE(!values.empty());
  return median(values);
}

Json predicted(const std::string& load) {
  const Json found = cli::asked(
      "query matmul --gpu h100-sxm --kernel vendor_matmul_sm90 --json "
      "--shape a=8192,b=8192,c=8192 --load " +
      load);
  return found["predicted"];
}

std::vector<Json> rows_of(const std::string& series, const std::string& load) {
  std::vector<Json> out = measured::rows_of("transient/h100.jsonl");
  std::erase_if(out, [&](const Json& row) { return row["series"] != series || row["load"] != load; });
  return out;
}

TEST_CASE("products in a burst and sustained on three H100s: clock and time within 5 %, before and after") {
  const Json burst = predicted("burst"), sustained = predicted("sustained");
  int cards = 0;
  for (const Json& row : rows_of("begin", "product")) {
    ++cards;
    // Behind the first launches and before the slow limit of any card; then the mean of seconds.
    const double clock = between(row, 4, 40, 1) * 1e6, time = between(row, 4, 40, 2) * 1e-6;
    const double late = between(row, 1000, 3000, 2) * 1e-6;
    MESSAGE("burst: clock " << 100 * (measured::number(burst, "clock") / clock - 1) << " %, time "
                            << 100 * (measured::number(burst, "time") / time - 1) << " %; sustained: time "
                            << 100 * (measured::number(sustained, "time") / late - 1) << " %");
    CHECK(std::abs(measured::number(burst, "clock") / clock - 1) <= 0.05);
    CHECK(std::abs(measured::number(burst, "time") / time - 1) <= 0.05);
    CHECK(std::abs(measured::number(sustained, "time") / late - 1) <= 0.05);
  }
  CHECK(cards == 3);
}

TEST_CASE("two H200s: the burst's clock is 16 to 21 % above the sustained one, and lasts for 90 to 190 ms") {
  int loads = 0;
  for (const Json& row : measured::rows_of("transient_h200/first.jsonl")) {
    if (row["load"] != "product" && row["load"] != "mix") continue;
    ++loads;
    const double gain = between(row, 4, 40, 1) / between(row, 1500, 3000, 1);
    INFO(row["card"] << " " << row["load"] << " " << gain);
    CHECK(gain > 1.16);
    CHECK(gain < 1.21);
    double capped = 0;
    for (const Json& reading : row["nvml"])
      if (capped == 0 && reading[0] > 0 && (reading[5].get<int>() & 4) != 0) capped = reading[0];
    CHECK(capped > 90);
    CHECK(capped < 190);
  }
  CHECK(loads == 4);
}

TEST_CASE("behind a rest of 10 ms the clock is the sustained one, behind 100 ms the burst's") {
  for (const std::string load : {"product", "attention"}) {
    for (const Json& row : rows_of("after", load)) {
      const double gain = between(row, 3, 20, 1) / row["before"].get<double>();
      INFO(load << " " << row["rest"] << " " << gain);
      if (row["rest"] <= 0.003) CHECK(gain < 1.09);
      if (row["rest"] >= 0.1) CHECK(gain > 1.13);
    }
  }
}

}  // namespace

}  // namespace test_transient
