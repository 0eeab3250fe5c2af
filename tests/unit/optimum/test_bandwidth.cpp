#include <doctest/doctest.h>

#include <cmath>

#include "model/machine/load.hpp"
#include "solver/optimum/bandwidth.hpp"

namespace test_bandwidth {

using namespace napkin;
using namespace napkin::internal;

namespace {

// The paper's H100: 4096 FLOP/clk x 132 x 1.83 GHz; FP16 values from device memory at 3352 GB/s, from L2 at 12 TB/s.
constexpr double paper_flops = 4096. * 132 * 1.83e9;
const Rates device{paper_flops, 3352e9 / 2};
const Rates cache{paper_flops, 12e12 / 2};

double tenths(double x) { return std::round(10 * x) / 10; }

}  // namespace

TEST_CASE("matmul from device memory: 348,515 values, 295.2, 347.6") {
  const MatmulMinima m = matmul_minima(device, 132 * 227 * 1024 / 2.);
  CHECK(std::round(m.memory) == 348'515);
  CHECK(tenths(m.depth) == 295.2);
  CHECK(tenths(m.depth_at_memory) == 347.6);
}

TEST_CASE("matmul from L2: 27,194 values, 82.5, 159.7") {
  const MatmulMinima m = matmul_minima(cache, 227 * 1024 / 2.);
  CHECK(std::round(m.memory) == 27'194);
  CHECK(tenths(m.depth) == 82.5);
  CHECK(tenths(m.depth_at_memory) == 159.7);
}

TEST_CASE("below the least memory no depth is enough; at the minima H/K meets the balance") {
  const MatmulMinima m = matmul_minima(device, 300'000);
  CHECK(std::isinf(m.depth_at_memory));
  const double memory = 1e6, b = matmul_minima(device, memory).depth_at_memory;
  CHECK(1 / std::sqrt(memory) + 1 / (2 * b) == doctest::Approx(1 / device.balance()));
}

TEST_CASE("FP32 accumulators double the bytes: 681 and 1361 KiB (erratum P20)") {
  const MatmulMinima m = matmul_minima(device, 1e6);
  CHECK(std::round(least_accumulator_bytes(m, 2) / 1024) == 681);
  CHECK(std::round(least_accumulator_bytes(m, 4) / 1024) == 1361);
}

TEST_CASE("attention: 295 rows whatever the head size") {
  for (double d : {64., 128., 256.}) {
    const AttentionMinima a = attention_minima(device, d);
    CHECK(tenths(a.rows) == 295.2);
    CHECK(a.memory == doctest::Approx(2 * d * a.rows));
    CHECK(a.keys == a.rows);
  }
}

TEST_CASE("the paper's threshold, corrected: g_q >= f_K H_B N_SM / (k_TC B) = 295.2 (erratum P1)") {
  StreamLoad load{24576, 6, 132, 1.83e9, 3352e9, 1};
  CHECK(tenths(least_rows(load)) == 295.2);
  CHECK(3 * 128 >= least_rows(load));
  CHECK(2 * 128 < least_rows(load));
  load.sharers = 2;
  CHECK(tenths(least_rows(load)) == 147.6);
  // Rows for pure FP16 (K and V 32 KiB, 8 clocks) and pure FP8 (16 KiB, 4 clocks).
  CHECK(least_rows({32768, 8, 132, 1.83e9, 3352e9, 1}) == doctest::Approx(295.18).epsilon(1e-4));
  CHECK(least_rows({16384, 4, 132, 1.83e9, 3352e9, 1}) == doctest::Approx(295.18).epsilon(1e-4));
}

TEST_CASE("the ideal tensor-bound rate of the FP8 algorithm: 1.319 PFLOP/s") {
  const std::vector<TensorColumn> columns = {{16384, 2}, {16384, 4}};
  CHECK(std::round(tensor_bound_rate(columns, 132, 1.83e9) / 1e12) == 1319);
}

TEST_CASE("the same numbers from the profile of the paper's H100") {
  const Machine m = load_machine("paper-h100", "test");
  const Hertz clock(1.83e9);
  const LevelId l2 = m.level("l2");
  const Rates rates = rates_of(m, l2, DType::f16, clock);
  CHECK(rates.flops == doctest::Approx(paper_flops));
  CHECK(std::round(matmul_minima(rates, 1e6).memory) == 348'515);
  CHECK_THROWS_AS((void)rates_of(m, 0, DType::f16, clock), Error);
}

}  // namespace test_bandwidth
