// Products on random data and on zeros, which take less power and so run at a higher clock (clocks/products_on_zeros.jsonl): where
// copies bind, cycles grow with the clock. Predictions, in clocks of the SMs, do not: README, Weakest.
#include <algorithm>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_clocks {

using cli::Json;

namespace {

std::vector<Json> rows_of(const std::string& file) {
  std::vector<Json> out;
  std::istringstream lines(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/" + file));
  for (std::string line; std::getline(lines, line);) out.push_back(cli::parse(line));
  return out;
}

double over(const Json& row, const char* of, const char* base, const char* what) {
  return row[of][what].get<double>() / row[base][what].get<double>();
}

}  // namespace

TEST_CASE(
    "on zeros, at more clock, products take the same cycles where they bind, and up to a third more where their copies "
    "do") {
  int grown = 0, same = 0;
  double most = 0;
  for (const Json& row : rows_of("clocks/products_on_zeros.jsonl")) {
    const double cycles = over(row, "zeros", "random", "cycles"), clock = cycles / over(row, "zeros", "random", "time");
    if (row["shape"]["a"].get<int>() < 4096 || clock < 1.1) continue;
    CAPTURE(row["shape"].dump() + row["tile"].dump());
    CHECK(cycles > 0.97);
    grown += cycles > 1.05 ? 1 : 0;
    same += cycles < 1.01 ? 1 : 0;
    most = std::max(most, cycles);
  }
  CHECK(grown >= 30);
  CHECK(same >= 15);
  CHECK(most > 1.35);
}

TEST_CASE(
    "a place on the Hilbert curve without branches: launches of 1024 in that order are a tenth shorter, later ones by "
    "less") {
  for (const auto& [size, least, most] :
       {std::tuple{1024, 0.85, 0.92}, {2048, 0.90, 0.97}, {4096, 0.97, 1.0}, {8192, 0.95, 0.99}}) {
    CAPTURE(size);
    double sum = 0, rows = 0;
    for (const Json& row : rows_of("orders/hilbert.jsonl")) {
      if (row["shape"]["a"].get<int>() != size) continue;
      sum += over(row, "after", "before", "cycles");
      ++rows;
    }
    REQUIRE(rows >= 7);
    CHECK(sum / rows > least);
    CHECK(sum / rows < most);
  }
}

}  // namespace test_clocks
