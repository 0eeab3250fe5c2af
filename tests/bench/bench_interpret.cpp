// The interpreter at real shapes: attention, one head, q = x = 4096, d = 128, in float64, on one core.
#include <benchmark/benchmark.h>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/interpret/run.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

struct Question {
  Diagram diagram = load_diagram("attention");
  Streamed streamed = derive(diagram);
  Problem problem;
  Partition partition;
  Tensors inputs;

  Question(std::int64_t size, const Mask& mask)
      : problem{resolve_sizes(diagram, {{"q", size}, {"x", size}, {"d", 128}}, "shape"), mask, DType::value},
        partition(make_partition(streamed, problem.sizes, {{"q", 128}, {"x", 128}}, "tile")),
        inputs(random_inputs(diagram, problem.sizes, 1)) {}
};

void report(benchmark::State& state, double size) {
  state.counters["FLOP/s"] = benchmark::Counter(4 * size * size * 128, benchmark::Counter::kIsIterationInvariantRate);
}

void streamed_attention(benchmark::State& state) {
  const Question question(state.range(0), {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_streamed(question.streamed, question.problem, question.partition, question.inputs));
  }
  report(state, static_cast<double>(state.range(0)));
}
BENCHMARK(streamed_attention)->Arg(512)->Arg(4096)->Unit(benchmark::kSecond);

void streamed_attention_causal(benchmark::State& state) {
  const Question question(state.range(0), {Mask::Kind::causal, 0, 0});
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_streamed(question.streamed, question.problem, question.partition, question.inputs));
  }
}
BENCHMARK(streamed_attention_causal)->Arg(4096)->Unit(benchmark::kSecond);

void streamed_attention_bf16(benchmark::State& state) {
  const Question question(state.range(0), {});
  RunOptions options;
  options.precision.storage = DType::bf16;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        run_streamed(question.streamed, question.problem, question.partition, question.inputs, options));
  }
}
BENCHMARK(streamed_attention_bf16)->Arg(4096)->Unit(benchmark::kSecond);

void unfused_attention(benchmark::State& state) {
  const Question question(state.range(0), {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_unfused(question.diagram, question.problem, question.inputs));
  }
}
BENCHMARK(unfused_attention)->Arg(4096)->Unit(benchmark::kSecond);

}  // namespace
