// Every bundled kernel against float64 on the GPU at hand (correctness_cases.hpp), one JSON object a case: what
// tests/measured/correctness holds.
//
//   run_correctness [--kernel attention_sm90] [--out FILE.jsonl] [--jobs 16] [--rows 48] [--every 1] [--first 0]
//                   [--longest 1000]
//   run_correctness --compile [--jobs 2]     compiles every variant into the cache, without a GPU
//
// --every N: only every N-th case; --longest N: only those of at most N rows and keys. Exit 1 where one is wrong.
#include <atomic>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "apps/library/revision.hpp"
#include "kernels/launch/driver_version.hpp"
#include "tests/kernel/correctness_cases.hpp"

namespace {

using namespace napkin;
using Json = nlohmann::ordered_json;
using test::CorrectnessCase;

struct Request {
  std::string kernel, out;
  int jobs = 1;
  std::int64_t rows = 48;
  std::size_t every = 1, first = 0;
  std::int64_t longest = INT64_MAX;
  bool compile = false;
};

Request read(int argc, char** argv) {
  Request r;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--compile") {
      r.compile = true;
      continue;
    }
    if (++i >= argc) throw Error("arguments", word + " wants a value");
    const std::string value = argv[i];
    if (word == "--kernel") r.kernel = value;
    else if (word == "--out") r.out = value;
    else if (word == "--jobs") r.jobs = std::stoi(value);
    else if (word == "--rows") r.rows = std::stoll(value);
    else if (word == "--every") r.every = std::stoul(value);
    else if (word == "--longest") r.longest = std::stoll(value);
    else if (word == "--first") r.first = std::stoul(value);
    else throw Error("arguments", "'" + word + "' is unknown");
  }
  return r;
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = {};
  static_cast<void>(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

Json describe_case(const CorrectnessCase& one) {
  Json out;
  out["kernel"] = one.kernel;
  out["dtype"] = std::string(name_of(one.type));
  out["mask"] = text_of(one.mask);
  for (const auto& [axis, size] : one.shape) out["shape"][axis] = size;
  for (const auto& [knob, value] : one.tile) out["tile"][knob] = value;
  if (one.kernel.starts_with("matmul")) {
    out["gap"] = one.matmul.gap;
    return out;
  }
  out["heads_first"] = one.attention.heads_first;
  out["gap"] = one.attention.gap;
  out["log_sum_exp"] = one.attention.log_sum_exp;
  if (!one.attention.q_lengths.empty()) out["packed"] = {{"q", one.attention.q_lengths}, {"x", one.attention.x_lengths}};
  return out;
}

/// Runs now; the comparison on the CPU is what the future waits for.
std::future<Comparison> start(Runtime& runtime, const CorrectnessCase& one, std::int64_t rows) {
  if (!one.kernel.starts_with("matmul")) {
    const test::AttentionProblem problem(runtime, "h200-sxm", one.attention, one.tile, one.kernel);
    problem.data().poison();
    problem.launch()();
    auto outcome = std::make_shared<HostAttention>(problem.data().download());
    return std::async(std::launch::async, [outcome, rows, seed = one.attention.seed] { return compare(*outcome, rows, seed); });
  }
  const MatmulData data(runtime, one.matmul);
  const auto laid_out = test::correctness::lay_out(one);
  data.poison();
  runtime.prepare(matmul_sm90_plan(laid_out->place(one.tile), data.call(), runtime.device().launch_device()))();
  auto inputs = std::make_shared<HostMatmul>(data.inputs());
  auto output = std::make_shared<HostMatrix>(data.output());
  return std::async(std::launch::async, [inputs, output, rows] {
    const std::vector<std::int64_t> sampled = spread_rows(inputs->sizes.a, rows, 1);
    const auto reference = reference_rows(*inputs, sampled);
    Comparison out;
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      const auto at = output->values.begin() + static_cast<std::ptrdiff_t>(output->at(sampled[i], 0));
      compare_row({at, at + inputs->sizes.c}, reference[i], inputs->type, out);
    }
    count_poison(*output, inputs->sizes.c, out);
    return out;
  });
}

void report(const Comparison& c, Json& out) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  out["max_error"] = finite(c.max_error);
  out["reference_error"] = finite(c.reference_error);
  out["lse_error"] = finite(c.lse_error);
  out["rows"] = c.rows;
  out["unwritten"] = c.unwritten;
  out["strayed"] = c.strayed;
  out["good"] = c.good();
}

void compile_ahead(const std::vector<CorrectnessCase>& cases, int jobs) {
  std::map<std::string, LaunchPlan> variants;
  for (const CorrectnessCase& one : cases) {
    LaunchPlan plan = test::correctness::variant_of(one);
    variants.emplace(plan.expression, std::move(plan));
  }
  std::vector<const LaunchPlan*> todo;
  for (const auto& [expression, plan] : variants) todo.push_back(&plan);
  std::fprintf(stderr, "%zu cases, %zu variants\n", cases.size(), todo.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < todo.size(); i = next++) {
      const CompileReport report = compile(*todo[i], process_environment(), Objections::report).kernel.report;
      const std::lock_guard lock(mutex);
      if (!report.clean()) std::fprintf(stderr, "objected to: %s\n", todo[i]->expression.c_str());
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < jobs; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

int run(const Request& r) {
  std::vector<CorrectnessCase> cases;
  std::vector<CorrectnessCase> all = test::correctness_cases(r.kernel);
  std::erase_if(all, [&](const CorrectnessCase& one) {
    return std::any_of(one.shape.begin(), one.shape.end(), [&](const auto& size) { return size.second > r.longest; });
  });
  for (std::size_t i = r.first; i < all.size(); i += r.every) cases.push_back(all[i]);
  compile_ahead(cases, r.jobs);
  if (r.compile) return 0;

  Runtime runtime(Device(), process_environment(), Objections::report);
  const auto compiler = Compiler::find(process_environment().compiler);
  std::ofstream file;
  if (!r.out.empty()) file.open(r.out, std::ios::app);
  std::ostream& to = r.out.empty() ? std::cout : file;
  std::size_t wrong = 0;
  const auto batch = static_cast<std::size_t>(std::max(r.jobs, 1));
  for (std::size_t first = 0; first < cases.size(); first += batch) {
    std::vector<std::pair<Json, std::future<Comparison>>> running;
    for (std::size_t i = first; i < std::min(first + batch, cases.size()); ++i) running.emplace_back(describe_case(cases[i]), start(runtime, cases[i], r.rows));
    for (auto& [row, comparison] : running) {
      report(comparison.get(), row);
      row["device"] = runtime.device().properties().name;
      row["driver"] = driver_version();
      row["cuda"] = compiler ? compiler->version() : "";
      row["date"] = date_now();
      row["revision"] = std::string(source_revision());
      wrong += row["good"].get<bool>() ? 0 : 1;
      if (!row["good"].get<bool>()) std::fprintf(stderr, "WRONG %s\n", row.dump().c_str());
      to << row.dump() << std::endl;
    }
  }
  std::fprintf(stderr, "%zu cases, %zu wrong\n", cases.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_correctness: %s\n", error.what());
    return 2;
  }
}
