// The energy of a byte from the L2 that many SMs read: recorded powers of loops that only load, compared with the
// model's share of bytes that a single SM reads (model/README.md, eq. 16.2) in launches whose blocks read the same
// bytes.

#include <cmath>
#include <map>
#include <string>

#include "model/clock/graph/copy_cost.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_neighbours {

using namespace napkin;
using namespace napkin::internal;
using cli::Json;

namespace {

/// Returns, by load, the joules a byte above the power of an idle context.
std::map<std::string, double> measured_joules() {
  std::map<std::string, std::map<std::string, double>> of;
  for (const Json& row : measured::rows_of("neighbours/l2_readers.jsonl"))
    of[row["with"]["load"].get<std::string>()][row["quantity"].get<std::string>()] = row["values"][0].get<double>();
  std::map<std::string, double> out;
  for (auto& [load, quantities] : of) {
    if (quantities["l2_bytes"] > 0) out[load] = (quantities["power"] - of["rest"]["power"]) / quantities["l2_bytes"];
  }
  return out;
}

constexpr std::int64_t blocks = 132;
constexpr std::int64_t other(std::int64_t number) { return (blocks + number - 1) / number; }

/// Returns the model's share for heads of `readers` tiles of queries: block i reads the K and V of head i / readers.
double side_by_side(std::int64_t readers) {
  const test::LaidOut laid("attention_sm90", "h200-sxm",
                           {{"b", 1}, {"h", other(readers)}, {"q", 128 * readers}, {"x", 512}, {"d", 64}}, DType::bf16);
  return unshared_fraction(laid.place({{"q", "128"}, {"x", "64"}, {"warpgroups", "2"}, {"order", "persistent"}}));
}

/// Returns the share for a product that the L2 holds, column by column: block i reads row i % rows of A and column i /
/// rows of B.
double product(std::int64_t rows) {
  const test::LaidOut laid("matmul_sm90", "h200-sxm", {{"a", 64 * rows}, {"b", 512}, {"c", 64 * other(rows)}},
                           DType::bf16);
  return unshared_fraction(laid.place({{"a", "64"},
                                       {"c", "64"},
                                       {"b", "64"},
                                       {"warpgroups", "1"},
                                       {"stages", "2"},
                                       {"cluster", "1"},
                                       {"order", "grid"}}));
}

}  // namespace

TEST_CASE(
    "a byte that neighbours ask for together takes less: by the share that the model says comes for one SM alone") {
  const std::map<std::string, double> joules = measured_joules();
  const double own = joules.at("side_by_side_1"), together = joules.at("side_by_side_132");
  double sum = 0;
  int loads = 0;
  for (const auto& [load, each] : joules) {
    const std::int64_t number = load == "l2_read" ? 0 : std::stoll(load.substr(load.rfind('_') + 1));
    const bool heads = load.starts_with("side_by_side");
    if (!heads && !load.starts_with("rows")) continue;  // no kernel's order spreads the readers of a head
    const double predicted = heads ? side_by_side(number) : product(number),
                 found = (each - together) / (own - together);
    MESSAGE(load << ": alone " << found << ", predicted " << predicted);
    CHECK(std::abs(predicted - found) < 0.23);
    sum += std::abs(predicted - found);
    ++loads;
  }
  CHECK(loads == 16);
  CHECK(sum / loads < 0.095);
}

}  // namespace test_neighbours
