// This benchmark times questions through the public functions: resolving one, the first of a process, further lengths,
// a repeated one, a given tile. It prints medians of repetitions on one core.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <vector>

#include "apps/library/question/question.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "napkin/napkin.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

Ask attention(std::int64_t s, bool causal = false) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.shape = {{"h", 16}, {"q", s}, {"x", s}, {"d", 128}};
  if (causal) ask.mask.kind = Mask::Kind::causal;
  return ask;
}

/// Returns the next length: 4096, 4160, ...; it repeats after 4096 of them.
std::int64_t next_length(std::int64_t& turn) { return 4096 + 64 * (turn++ % 4096); }

/// Times the resolution of a question in an empty session, which reads profile, algorithm and mappings.
void first_request(benchmark::State& state) {
  for (auto _ : state) {
    const Session session;
    benchmark::DoNotOptimize(question_of(session, attention(8192)));
  }
}

/// Times the resolution of a further length: only names, sizes and mask are resolved.
void further_request(benchmark::State& state) {
  const Session session;
  std::int64_t turn = 0;
  for (auto _ : state) benchmark::DoNotOptimize(question_of(session, attention(next_length(turn))));
}

/// Times the first select() of a process that has loaded its libraries and asked nothing: a child process, forked
/// before any other benchmark has asked, so that it inherits no profile, mapping or table. `processor`: processor time
/// in place of elapsed time, which other work on the machine changes more.
void first_of_a_process(benchmark::State& state) {
  struct {
    double seconds = 0, processor = 0;
  } took;
  double processor = 0;
  for (auto _ : state) {
    int ends[2];
    if (pipe(ends) != 0) return state.SkipWithError("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const auto start = std::chrono::steady_clock::now();  // clock() begins with the child
      benchmark::DoNotOptimize(select(attention(8192, state.range(0) != 0)));
      took.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      took.processor = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
      _exit(write(ends[1], &took, sizeof took) == sizeof took ? 0 : 1);
    }
    const bool told = child > 0 && read(ends[0], &took, sizeof took) == sizeof took;
    close(ends[0]), close(ends[1]);
    if (child > 0) waitpid(child, nullptr, 0);
    if (!told) return state.SkipWithError("the child did not answer");
    state.SetIterationTime(took.seconds);
    processor += took.processor;
  }
  state.counters["processor"] = benchmark::Counter(processor, benchmark::Counter::kAvgIterations);
}

/// Times the first selection of an empty session, in a process that has asked before.
void first_selection(benchmark::State& state) {
  for (auto _ : state) {
    const Session session;
    benchmark::DoNotOptimize(session.select(attention(8192, state.range(0) != 0)));
  }
}

/// Times a length that is new to a session which was asked 32 others of its kind, whose runs of event graphs serve this
/// one too. `whole`: with all parts of the answer, and four runners-up.
void further_selection(benchmark::State& state) {
  const Session session;
  const bool whole = state.range(1) != 0;
  const AnswerParts parts = whole ? AnswerParts::all() : AnswerParts();
  std::int64_t turn = 0;
  const auto next = [&] {
    return session.select(attention(next_length(turn), state.range(0) != 0), whole ? 5 : 1, parts);
  };
  while (turn < 32) benchmark::DoNotOptimize(next());
  for (auto _ : state) benchmark::DoNotOptimize(next());
}

/// Times 1,000 lengths in one call. The session keeps none of their answers; its table has every run that they need.
void many_selections(benchmark::State& state) {
  Ask common = attention(1, state.range(0) != 0);
  common.shape = {{"h", 16}, {"d", 128}};
  std::vector<NamedSizes> shapes;
  for (std::int64_t n = 1; n <= 1000; ++n) shapes.push_back({{"q", 64 * n}, {"x", 64 * n}});
  const Session session;
  (void)session.select_many(common, shapes);
  for (auto _ : state) benchmark::DoNotOptimize(session.select_many(common, shapes));
}

void repeated_selection(benchmark::State& state) {
  const Ask ask = attention(8192);
  (void)select(ask);
  for (auto _ : state) benchmark::DoNotOptimize(select(ask));
}

/// Returns the question with the tile that select picks at 8192, every knob given.
Ask with_selected_tile() {
  Ask ask = attention(8192);
  const auto selected = select(ask);
  ask.kernel = *selected->head.kernel;
  for (const KnobValue& knob : selected->head.tile)
    ask.tile.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
  return ask;
}

/// Times a tile of which every knob is given, at a new length each time. `whole`: with all parts of the answer.
void given_tile(benchmark::State& state) {
  Ask ask = with_selected_tile();
  const Session session;
  const AnswerParts parts = state.range(0) != 0 ? AnswerParts::all() : AnswerParts();
  std::int64_t turn = 0;
  for (auto _ : state) {
    ask.shape = attention(next_length(turn)).shape;
    benchmark::DoNotOptimize(session.query(ask, parts));
  }
}

/// Times legal tiles of one shape, another one each time; after the last it goes on with one head more, which needs no
/// new run. `met`: all tiles were asked once before, which made the runs that the shipped table lacks.
void tiles_of_one_question(benchmark::State& state) {
  Ask ask = with_selected_tile();
  const Session session;
  Ask of_kernel = attention(8192);
  of_kernel.kernel = ask.kernel;
  const Question question = question_of(session, of_kernel);
  const Setup& setup = question.setups.front();
  std::vector<TileValues> tiles;
  for (const Ranked& one : legal_tiles(setup)) tiles.push_back(values_of(*setup.mapping, one.tile));
  const auto query = [&](std::size_t turn) {
    ask.shape = attention(8192).shape;
    ask.shape.front().second += static_cast<std::int64_t>(turn / tiles.size());
    const TileValues& tile = tiles[turn % tiles.size()];
    for (std::size_t k = 0; k < tile.size(); ++k)
      ask.tile[k].second = tile[k].word.empty() ? std::to_string(tile[k].number) : tile[k].word;
    benchmark::DoNotOptimize(session.query(ask));
  };
  std::size_t turn = 0;
  while (state.range(0) != 0 && turn < tiles.size()) query(turn++);
  for (auto _ : state) query(turn++);
}

void median(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMicrosecond)->Repetitions(5)->ReportAggregatesOnly();
}

BENCHMARK(first_of_a_process)->ArgName("causal")->Arg(0)->Arg(1)->UseManualTime()->Apply(median);
BENCHMARK(first_request)->Apply(median);
BENCHMARK(further_request)->Apply(median);
BENCHMARK(repeated_selection)->Apply(median);
BENCHMARK(first_selection)->ArgName("causal")->Arg(0)->Arg(1)->Apply(median);
BENCHMARK(further_selection)->ArgNames({"causal", "whole"})->ArgsProduct({{0, 1}, {0, 1}})->Apply(median);
BENCHMARK(many_selections)->ArgName("causal")->Arg(0)->Arg(1)->UseRealTime()->MeasureProcessCPUTime()->Apply(median);
BENCHMARK(given_tile)->ArgName("whole")->Arg(0)->Arg(1)->Apply(median);
BENCHMARK(tiles_of_one_question)->ArgName("met")->Arg(0)->Arg(1)->Apply(median);

}  // namespace
