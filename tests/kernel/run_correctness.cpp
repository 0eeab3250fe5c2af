// Every bundled kernel against float64 on the GPU at hand (correctness_cases.hpp), one JSON object a case: what
// tests/measured/correctness holds.
//
//   run_correctness [--kernel attention_sm90] [--out FILE.jsonl] [--jobs 16] [--rows 48] [--every 1] [--first 0]
//                   [--longest 1000] [--grouped] [--padded]
//   run_correctness --compile [--jobs 2]     compiles every variant into the cache, without a GPU
//
// --every N: only every N-th case; --longest N: only those of at most N rows and keys; --grouped: only those of several
// query heads a key head; --padded: only those of heads that the kernel pads. Exit 1 where one is wrong.
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/library/judge/validation.hpp"
#include "apps/library/question/revision.hpp"
#include "kernels/jit/source.hpp"
#include "kernels/runtime/driver_version.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/program.hpp"
#include "tests/kernel/reports.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using Json = nlohmann::ordered_json;
using test::CorrectnessCase;

struct Options {
  std::string kernel, out;
  int jobs = 1;
  std::int64_t rows = 48;
  std::size_t every = 1, first = 0;
  std::int64_t longest = INT64_MAX;
  bool compile = false, grouped = false, padded = false;
};

int run(const Options& r) {
  std::vector<CorrectnessCase> cases;
  std::vector<CorrectnessCase> all = test::correctness_cases(r.kernel);
  std::erase_if(all, [&](const CorrectnessCase& one) {
    return std::any_of(one.shape.begin(), one.shape.end(), [&](const auto& size) { return size.second > r.longest; });
  });
  std::erase_if(all, [&](const CorrectnessCase& one) {
    return r.grouped && (one.kernel.starts_with("matmul") || one.attention.sizes.g == 1);
  });
  std::erase_if(all, [&](const CorrectnessCase& one) {
    const AttentionSizes& own = one.attention.sizes;
    const Mapping& mapping = test::built_in_mapping(one.kernel);
    return r.padded && (one.kernel.starts_with("matmul") ||
                        (mapping.size_for("d", own.d) == own.d && mapping.size_for("dv", own.dv) == own.dv));
  });
  for (std::size_t i = r.first; i < all.size(); i += r.every) cases.push_back(all[i]);
  test::compile_ahead(cases, r.jobs);
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
    for (std::size_t i = first; i < std::min(first + batch, cases.size()); ++i)
      running.emplace_back(test::describe_case(cases[i]), test::start(runtime, cases[i], r.rows));
    for (auto& [row, comparison] : running) {
      test::report(comparison.get(), row);
      row["device"] = runtime.device().properties().name;
      row["driver"] = driver_version();
      row["cuda"] = compiler ? compiler->version() : "";
      row["date"] = now_utc();
      row["revision"] = std::string(source_revision());
      row["source_hash"] = kernel_source_hash(row["kernel"].get<std::string>());
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
  Options r;
  CLI::App app("Every bundled kernel against float64", "run_correctness");
  app.add_flag("--compile", r.compile);
  app.add_flag("--grouped", r.grouped);
  app.add_flag("--padded", r.padded);
  app.add_option("--kernel", r.kernel);
  app.add_option("--out", r.out);
  app.add_option("--jobs", r.jobs);
  app.add_option("--rows", r.rows);
  app.add_option("--every", r.every);
  app.add_option("--longest", r.longest);
  app.add_option("--first", r.first);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
