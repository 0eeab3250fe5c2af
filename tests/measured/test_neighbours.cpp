// What a byte from the L2 takes where so many SMs read it: recorded powers of loads that do nothing else, beside
// eq. 12.17.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "model/machine/load.hpp"
#include "tests/golden/cli.hpp"

namespace test_neighbours {

using namespace napkin;
using cli::Json;

namespace {

/// By load: joules a byte beyond what a context that rests takes.
std::map<std::string, double> measured() {
  std::map<std::string, std::map<std::string, double>> of;
  std::istringstream lines(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/neighbours/h200.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = cli::parse(line);
    of[row["with"]["load"].get<std::string>()][row["quantity"].get<std::string>()] = row["values"][0].get<double>();
  }
  std::map<std::string, double> out;
  for (auto& [load, quantities] : of) {
    if (quantities["l2_bytes"] > 0) out[load] = (quantities["power"] - of["rest"]["power"]) / quantities["l2_bytes"];
  }
  return out;
}

/// Of 132 blocks, by runs of so many: tiles over blocks. Block i reads tile i / divide % modulo.
double alone(int run, int divide, int modulo) {
  double tiles = 0;
  for (int first = 0; first < 132; first += run) {
    std::set<int> met;
    for (int i = first; i < std::min(first + run, 132); ++i) met.insert(i / divide % modulo);
    tiles += static_cast<double>(met.size());
  }
  return tiles / 132;
}

/// A load's name: readers side by side or spread, or the rows of a product's tiles.
double alone(int run, const std::string& load) {
  const int number = std::stoi(load.substr(load.rfind('_') + 1));
  if (load.starts_with("side_by_side")) return alone(run, number, 132);
  if (load.starts_with("spread")) return alone(run, 1, (132 + number - 1) / number);
  return (alone(run, 1, number) + alone(run, number, 132)) / 2;
}

}  // namespace

TEST_CASE("a byte that neighbours ask for together takes less: by the share that comes for one SM alone") {
  const std::map<std::string, double> joules = measured();
  const double own = joules.at("spread_1"), together = joules.at("spread_132");
  const int run = static_cast<int>(load_machine("h200-sxm", "gpu").constant("l2_neighbours"));
  CHECK(together / own == doctest::Approx(0.47).epsilon(0.05));
  double sum = 0;
  int loads = 0;
  for (const auto& [load, each] : joules) {
    if (load == "l2_read") continue;
    CAPTURE(load);
    const double share = alone(run, load), found = (each - together) / (own - together);
    CHECK(std::abs(share - found) < 0.2);
    sum += std::abs(share - found);
    ++loads;
  }
  CHECK(loads == 25);
  CHECK(sum / loads < 0.08);
  // Readers 17 apart are each alone, those 12 apart are not.
  CHECK(joules.at("spread_8") > 0.98 * own);
  CHECK(joules.at("spread_11") < 0.85 * own);
}

}  // namespace test_neighbours
