// napkin_fp8_sm90 on the GPU at hand, one JSON object a line: right against float64, and how fast beside
// attention_fp8_sm90.
//
//   run_napkin --check [--shapes 14]      the emulator's cases (napkin_cases.hpp), two launches each
//   run_napkin --time [--tiles 2] [--rounds 3] [--shape b,h,g,q,x,d]... [--causal]
//                                         the paper's tile and those that select ranks first, in turns with the first
//                                         of attention_fp8_sm90's: a burst after a pause, and half a second
//   run_napkin --tile x=64,d_block=64 [--tile ...]     those tiles in place of them
//   run_napkin --predict                  what --time predicts, without a GPU
//   run_napkin --compile                  the variants of --check and --time into the cache, without a GPU
//
// Exit 1 where a result is wrong.
#include <chrono>
#include <thread>

#include "kernels/reference/bytes_device.hpp"
#include "tests/kernel/attention_question.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/napkin_cases.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::NapkinCase;
using test::Pick;
using test::Row;
using Question = test::AttentionQuestion;

struct Options {
  test::BenchOptions bench;
  bool causal = false;
  std::size_t shapes = 14;
  int rounds = 3;
};

/// Lists questions of 16k tokens and 16 heads, with the tile of the paper's tables 1 to 3.
std::vector<Question> questions_of(const Options& r) {
  if (!r.bench.shape.empty()) return {test::question_of_shape(r.bench, r.causal)};
  std::vector<Question> out;
  for (const std::int64_t s : {4096, 8192, 16384}) {
    for (const bool causal : {false, true}) out.push_back({{16384 / s, 16, 1, s, s, 128, 128}, causal});
  }
  return out;
}

AttentionLayout layout_of(const Question& question) { return test::layout_of(question, DType::e4m3); }

Ask ask_of(const Question& question, const std::string& gpu, const std::string& kernel) {
  return test::ask_of(question, gpu, kernel, DType::e4m3);
}

/// Returns a tile with its prediction.
Pick predicted(const Question& question, const std::string& gpu, const test::Knobs& tile) {
  Ask ask = ask_of(question, gpu, "napkin_fp8_sm90");
  ask.tile = tile;
  const std::vector<Pick> picks = test::ranked(ask, 1);
  return picks.empty() ? Pick{tile, std::nullopt} : picks.front();
}

std::vector<Pick> picks_of(const Question& question, const Options& r) {
  std::vector<Pick> out;
  if (r.bench.given.empty()) {
    const auto words = "warpgroups=3,q=384,x=64,u_x=64,d_block=32,d_step=8,accumulate=f16";
    out.push_back(predicted(question, r.bench.gpu, parse_tile(words)));
    for (Pick& pick : test::ranked(ask_of(question, r.bench.gpu, "napkin_fp8_sm90"), r.bench.tiles))
      out.push_back(std::move(pick));
  }
  for (const Pick& pick : r.bench.given) out.push_back(predicted(question, r.bench.gpu, pick.tile));
  return out;
}

/// A kernel with its arrays and its printed row.
struct Contestant {
  Row row;
  ReadyLaunch launch;
  bool good = true;
};

template <class Case, class Data, class Plan>
Contestant contestant(Runtime& runtime, const Case& one, const Data& data, Row row, const Plan& plan) {
  const auto laid_out = test::lay_out(one);
  const auto prepared = [&](const AttentionCall& call) {
    return runtime.prepare(plan(laid_out->place(one.tile), call, runtime.device().launch_device()));
  };
  Contestant out{std::move(row), prepared(data.call())};
  data.poison();
  out.launch();
  const Comparison compared = data.compare(4);
  test::report(compared, out.row);
  out.good = compared.good();
  const DeviceMemory spans = cycle_spans(runtime.device());
  AttentionCall call = data.call();
  call.cycles = spans.address();
  const ReadyLaunch counting = prepared(call);
  out.row["cycles"] = measure_cycles(
                          runtime.device(), [&] { out.launch(); }, [&] { counting(); }, spans)
                          .value;
  test::report(out.launch.kernel().compiled.report, out.row);
  return out;
}

void time_once(const Runtime& runtime, const Contestant& one, const Question& question, bool burst, int round) {
  TimingOptions options;
  options.warm_up = Seconds(burst ? 0.005 : 0.1);
  options.longest = Seconds(burst ? 0.05 : 0.5);
  options.queued = burst ? 2 : 20;
  options.least_runs = 5;
  if (burst) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  Row row = one.row;
  row["round"] = round;
  row["load"] = burst ? "burst" : "sustained";
  test::report(time_launch(
                   runtime.device(), [&] { one.launch(); }, options),
               flops_of(question), row);
  test::print(row);
}

bool time_question(Runtime& runtime, const Question& question, const Options& r) {
  const NapkinDevice data(runtime.device(), layout_of(question), 64);
  const Fp8Device beside(runtime.device(), layout_of(question), Fp8Scales::none);
  std::vector<Contestant> all;
  for (const Pick& pick : picks_of(question, r)) {
    const Row row = described("napkin_fp8_sm90", question, pick);
    try {
      all.push_back(contestant(runtime, NapkinCase{{layout_of(question), pick.tile}}, data, row, napkin_fp8_sm90_plan));
    } catch (const std::exception& error) {
      Row failed = row;
      failed["error"] = error.what();
      test::print(failed);
    }
  }
  for (const Pick& pick : test::ranked(ask_of(question, r.bench.gpu, "attention_fp8_sm90"), 1))
    all.push_back(contestant(runtime, test::Fp8Case{{layout_of(question), pick.tile}, Fp8Scales::none}, beside,
                             described("attention_fp8_sm90", question, pick), attention_fp8_sm90_plan));
  for (int round = 0; round < r.rounds; ++round) {
    for (const bool burst : {true, false}) {
      for (const Contestant& one : all) time_once(runtime, one, question, burst, round);
    }
  }
  return std::all_of(all.begin(), all.end(), [](const Contestant& one) { return one.good; });
}

bool check(Runtime& runtime, std::size_t shapes) {
  return test::check_cases(test::napkin_cases(shapes), [&](const NapkinCase& one, Row& out) {
    out["case"] = test::describe(one);
    NapkinDevice data(runtime.device(), one.layout, test::summed_keys(one));
    const auto laid_out = test::lay_out(one);
    const ReadyLaunch launch =
        runtime.prepare(napkin_fp8_sm90_plan(laid_out->place(one.tile), data.call(), runtime.device().launch_device()));
    return test::check_twice(data, launch, 48, out);
  });
}

void compile_all(const Options& r) {
  const auto both = [](const auto& one) {
    for (const bool counting : {false, true})
      test::compile_variant(test::describe(one), test::variant_of(one, counting));
  };
  if (r.bench.check) {
    for (const NapkinCase& one : test::napkin_cases(1))
      test::compile_variant(test::describe(one), test::variant_of(one));
  }
  for (const Question& question : questions_of(r)) {
    for (const Pick& pick : picks_of(question, r)) both(NapkinCase{{layout_of(question), pick.tile}});
    for (const Pick& pick : test::ranked(ask_of(question, r.bench.gpu, "attention_fp8_sm90"), 1))
      both(test::Fp8Case{{layout_of(question), pick.tile}, Fp8Scales::none});
  }
}

int run(const Options& r) {
  if (r.bench.compile) {
    compile_all(r);
    return 0;
  }
  if (r.bench.predict) {
    for (const Question& question : questions_of(r)) {
      for (const Pick& pick : picks_of(question, r)) test::print(described("napkin_fp8_sm90", question, pick));
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = !r.bench.check || check(runtime, r.shapes);
  if (r.bench.time) {
    for (const Question& question : questions_of(r)) good = time_question(runtime, question, r) && good;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  CLI::App app("napkin_fp8_sm90: right, and how fast", "run_napkin");
  test::add_bench(app, r.bench);
  app.add_option("--shapes", r.shapes);
  app.add_option("--rounds", r.rounds);
  app.add_flag("--causal", r.causal);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
