// CUTLASS' multistage products by their compiler (cutlass_sm80/loops.jsonl): the counts of vendor_matmul_sm80 are those
// of the machine code, and its iterations take what the simulated code takes.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "tests/golden/cli.hpp"
#include "tests/measured/row.hpp"

namespace test_cutlass {

using cli::Json;

namespace {

double number(const Json& row, const char* key) { return row[key].get<double>(); }

/// Returns the knobs of a row's tile, whole and handed out in groups.
std::string tile_of(const Json& row) {
  std::string out = "split=1,order=grouped";
  for (const char* knob : {"a", "c", "b", "warps", "warp_rows", "stages"})
    out += fmt::format(",{}={}", knob, row[knob].get<int>());
  return out;
}

/// Returns the model's iteration of a block that is alone on its node.
Json iteration(const std::string& gpu, const Json& row) {
  return cli::answer("timeline matmul --kernel vendor_matmul_sm80 --dtype bf16 --clock 1 --gpu " + gpu +
                     " --shape a=8192,b=8192,c=8192 --tile " + tile_of(row))["period"];
}

}  // namespace

TEST_CASE("CUTLASS' loops: one instruction behind the barrier, 25 others and six with each copy") {
  double sum = 0;
  int rows = 0;
  for (const Json& row : measured::rows_of("cutlass_sm80/loops.jsonl")) {
    CAPTURE(tile_of(row));
    const double said = 25 + 6 * number(row, "copies");
    CHECK(said / number(row, "others") == doctest::Approx(1).epsilon(0.08));
    sum += said - number(row, "others"), ++rows;
    CHECK(number(row, "lead") <= 2);
    CHECK(number(row, "behind") >= 5);  // products that no chunk is waited for
    // A copy brings 16 bytes a thread, both operands together.
    const double bytes = number(row, "b") * 2 * (number(row, "a") + number(row, "c"));
    CHECK(number(row, "copies") == bytes / (16 * 32 * number(row, "warps")));
  }
  CHECK(rows == 11);
  CHECK(std::fabs(sum / rows) < 3);
}

TEST_CASE("CUTLASS' iterations take what their simulated code takes") {
  double errors = 0;
  int rows = 0, bound_by_unit = 0;
  for (const Json& row : measured::rows_of("cutlass_sm80/loops.jsonl")) {
    CAPTURE(tile_of(row));
    const double taken = row["a100"][0].get<double>();
    CHECK(row["a100_free"][0].get<double>() >= 0.95 * taken);  // hardly waits at its barrier
    // Copies, which the simulation leaves out, may take longer than the chain of one warp a scheduler.
    const Json fast = iteration("a100-sxm-80", row), slow = iteration("a40", row);
    const double said = (row["warps"] == 8 ? fast["cycles"] : fast["critical_cycle"]["cycles"]).get<double>();
    CHECK(said / taken == doctest::Approx(1).epsilon(0.15));
    errors += std::fabs(said / taken - 1), ++rows;
    // Other instructions cost nothing beside products of 16 clocks.
    if (slow["pipe"]["name"] != "tensor") continue;
    CHECK(slow["cycles"].get<double>() == doctest::Approx(row["slower_unit"][0].get<double>()).epsilon(0.005));
    ++bound_by_unit;
  }
  CHECK(errors / rows <= 0.05);
  CHECK(bound_by_unit == 6);
}

}  // namespace test_cutlass
