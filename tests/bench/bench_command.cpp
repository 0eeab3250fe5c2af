// This benchmark times the command `napkin select`, from its start to its answer. It prints medians of repetitions; the
// goal is 40 ms at every shape of docs/performance.md.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

namespace {

void select_command(benchmark::State& state) {
  const std::string length = std::to_string(state.range(1)), batch = std::to_string(16384 / state.range(1)),
                    heads = std::to_string(2048 / state.range(0));
  const std::string command = NAPKIN_BINARY " select attention --gpu h200-sxm --shape b=" + batch + ",h=" + heads +
                              ",q=" + length + ",x=" + length + ",d=" + std::to_string(state.range(0)) +
                              (state.range(2) != 0 ? " --causal" : "") + " > /dev/null";
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) state.SkipWithError("the command failed");
  }
}
BENCHMARK(select_command)
    ->ArgNames({"d", "s", "causal"})
    ->ArgsProduct({{64, 128, 256}, {512, 4096, 16384}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Repetitions(3)
    ->ReportAggregatesOnly();

}  // namespace
