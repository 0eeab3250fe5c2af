// attention_fp8_sm90 on the GPU at hand, one JSON object a line: right against float64, and how fast.
//
//   run_fp8 --check [--shapes 21]      the emulator's cases (fp8_cases.hpp), two launches each
//   run_fp8 --time [--tiles 2] [--d 128] [--bf16]
//                                      d of 64, 128, 256, or that one, s of 512 to 16384, causal or not: the tiles that
//                                      select ranks first beside what was predicted; --bf16: and attention_sm90's first
//   run_fp8 --tile x=128,stages=3 [--tile ...] --shape b,h,g,q,x,d [--causal]     those tiles
//   --lse with either: and the log-sum-exp
//   run_fp8 --predict                  what --time predicts, without a GPU
//   run_fp8 --compile                  the variants of --check and --time into the cache, without a GPU
//
// Exit 1 where a result is wrong.
#include "kernels/reference/bytes_device.hpp"
#include "tests/kernel/attention_question.hpp"
#include "tests/kernel/fp8_cases.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::Fp8Case;
using test::Pick;
using test::Row;
using Question = test::AttentionQuestion;

struct Options {
  test::BenchOptions bench;
  bool bf16 = false, log_sum_exp = false, causal = false;
  std::size_t shapes = 21;
  std::int64_t d = 0;  // 0: all
};

/// Lists questions of 16k tokens and 2,048 columns, as in FlashAttention-3's paper.
std::vector<Question> timed_questions(std::int64_t only) {
  std::vector<Question> out;
  for (const std::int64_t d : {64, 128, 256}) {
    if (only != 0 && only != d) continue;
    for (std::int64_t s = 512; s <= 16384; s *= 2) {
      for (const bool causal : {false, true}) out.push_back({{16384 / s, 2048 / d, 1, s, s, d, d}, causal});
    }
  }
  return out;
}

std::vector<Question> questions_of(const Options& r) {
  if (r.bench.shape.empty()) return timed_questions(r.d);
  return {test::question_of_shape(r.bench, r.causal)};
}

ReadyLaunch ready(Runtime& runtime, const Fp8Case& one, const AttentionCall& call) {
  const auto laid_out = test::lay_out(one);
  return runtime.prepare(attention_fp8_sm90_plan(laid_out->place(one.tile), call, runtime.device().launch_device()));
}

bool check(Runtime& runtime, std::size_t shapes) {
  std::vector<Fp8Case> cases = test::fp8_cases(shapes);
  for (Fp8Case& one : test::fp8_cases_of_undivided_groups()) cases.push_back(std::move(one));
  return test::check_cases(cases, [&](const Fp8Case& one, Row& out) {
    out["case"] = test::describe(one);
    Fp8Device data(runtime.device(), one.layout, one.scales);
    return test::check_twice(data, ready(runtime, one, data.call()), 48, out);
  });
}

std::vector<Pick> picks_of(const Question& question, const std::string& gpu, const std::string& kernel, int count) {
  const bool fp8 = kernel == "attention_fp8_sm90";
  Ask ask = test::ask_of(question, gpu, kernel, fp8 ? DType::e4m3 : DType::bf16);
  // accumulate=running is not searched, and is the only value for so many columns.
  if (fp8 && question.sizes.dv > 128) ask.tile = parse_tile("accumulate=running");
  return test::ranked(ask, count);
}

std::vector<Pick> picks_of(const Question& question, const Options& r) {
  return r.bench.given.empty() ? picks_of(question, r.bench.gpu, "attention_fp8_sm90", r.bench.tiles) : r.bench.given;
}

void time_launches(const Runtime& runtime, const ReadyLaunch& launch, const Question& question, Row& out) {
  TimingOptions options;
  options.l2 = L2State::warm;
  options.longest = Seconds(0.5);
  test::report(time_launch(
                   runtime.device(), [&] { launch(); }, options),
               flops_of(question), out);
  test::report(launch.kernel().compiled.report, out);
}

void count_cycles(Runtime& runtime, const Fp8Case& one, const Fp8Device& data, const ReadyLaunch& plain, Row& out) {
  const DeviceMemory spans = cycle_spans(runtime.device());
  AttentionCall call = data.call();
  call.cycles = spans.address();
  const ReadyLaunch counting = ready(runtime, one, call);
  out["cycles"] = measure_cycles(
                      runtime.device(), [&] { plain(); }, [&] { counting(); }, spans)
                      .value;
}

bool time_one(Runtime& runtime, const Fp8Device& data, const Question& question, const Pick& pick) {
  return test::print_filled(described("attention_fp8_sm90", question, pick), [&](Row& out) {
    const Fp8Case one{{layout_of(question, DType::e4m3), pick.tile}, Fp8Scales::head};
    const ReadyLaunch launch = ready(runtime, one, data.call());
    data.poison();
    launch();
    test::report(data.compare(4), out);
    time_launches(runtime, launch, question, out);
    count_cycles(runtime, one, data, launch, out);
  });
}

/// Times attention_sm90's first tile, for comparison.
void time_bf16(Runtime& runtime, const Question& question, const std::string& gpu) {
  for (const Pick& pick : picks_of(question, gpu, "attention_sm90", 1)) {
    test::print_filled(described("attention_sm90", question, pick), [&](Row& out) {
      const test::AttentionProblem problem(runtime, gpu, layout_of(question, DType::bf16), pick.tile);
      time_launches(runtime, problem.launch(), question, out);
    });
  }
}

void compile_one(const Fp8Case& one, bool counting) {
  test::compile_variant(test::describe(one), test::variant_of(one, counting));
}

void compile_all(const Options& r) {
  if (r.bench.given.empty()) {
    for (const Fp8Case& one : test::fp8_cases(1)) compile_one(one, false);
  }
  for (const Question& question : questions_of(r)) {
    for (const Pick& pick : picks_of(question, r)) {
      for (const bool counting : {false, true})
        compile_one({{layout_of(question, DType::e4m3), pick.tile}, Fp8Scales::head}, counting);
    }
  }
}

bool time_all(Runtime& runtime, const Options& r) {
  bool good = true;
  for (const Question& question : questions_of(r)) {
    const Fp8Device data(runtime.device(), layout_of(question, DType::e4m3, r.log_sum_exp), Fp8Scales::head);
    for (const Pick& pick : picks_of(question, r)) good = time_one(runtime, data, question, pick) && good;
    if (r.bf16) time_bf16(runtime, question, r.bench.gpu);
  }
  return good;
}

int run(const Options& r) {
  if (r.bench.compile) {
    compile_all(r);
    return 0;
  }
  if (r.bench.predict) {
    for (const Question& question : questions_of(r)) {
      for (const Pick& pick : picks_of(question, r)) test::print(described("attention_fp8_sm90", question, pick));
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  const bool right = !r.bench.check || check(runtime, r.shapes);
  const bool timed_right = !r.bench.time || time_all(runtime, r);
  return right && timed_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  CLI::App app("attention_fp8_sm90: right, and how fast", "run_fp8");
  test::add_bench(app, r.bench);
  app.add_option("--shapes", r.shapes);
  app.add_option("--d", r.d);
  app.add_flag("--bf16", r.bf16);
  app.add_flag("--causal", r.causal);
  app.add_flag("--lse", r.log_sum_exp);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
