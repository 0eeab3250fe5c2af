// Times of the solver for one question: making a table, the first answer, a further length, its reason and counts. One
// core; medians of repetitions. bench_session.cpp times napkin::select as users call it.
#include <benchmark/benchmark.h>

#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "solver/explain/explain.hpp"
#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/workspace.hpp"
#include "tests/unit/select/case.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;

/// Makes a case of attention; `masked` is 0 for no mask, 1 for causal, 2 for a window of 1024 keys.
Case attention(std::int64_t d, std::int64_t masked = 0) {
  Mask mask;
  if (masked == 1) mask.kind = Mask::Kind::causal;
  if (masked == 2) mask = {Mask::Kind::window, 1024, 0};
  return Case("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", d}}, mask);
}

/// Times one prediction by the event graph, with its explanation. The graph of one warpgroup is the smallest, that of
/// three the largest.
void prediction(benchmark::State& state) {
  const Case c = attention(128);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const PlacedDiagram placed =
      placer.place(c.tile({{"x", 80}, {"warpgroups", state.range(0)}, {"q", 64 * state.range(0)}}));
  for (auto _ : state) {
    Periods periods;
    benchmark::DoNotOptimize(predict(placed, {.periods = &periods}));
  }
}

/// Times the periods of graphs of one to three warpgroups, on which making a table spends most of its time.
void period_of_graph(benchmark::State& state) {
  const Case c = attention(128);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const EventGraph graph =
      event_graph(placer.place(c.tile({{"x", 80}, {"warpgroups", state.range(0)}, {"q", 64 * state.range(0)}})));
  for (auto _ : state) benchmark::DoNotOptimize(period(graph, false));
}

void making_of_a_table(benchmark::State& state) {
  const Case c = attention(state.range(0), state.range(1));
  const Setup setup = c.setup();
  std::size_t rows = 0;
  for (auto _ : state) {
    Table table(setup);
    rows += table.candidates().legal().size();
  }
  state.counters["rows"] = static_cast<double>(rows);
}

/// Times the answer to a question of a new kind: the table, and the runs of event graphs that the answer needs.
void first_answer(benchmark::State& state) {
  const Case c = attention(state.range(0), state.range(1));
  const Setup setup = c.setup();
  for (auto _ : state) benchmark::DoNotOptimize(Selector(std::make_shared<Table>(setup), setup).rank(5));
}

/// Times lengths of 4096 to 13504 in steps of 64. Each was asked once before, so that the table has their runs.
template <class Ask>
void further_lengths(benchmark::State& state, const Ask& ask) {
  const Case c = attention(state.range(0), state.range(1));
  Setup setup = c.setup();
  setup.workspace = make_workspace();
  std::int64_t turn = 0;
  const auto next = [&] {
    for (const char* axis : {"q", "x"})
      setup.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis(axis))] = Count(4096 + 64 * (turn % 148));
    turn += 61;
    Selector selector(setup, *setup.workspace->tables);
    ask(selector);
  };
  for (int i = 0; i < 148; ++i) next();
  for (auto _ : state) next();
}

void ranking(benchmark::State& state) {
  further_lengths(state, [](Selector& selector) { benchmark::DoNotOptimize(selector.rank(5)); });
}

/// Times an answer with its reason and the counts of tiles by rule.
void whole_answer(benchmark::State& state) {
  further_lengths(state, [](Selector& selector) {
    const Selection selection = selector.rank(5);
    benchmark::DoNotOptimize(explain(selector, selection).sentence);
    benchmark::DoNotOptimize(selector.count_rejections());
  });
}

void exhaustive(benchmark::State& state) {
  const Case c = attention(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(select_exhaustively(c.setup()));
}

void budget(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMicrosecond)->Repetitions(5)->ReportAggregatesOnly();
}

BENCHMARK(prediction)->ArgName("warpgroups")->DenseRange(1, 3)->Apply(budget);
BENCHMARK(period_of_graph)->ArgName("warpgroups")->DenseRange(1, 3)->Apply(budget);
BENCHMARK(making_of_a_table)
    ->ArgNames({"d", "mask"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->ArgsProduct({{64, 128, 256}, {0, 1, 2}});
BENCHMARK(first_answer)
    ->ArgNames({"d", "mask"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->ArgsProduct({{64, 128, 256}, {0, 1, 2}});
BENCHMARK(ranking)->ArgNames({"d", "mask"})->Apply(budget)->ArgsProduct({{64, 128, 256}, {0, 1, 2}});
BENCHMARK(whole_answer)->ArgNames({"d", "mask"})->Apply(budget)->ArgsProduct({{64, 128, 256}, {0, 1, 2}});
BENCHMARK(exhaustive)->ArgName("d")->Arg(128)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
