// How long a prediction and a selection take, and how a selection grows with its space. One core; medians of
// repetitions. Budgets: a prediction 20 us, a selection over all of attention_sm90 100 us, a repeated question 1 us.
#include <benchmark/benchmark.h>

#include "model/clock/period.hpp"
#include "model/clock/prediction.hpp"
#include "solver/select/select.hpp"
#include "solver/space/enumerate.hpp"
#include "tests/unit/select/case.hpp"

namespace {

using namespace napkin;
using napkin::testing::Case;

/// `masked`: 0 no mask, 1 causal, 2 a window of 1024 keys.
Case attention(std::int64_t d, std::int64_t g = 1, std::int64_t masked = 0) {
  Mask mask;
  if (masked == 1) mask.kind = Mask::Kind::causal;
  if (masked == 2) mask = {Mask::Kind::window, 1024, 0};
  return Case("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16 / g}, {"g", g}, {"q", 8192}, {"x", 8192}, {"d", d}},
              mask);
}

/// One prediction by the first clock, which searches thousands of tiles: place, plan, transfers, predict.
void prediction(benchmark::State& state) {
  const Case c = attention(state.range(0));
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const Tile tile = c.tile({{"x", 80}});
  PlacedDiagram placed;
  for (auto _ : state) {
    placer.place(tile, placed);
    const Plan needs = plan(placed);
    benchmark::DoNotOptimize(transfers(placed));
    benchmark::DoNotOptimize(predict_by_first_clock(placed, needs));
  }
}

/// How large a graph is.
void count(benchmark::State& state, const EventGraph& graph) {
  double jobs = 0;
  for (const int instances : graph.instances) jobs += instances;
  state.counters["jobs_an_iteration"] = jobs;
  state.counters["edges"] = static_cast<double>(graph.edges.size());
}

/// The same by the event graph, explained. The graph of one warpgroup is the smallest, that of three the largest.
void prediction_by_graph(benchmark::State& state) {
  const Case c = attention(128);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const PlacedDiagram placed =
      placer.place(c.tile({{"x", 80}, {"warpgroups", state.range(0)}, {"q", 64 * state.range(0)}}));
  const Plan needs = plan(placed);
  for (auto _ : state) benchmark::DoNotOptimize(predict(placed, needs));
  count(state, event_graph(placed));
}

/// What `napkin select` answers: the first clock's best sizes, ranked by the event graph.
void selection_by_graph(benchmark::State& state) {
  const Case c = attention(state.range(0), 1, state.range(1));
  const Question question = c.question();
  for (auto _ : state) benchmark::DoNotOptimize(shortlist(question, 5));
}

/// The first five of all tiles by the event graph, from nothing but the question.
void selection_of_all_by_graph(benchmark::State& state) {
  const Case c = attention(state.range(0), 1, state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(select(c.question(), 5, graph_objective()));
}

/// The same of a process that has met the kind of question before, at 97 lengths: other ones of the same range.
void selection_of_all_by_graph_next(benchmark::State& state) {
  const Case c = attention(state.range(0), 1, state.range(1));
  Selector selector(graph_objective(), 1);
  Question question = c.question();
  std::int64_t length = 4096;
  const auto ask = [&](std::int64_t step) {
    length = 4096 + (length - 4096 + step) % 9409;
    for (const char* axis : {"q", "x"})
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis(axis))] = Count(length);
    benchmark::DoNotOptimize(&selector.select(question, 5));
  };
  for (int i = 0; i < 97; ++i) ask(97);
  for (auto _ : state) ask(61);
}

/// Periods of graphs of one to three warpgroups: the part of a prediction by the graph that grows with it.
void period_of_graph(benchmark::State& state) {
  const Case c = attention(128);
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const EventGraph graph =
      event_graph(placer.place(c.tile({{"x", 80}, {"warpgroups", state.range(0)}, {"q", 64 * state.range(0)}})));
  for (auto _ : state) benchmark::DoNotOptimize(period(graph, false));
  count(state, graph);
}

/// The same for a question that has not been asked before: names resolved anew.
void prediction_from_scratch(benchmark::State& state) {
  const Case c = attention(state.range(0));
  const Tile tile = c.tile({{"x", 80}});
  for (auto _ : state) {
    const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
    const PlacedDiagram placed = placer.place(tile);
    const Plan needs = plan(placed);
    benchmark::DoNotOptimize(transfers(placed));
    benchmark::DoNotOptimize(predict_by_first_clock(placed, needs));
  }
}

void report(benchmark::State& state, const Question& question) {
  state.counters["candidates"] = static_cast<double>(select(question, 1).candidates);
  state.counters["legal"] = static_cast<double>(tally(question).legal);
}

void run_select(benchmark::State& state, const Question& question) {
  for (auto _ : state) benchmark::DoNotOptimize(select(question, 5));
  report(state, question);
}

/// The whole space of attention_sm90, from nothing but the question.
void selection(benchmark::State& state) {
  const Case c = attention(state.range(0));
  run_select(state, c.question());
}

void selection_causal(benchmark::State& state) {
  const Case c = attention(state.range(0), 1, 1);
  run_select(state, c.question());
}

/// Eight query heads to a key head: four times the space.
void selection_grouped(benchmark::State& state) {
  const Case c = attention(state.range(0), 8);
  run_select(state, c.question());
}

/// Questions never asked before, of a kind that was: what a process asks from its second question on. The lengths of
/// the sequences change from one question to the next.
void selection_next(benchmark::State& state) {
  const Case c = attention(state.range(0), 1, state.range(1));
  Selector selector({}, 1);
  Question question = c.question();
  (void)selector.select(question, 5);
  std::int64_t turn = 0;
  for (auto _ : state) {
    for (const char* axis : {"q", "x"}) {
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis(axis))] = Count(8192 + 128 * (turn % 97));
    }
    ++turn;
    benchmark::DoNotOptimize(&selector.select(question, 5));
  }
  report(state, question);
}

/// What the command prints beside the ranking: the counts by constraint, and the sentence of reasons.
void counting(benchmark::State& state) {
  const Case c = attention(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(tally(c.question()));
}

void explaining(benchmark::State& state) {
  const Case c = attention(state.range(0));
  const Selection selected = select(c.question(), 5);
  for (auto _ : state) benchmark::DoNotOptimize(explain(c.question(), selected));
}

void selection_exhaustive(benchmark::State& state) {
  const Case c = attention(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(select_exhaustively(c.question(), 5));
  report(state, c.question());
}

void repeated_question(benchmark::State& state) {
  const Case c = attention(state.range(0));
  Selector selector;
  const Question question = c.question();
  for (auto _ : state) benchmark::DoNotOptimize(&selector.select(question, 5));
}

/// Spaces of 10 to 10,000 candidates and more, legal and not, out of one mapping: `size` values of x times the rest.
void growth(benchmark::State& state) {
  Case c = attention(128);
  const auto first = [&](const std::string& knob, std::size_t count) {
    auto domain = c.mapping.knobs[static_cast<std::size_t>(*c.mapping.find_knob(knob))].domain;
    if (domain.size() > count) domain.resize(count);
    c.restrict(knob, domain);
  };
  const auto step = static_cast<std::size_t>(state.range(0));
  c.restrict("x", {176, 160, 128, 112, 96, 80, 64, 48, 32, 16, 144, 192, 208, 224, 240, 256});
  first("x", step == 0 ? 10 : 16);
  first("warpgroups", step < 2 ? 1 : 3);
  first("q", step < 2 ? 1 : step < 4 ? 3 : 15);
  for (const char* knob : {"p_in", "overlap", "cluster", "pingpong"}) first(knob, step < 1 ? 1 : step < 3 ? 2 : 2);
  first("stages", step < 3 ? 1 : 4);
  first("order", step < 3 ? 1 : 3);
  if (step == 1) first("pingpong", 1);
  run_select(state, c.question());
}

void budget(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMicrosecond)->Repetitions(5)->ReportAggregatesOnly();
}
void sizes(benchmark::internal::Benchmark* b) {
  budget(b);
  for (const int d : {64, 96, 128, 192, 256}) b->Arg(d);
}

BENCHMARK(prediction)->Arg(128)->Apply(budget);
BENCHMARK(prediction_from_scratch)->Arg(128)->Apply(budget);
BENCHMARK(prediction_by_graph)->ArgName("warpgroups")->DenseRange(1, 3)->Apply(budget);
BENCHMARK(selection_by_graph)->ArgNames({"d", "causal"})->Apply(budget)->ArgsProduct({{64, 128, 256}, {0, 1}});
BENCHMARK(period_of_graph)->ArgName("warpgroups")->DenseRange(1, 3)->Apply(budget);
BENCHMARK(selection_of_all_by_graph)->ArgNames({"d", "causal"})->Apply(budget)->ArgsProduct({{64, 128, 256}, {0, 1}});
BENCHMARK(selection_of_all_by_graph_next)
    ->ArgNames({"d", "mask"})
    ->Apply(budget)
    ->ArgsProduct({{64, 128, 256}, {0, 1, 2}});
BENCHMARK(selection)->ArgName("d")->Apply(sizes);
BENCHMARK(selection_causal)->ArgName("d")->Apply(sizes);
BENCHMARK(selection_next)->ArgNames({"d", "causal"})->Apply(budget)->ArgsProduct({{64, 96, 128, 192, 256}, {0, 1}});
BENCHMARK(counting)->ArgName("d")->Arg(128)->Apply(budget);
BENCHMARK(explaining)->ArgName("d")->Arg(128)->Apply(budget);
BENCHMARK(selection_grouped)->ArgName("d")->Arg(128)->Apply(budget);
BENCHMARK(selection_exhaustive)->ArgName("d")->Arg(128)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(repeated_question)->ArgName("d")->Arg(128)->Apply(budget);
BENCHMARK(growth)->ArgName("step")->DenseRange(0, 4)->Apply(budget);

}  // namespace
