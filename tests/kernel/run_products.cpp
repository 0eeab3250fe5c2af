// Products with parts (split-K) and of e4m3 on the GPU at hand, one JSON object a line: right against float64, and how
// fast.
//
//   run_products --check               the emulator's cases (product_cases.hpp), two launches each
//   run_products --time [--tiles 2] [--type bf16] [--gpu h200-sxm]
//                                      few rows of an LLM's layers (bf16), squares (e4m3): the tiles that select ranks
//                                      first, and the first one of whole tiles, beside what was predicted
//   run_products --tile a=64,c=128,... --shape a,b,c [--type bf16]     that tile
//   run_products --predict             what --time predicts, without a GPU
//   run_products --compile [--shape a,b,c]
//                                      the variants of --check and --time, or of that shape, into the cache, without a
//                                      GPU
//
// Exit 1 where a result is wrong.
#include <algorithm>

#include "tests/kernel/bench.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/product_cases.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::CorrectnessCase;
using test::Pick;
using test::Row;

struct Question {
  DType type = DType::bf16;
  MatmulSizes sizes;
};

struct Options {
  test::BenchOptions bench;
  std::optional<DType> type;
};

std::string kernel_of(DType type) { return type == DType::e4m3 ? "matmul_fp8_sm90" : "matmul_sm90"; }

test::Shape shape_of(const MatmulSizes& s) { return {{"a", s.a}, {"b", s.b}, {"c", s.c}}; }

/// Returns the questions: few rows of layers of models with 4,096 and 8,192 columns, and squares.
std::vector<Question> timed_questions() {
  std::vector<Question> out;
  for (const auto& [b, c] : {std::pair{4096, 14336}, {14336, 4096}, {8192, 28672}, {28672, 8192}, {4096, 4096}}) {
    for (const std::int64_t rows : {16, 32, 64, 128}) out.push_back({DType::bf16, {rows, b, c}});
  }
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) out.push_back({DType::e4m3, {n, n, n}});
  return out;
}

std::vector<Question> questions_of(const Options& r) {
  if (!r.bench.shape.empty()) {
    const std::vector<std::int64_t>& n = shape_as(r.bench, "a,b,c");
    return {{r.type.value_or(DType::bf16), {n[0], n[1], n[2]}}};
  }
  std::vector<Question> out = timed_questions();
  std::erase_if(out, [&](const Question& one) { return r.type && one.type != *r.type; });
  return out;
}

/// Returns the first `count` tiles of select's ranking, with the knobs that `fixed` gives.
std::vector<Pick> ranked(const Question& question, const std::string& gpu, int count,
                         const std::vector<std::string>& fixed) {
  Ask ask;
  ask.algorithm = "matmul";
  ask.gpu = gpu;
  ask.kernel = kernel_of(question.type);
  ask.shape = shape_of(question.sizes);
  ask.dtype = std::string(name_of(question.type));
  for (const std::string& knob : fixed) {
    for (const auto& [name, value] : parse_tile(knob)) ask.tile.emplace_back(name, value);
  }
  return test::ranked(ask, count);
}

std::vector<Pick> picks_of(const Question& question, const test::BenchOptions& r) {
  if (!r.given.empty()) return r.given;
  std::vector<Pick> out = ranked(question, r.gpu, r.tiles, {});
  const auto known = [&](const Pick& pick) {
    return std::any_of(out.begin(), out.end(), [&](const Pick& one) { return one.tile == pick.tile; });
  };
  const auto add = [&](const std::vector<std::string>& fixed) {
    for (const Pick& pick : ranked(question, r.gpu, 1, fixed)) {
      if (!known(pick)) out.push_back(pick);
    }
  };
  add({"split=1"});
  if (question.type == DType::e4m3) add({"accumulate=running"});
  return out;
}

Row described(const Question& question, const Pick& pick, const std::string& gpu) {
  Row out{{"gpu", gpu}, {"kernel", kernel_of(question.type)}, {"dtype", std::string(name_of(question.type))}};
  test::report(shape_of(question.sizes), pick.tile, out);
  if (pick.predicted) out["predicted"] = *pick.predicted;
  return out;
}

CorrectnessCase case_of(const Question& question, const test::Knobs& tile) {
  CorrectnessCase one{kernel_of(question.type), question.type, {}, shape_of(question.sizes), tile, {}, {}};
  one.matmul.sizes = question.sizes;
  one.matmul.type = question.type;
  return one;
}

/// A product's arrays on the device and its launch.
struct Trial {
  Trial(Runtime& runtime, const CorrectnessCase& one, const TrialOptions& options)
      : laid_out(test::correctness::lay_out(one)),
        placed(laid_out->place(one.tile)),
        arrays(find_bundled(one.kernel)->trial(runtime, placed, options)),
        launch(runtime.prepare(arrays->plan(placed, false))) {}

  [[nodiscard]] Comparison compare(KernelTrial::Extent extent) const {
    arrays->poison();
    launch();
    return arrays->check(extent);
  }

  std::unique_ptr<test::LaidOut> laid_out;
  PlacedDiagram placed;
  std::unique_ptr<KernelTrial> arrays;
  ReadyLaunch launch;
};

/// Checks two launches, the second with the counters that the first has left.
bool check(Runtime& runtime) {
  return test::check_cases(test::product_cases(), [&](const CorrectnessCase& one, Row& out) {
    out["case"] = test::describe_case(one);
    const Trial trial(runtime, one, {48, one.matmul.seed, 8});
    const Comparison first = trial.compare(KernelTrial::Extent::everything),
                     second = trial.compare(KernelTrial::Extent::everything);
    test::report(first.good() ? second : first, out);
    return std::max(test::of_allowed(first), test::of_allowed(second));
  });
}

bool time_one(Runtime& runtime, const Question& question, const Pick& pick, const std::string& gpu) {
  return test::print_filled(described(question, pick, gpu), [&](Row& out) {
    const Trial trial(runtime, case_of(question, pick.tile), {4, 1, 8});
    test::report(trial.compare(KernelTrial::Extent::rows), out);
    TimingOptions options;
    options.longest = Seconds(0.5);
    const MatmulSizes& s = question.sizes;
    test::report(time_launch(
                     runtime.device(), [&] { trial.launch(); }, options),
                 2 * static_cast<double>(s.a * s.b * s.c), out);
    const ReadyLaunch counting = runtime.prepare(trial.arrays->plan(trial.placed, true));
    out["cycles"] = measure_cycles(
                        runtime.device(), [&] { trial.launch(); }, [&] { counting(); }, trial.arrays->spans())
                        .value;
    test::report(trial.launch.kernel().compiled.report, out);
  });
}

void compile_one(const CorrectnessCase& one) {
  const LaunchPlan plan = test::correctness::variant_of(one);
  test::compile_variant(plan.expression, plan);
}

int run(const Options& r) {
  const std::vector<Question> questions = questions_of(r);
  if (r.bench.compile || r.bench.predict) {
    if (r.bench.compile && r.bench.shape.empty()) {
      for (const CorrectnessCase& one : test::product_cases()) compile_one(one);
    }
    for (const Question& question : questions) {
      for (const Pick& pick : picks_of(question, r.bench)) {
        if (r.bench.compile)
          compile_one(case_of(question, pick.tile));
        else
          test::print(described(question, pick, r.bench.gpu));
      }
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = !r.bench.check || check(runtime);
  if (!r.bench.time) return good ? 0 : 1;
  for (const Question& question : questions) {
    for (const Pick& pick : picks_of(question, r.bench)) good = time_one(runtime, question, pick, r.bench.gpu) && good;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  CLI::App app("Products: right, and how fast", "run_products");
  test::add_bench(app, r.bench);
  test::add_text(app, "--type", [&](const std::string& text) { r.type = parse_dtype(text, "--type"); });
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
