// This benchmark times the reading of one machine's profile, and the search for the exact integer optimum of a product.
// It prints medians of repetitions on one core; the budgets are 5 ms and 1 ms.
#include <benchmark/benchmark.h>

#include "model/machine/load.hpp"
#include "tests/unit/optimum/programs.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

void one_profile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(load_machine("h200-sxm", "--gpu"));
}

/// Finds the integer optimum of a product of 4096 in a memory of that many values.
void integer_optimum_of_a_product(benchmark::State& state) {
  const IntegerProblem problem = test::matmul_integer(4096, 4096, 4096, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(integer_optimum(problem));
}

void medians(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMicrosecond)->Repetitions(5)->ReportAggregatesOnly();
}

BENCHMARK(one_profile)->Apply(medians);
BENCHMARK(integer_optimum_of_a_product)->ArgName("values")->Arg(58112)->Apply(medians);

}  // namespace
