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
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "kernels/launch/measure.hpp"
#include "kernels/launch/run.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/picks.hpp"
#include "tests/kernel/product_cases.hpp"

namespace {

using namespace napkin;
using test::knobs_of;
using test::parts_of;
using test::Pick;
using Json = nlohmann::ordered_json;

struct Question {
  DType type = DType::bf16;
  MatmulSizes sizes;
};

struct Request {
  bool check = false, time = false, predict = false, compile = false;
  int tiles = 2;
  std::string gpu = "h200-sxm";  ///< whose profile predicts
  std::optional<DType> type;
  std::optional<MatmulSizes> shape;
  std::optional<test::Knobs> tile;
};

std::string kernel_of(DType type) { return type == DType::e4m3 ? "matmul_fp8_sm90" : "matmul_sm90"; }

test::Shape shape_of(const MatmulSizes& s) { return {{"a", s.a}, {"b", s.b}, {"c", s.c}}; }

/// Few rows of the layers of models with 4,096 and 8,192 columns; squares.
std::vector<Question> timed_questions() {
  std::vector<Question> out;
  for (const auto& [b, c] : {std::pair{4096, 14336}, {14336, 4096}, {8192, 28672}, {28672, 8192}, {4096, 4096}}) {
    for (const std::int64_t rows : {16, 32, 64, 128}) out.push_back({DType::bf16, {rows, b, c}});
  }
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) out.push_back({DType::e4m3, {n, n, n}});
  return out;
}

MatmulSizes sizes_of(const std::string& text) {
  std::vector<std::int64_t> n;
  for (const std::string& part : parts_of(text)) n.push_back(std::stoll(part));
  if (n.size() != 3) throw Error("--shape", "has not three sizes", "a,b,c");
  return {n[0], n[1], n[2]};
}

Request read(const std::vector<std::string>& words) {
  Request r;
  const std::map<std::string, bool*> switches = {
      {"--check", &r.check}, {"--time", &r.time}, {"--predict", &r.predict}, {"--compile", &r.compile}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto found = switches.find(word); found != switches.end()) {
      *found->second = true;
      continue;
    }
    if (++i >= words.size()) throw Error("arguments", word + " wants a value");
    const std::string& value = words[i];
    if (word == "--tiles") {
      r.tiles = std::stoi(value);
    } else if (word == "--gpu") {
      r.gpu = value;
    } else if (word == "--type") {
      r.type = parse_dtype(value, "--type");
    } else if (word == "--tile") {
      r.tile = knobs_of(value);
    } else if (word == "--shape") {
      r.shape = sizes_of(value);
    } else {
      throw Error("arguments", "'" + word + "' is unknown");
    }
  }
  r.time = r.time || r.tile;
  return r;
}

std::vector<Question> questions_of(const Request& r) {
  if (r.shape) return {{r.type.value_or(DType::bf16), *r.shape}};
  std::vector<Question> out = timed_questions();
  std::erase_if(out, [&](const Question& one) { return r.type && one.type != *r.type; });
  return out;
}

/// The first `count` tiles of select's ranking, with the knobs that `fixed` gives.
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

std::vector<Pick> picks_of(const Question& question, const Request& r) {
  if (r.tile) return {{*r.tile, std::nullopt}};
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

Json described(const Question& question, const Pick& pick, const std::string& gpu) {
  Json out{{"gpu", gpu}, {"kernel", kernel_of(question.type)}, {"dtype", std::string(name_of(question.type))}};
  for (const auto& [axis, size] : shape_of(question.sizes)) out["shape"][axis] = size;
  for (const auto& [knob, value] : pick.tile) out["tile"][knob] = value;
  if (pick.predicted) out["predicted"] = *pick.predicted;
  return out;
}

void report(const Comparison& c, Json& out) {
  out["max_error"] = c.max_error;
  out["reference_error"] = c.reference_error;
  out["rows"] = c.rows;
  out["unwritten"] = c.unwritten;
  out["strayed"] = c.strayed;
  out["good"] = c.good();
}

test::CorrectnessCase case_of(const Question& question, const test::Knobs& tile) {
  test::CorrectnessCase one{kernel_of(question.type), question.type, {}, shape_of(question.sizes), tile, {}, {}};
  one.matmul.sizes = question.sizes;
  one.matmul.type = question.type;
  return one;
}

/// Twice, the second launch on what the first left in its counters.
bool right_twice(Runtime& runtime, const test::CorrectnessCase& one, Json& out) {
  const auto laid_out = test::correctness::lay_out(one);
  const PlacedDiagram placed = laid_out->place(one.tile);
  const auto trial = find_bundled(one.kernel)->trial(runtime, placed, {48, one.matmul.seed, 8});
  const ReadyLaunch launch = runtime.prepare(trial->plan(placed, false));
  bool good = true;
  for (int round = 0; round < 2; ++round) {
    trial->poison();
    launch();
    const Comparison compared = trial->check(KernelTrial::Extent::everything);
    if (round == 0 || !compared.good()) report(compared, out);
    good = good && compared.good();
  }
  return good;
}

bool check(Runtime& runtime) {
  std::size_t wrong = 0, all = 0;
  double worst = 0;
  for (const test::CorrectnessCase& one : test::product_cases()) {
    Json out;
    out["case"] = test::describe_case(one);
    bool good = false;
    try {
      good = right_twice(runtime, one, out);
      worst = std::max(worst, out["max_error"].get<double>() / (2 * out["reference_error"].get<double>() + 1e-5));
    } catch (const std::exception& error) {
      out["error"] = error.what();
    }
    ++all;
    if (good) continue;
    ++wrong;
    std::cout << out.dump() << std::endl;
  }
  std::cout << Json{{"cases", all}, {"wrong", wrong}, {"worst_of_allowed", worst}}.dump() << std::endl;
  return wrong == 0;
}

bool time_one(Runtime& runtime, const Question& question, const Pick& pick, const std::string& gpu) {
  Json out = described(question, pick, gpu);
  bool good = true;
  try {
    const test::CorrectnessCase one = case_of(question, pick.tile);
    const auto laid_out = test::correctness::lay_out(one);
    const PlacedDiagram placed = laid_out->place(one.tile);
    const auto trial = find_bundled(one.kernel)->trial(runtime, placed, {4, 1, 8});
    const ReadyLaunch launch = runtime.prepare(trial->plan(placed, false));
    trial->poison();
    launch();
    const Comparison compared = trial->check(KernelTrial::Extent::rows);
    report(compared, out);
    good = compared.good();
    TimingOptions options;
    options.longest = Seconds(0.5);
    const LaunchTiming timing = time_launch(
        runtime.device(), [&] { launch(); }, options);
    const ReadyLaunch counting = runtime.prepare(trial->plan(placed, true));
    out["time"] = timing.time.value;
    out["cycles"] = measure_cycles(
                        runtime.device(), [&] { launch(); }, [&] { counting(); }, trial->spans())
                        .value;
    const MatmulSizes& s = question.sizes;
    out["tflops"] = 2e-12 * static_cast<double>(s.a * s.b * s.c) / timing.time.value;
    out["registers"] = launch.kernel().compiled.report.registers;
    out["spills"] = launch.kernel().compiled.report.spill_stores.value.get();
  } catch (const std::exception& error) {
    out["error"] = error.what();
    good = false;
  }
  std::cout << out.dump() << std::endl;
  return good;
}

void compile_one(const test::CorrectnessCase& one) {
  const LaunchPlan plan = test::correctness::variant_of(one);
  const Compilation done = compile(plan, process_environment(), Objections::report);
  std::cout << Json{{"variant", plan.expression},
                    {"registers", done.kernel.report.registers},
                    {"spills", done.kernel.report.spill_stores.value.get()},
                    {"faults", done.kernel.report.faults}}
                   .dump()
            << std::endl;
}

int run(const Request& r) {
  const std::vector<Question> questions = questions_of(r);
  if (r.compile && !r.shape) {
    for (const test::CorrectnessCase& one : test::product_cases()) compile_one(one);
  }
  if (r.predict || r.compile) {
    for (const Question& question : questions) {
      for (const Pick& pick : picks_of(question, r)) {
        if (r.compile)
          compile_one(case_of(question, pick.tile));
        else
          std::cout << described(question, pick, r.gpu).dump() << std::endl;
      }
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = true;
  if (r.check) good = check(runtime);
  if (r.time) {
    for (const Question& question : questions) {
      for (const Pick& pick : picks_of(question, r)) good = time_one(runtime, question, pick, r.gpu) && good;
    }
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_products: %s\n", error.what());
    return 2;
  }
}
