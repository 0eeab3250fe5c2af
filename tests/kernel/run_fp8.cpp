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
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "kernels/launch/attention_fp8_device.hpp"
#include "kernels/launch/measure.hpp"
#include "kernels/launch/run.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/picks.hpp"

namespace {

using namespace napkin;
using test::knobs_of;
using test::parts_of;
using test::Pick;
using Json = nlohmann::ordered_json;
using test::Fp8Case;

struct Question {
  AttentionSizes sizes;
  bool causal = false;
};

struct Request {
  bool check = false, time = false, predict = false, compile = false, bf16 = false, log_sum_exp = false;
  std::size_t shapes = 21;
  int tiles = 2;
  std::int64_t d = 0;  // 0: all
  std::vector<Question> questions;
  std::vector<Pick> tiles_given;
  bool causal = false;
};

/// 16k tokens of 2,048 columns, as FlashAttention-3's paper has them.
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

Request read(const std::vector<std::string>& words) {
  Request r;
  const std::map<std::string, bool*> switches = {
      {"--check", &r.check}, {"--time", &r.time},     {"--predict", &r.predict}, {"--compile", &r.compile},
      {"--bf16", &r.bf16},   {"--causal", &r.causal}, {"--lse", &r.log_sum_exp}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto found = switches.find(word); found != switches.end()) {
      *found->second = true;
      continue;
    }
    if (++i >= words.size()) throw Error("arguments", word + " wants a value");
    const std::string& value = words[i];
    if (word == "--shapes") {
      r.shapes = std::stoul(value);
    } else if (word == "--tiles") {
      r.tiles = std::stoi(value);
    } else if (word == "--d") {
      r.d = std::stoll(value);
    } else if (word == "--tile") {
      r.tiles_given.push_back({knobs_of(value), std::nullopt});
    } else if (word == "--shape") {
      std::vector<std::int64_t> n;
      for (const std::string& part : parts_of(value)) n.push_back(std::stoll(part));
      if (n.size() != 6) throw Error("--shape", "has not six sizes", "b,h,g,q,x,d");
      r.questions.push_back({{n[0], n[1], n[2], n[3], n[4], n[5], n[5]}, false});
    } else {
      throw Error("arguments", "'" + word + "' is unknown");
    }
  }
  for (Question& one : r.questions) one.causal = r.causal;
  if (r.questions.empty()) r.questions = timed_questions(r.d);
  r.time = r.time || !r.tiles_given.empty();
  return r;
}

void report(const Comparison& c, Json& out) {
  out["max_error"] = c.max_error;
  out["reference_error"] = c.reference_error;
  out["lse_error"] = c.lse_error;
  out["rows"] = c.rows;
  out["unwritten"] = c.unwritten;
  out["good"] = c.good();
}

ReadyLaunch ready(Runtime& runtime, const Fp8Case& one, const AttentionCall& call) {
  const auto laid_out = test::lay_out(one);
  return runtime.prepare(attention_fp8_sm90_plan(laid_out->place(one.tile), call, runtime.device().launch_device()));
}

bool check(Runtime& runtime, std::size_t shapes) {
  std::size_t wrong = 0, all = 0;
  double worst = 0;
  for (const Fp8Case& one : test::fp8_cases(shapes)) {
    Json out;
    out["case"] = test::describe(one);
    bool good = false;
    try {
      const Fp8Device data(runtime.device(), one.layout, one.scales);
      const ReadyLaunch launch = ready(runtime, one, data.call());
      data.poison();
      launch();
      const std::vector<std::uint16_t> first = data.output();
      data.poison();
      launch();
      const Comparison compared = data.compare(48);
      report(compared, out);
      out["repeats"] = data.output() == first;
      good = out["good"] && out["repeats"];
      worst = std::max(worst, compared.max_error / allowed_error(compared.reference_error, compared.rounding));
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

Mask mask_of(const Question& question) { return question.causal ? Mask{Mask::Kind::causal, 0, 0} : Mask{}; }

std::vector<Pick> picks_of(const Question& question, const Request& r, const std::string& kernel, int count) {
  if (!r.tiles_given.empty()) return r.tiles_given;
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.kernel = kernel;
  ask.shape = test::shape_of(question.sizes);
  ask.mask = mask_of(question);
  const bool fp8 = kernel == "attention_fp8_sm90";
  ask.dtype = fp8 ? "e4m3" : "bf16";
  // A running sum is asked for, not searched, and of so many columns there is no other.
  if (fp8 && question.sizes.dv > 128) ask.tile = parse_tile("accumulate=running");
  return test::ranked(ask, count);
}

/// By the field's convention: of a square causal problem half.
double flops_of(const Question& question) {
  AttentionLayout layout;
  layout.sizes = question.sizes;
  layout.mask = mask_of(question);
  return attention_flops(layout);
}

Json described(const std::string& kernel, const Question& question, const Pick& pick) {
  Json out{{"kernel", kernel}, {"causal", question.causal}};
  for (const auto& [axis, size] : test::shape_of(question.sizes)) out["shape"][axis] = size;
  for (const auto& [knob, value] : pick.tile) out["tile"][knob] = value;
  if (pick.predicted) {
    out["predicted"] = *pick.predicted;
    out["predicted_tflops"] = flops_of(question) / *pick.predicted / 1e12;
  }
  return out;
}

void time_launches(const Runtime& runtime, const ReadyLaunch& launch, const Question& question, Json& out) {
  TimingOptions options;
  options.l2 = L2State::warm;
  options.longest = Seconds(0.5);
  const LaunchTiming timing = time_launch(
      runtime.device(), [&] { launch(); }, options);
  out["time"] = timing.time.value;
  out["tflops"] = flops_of(question) / timing.time.value / 1e12;
  out["registers"] = launch.kernel().compiled.report.registers;
  out["spills"] = launch.kernel().compiled.report.spill_stores.value.get();
}

/// Without a log-sum-exp, which inference does not ask for.
AttentionLayout layout_of(const Question& question, DType type, bool log_sum_exp = false) {
  AttentionLayout layout;
  layout.log_sum_exp = log_sum_exp;
  layout.sizes = question.sizes;
  layout.mask = mask_of(question);
  layout.type = type;
  return layout;
}

void count_cycles(Runtime& runtime, const Fp8Case& one, const Fp8Device& data, const ReadyLaunch& plain, Json& out) {
  const DeviceMemory spans = cycle_spans(runtime.device());
  AttentionCall call = data.call();
  call.cycles = spans.address();
  const ReadyLaunch counting = ready(runtime, one, call);
  out["cycles"] = measure_cycles(
                      runtime.device(), [&] { plain(); }, [&] { counting(); }, spans)
                      .value;
  out["clock"] = out["cycles"].get<double>() / out["time"].get<double>();
}

bool time_one(Runtime& runtime, const Fp8Device& data, const Question& question, const Pick& pick) {
  Json out = described("attention_fp8_sm90", question, pick);
  bool good = true;
  try {
    const Fp8Case one{layout_of(question, DType::e4m3), Fp8Scales::head, pick.tile};
    const ReadyLaunch launch = ready(runtime, one, data.call());
    data.poison();
    launch();
    report(data.compare(4), out);
    good = out["good"];
    time_launches(runtime, launch, question, out);
    count_cycles(runtime, one, data, launch, out);
  } catch (const std::exception& error) {
    out["error"] = error.what();
    good = false;
  }
  std::cout << out.dump() << std::endl;
  return good;
}

void time_bf16(Runtime& runtime, const Question& question, const Pick& pick) {
  Json out = described("attention_sm90", question, pick);
  try {
    const test::AttentionProblem problem(runtime, "h200-sxm", layout_of(question, DType::bf16), pick.tile);
    time_launches(runtime, problem.launch(), question, out);
  } catch (const std::exception& error) {
    out["error"] = error.what();
  }
  std::cout << out.dump() << std::endl;
}

void compile_one(const Fp8Case& one, bool counting = false) {
  const Compilation done = compile(test::variant_of(one, counting), process_environment(), Objections::report);
  std::cout << Json{{"case", test::describe(one)},
                    {"registers", done.kernel.report.registers},
                    {"spills", done.kernel.report.spill_stores.value.get()},
                    {"faults", done.kernel.report.faults}}
                   .dump()
            << std::endl;
}

int run(const Request& r) {
  const std::string fp8 = "attention_fp8_sm90", bf16 = "attention_sm90";
  if (r.predict || r.compile) {
    if (r.compile && r.tiles_given.empty()) {
      for (const Fp8Case& one : test::fp8_cases(1)) compile_one(one);
    }
    for (const Question& question : r.questions) {
      for (const Pick& pick : picks_of(question, r, fp8, r.tiles)) {
        if (r.compile)
          for (const bool counting : {false, true})
            compile_one({layout_of(question, DType::e4m3), Fp8Scales::head, pick.tile}, counting);
        else
          std::cout << described(fp8, question, pick).dump() << std::endl;
      }
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = true;
  if (r.check) good = check(runtime, r.shapes);
  if (r.time) {
    for (const Question& question : r.questions) {
      const Fp8Device data(runtime.device(), layout_of(question, DType::e4m3, r.log_sum_exp), Fp8Scales::head);
      for (const Pick& pick : picks_of(question, r, fp8, r.tiles))
        good = time_one(runtime, data, question, pick) && good;
      if (!r.bf16) continue;
      for (const Pick& pick : picks_of(question, {}, bf16, 1)) time_bf16(runtime, question, pick);
    }
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_fp8: %s\n", error.what());
    return 2;
  }
}
