// This program compares the kernels' machine code before and after a change of their text that must not change it. It
// needs no GPU.
//
//   run_machine_code [--kernel NAME]... > FILE
//   run_machine_code --known FILE [--kernel NAME]... [--sources ROOT] [--jobs 1] [--every 1] > NEW
//
// Without --known: a row for each variant of the correctness cases, of the emulator's and of the calibration. --kernel:
// of these kernels alone. --known: the rows of FILE's variants again; exit 1 if their code differs. --sources: the
// kernels' text is that below ROOT, not this program's. --jobs N threads; --every N takes one variant in N.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "kernels/jit/failure.hpp"
#include "kernels/micro/experiment.hpp"
#include "kernels/runtime/environment.hpp"
#include "model/base/parallel.hpp"
#include "tests/emulator/backward_cases.hpp"
#include "tests/kernel/decode_cases.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/product_cases.hpp"
#include "tests/kernel/program.hpp"
#include "tests/support/machine_code.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
namespace fs = std::filesystem;
using test::KernelVariant;
using test::MachineCode;

struct Request {
  std::string known, sources;
  std::vector<std::string> kernels;  // none: all
  std::size_t every = 1;
  int jobs = 1;
};

/// Returns the variant with `field` set, if its configuration has it: "cycles" counts clocks, "dump" writes
/// intermediates.
std::string with_flag(std::string expression, const std::string& field) {
  const std::string off = "." + field + " = false";
  const auto at = expression.find(off);
  if (at != std::string::npos) expression.replace(at, off.size(), "." + field + " = true");
  return expression;
}

std::vector<KernelVariant> all_variants() {
  std::vector<KernelVariant> out;
  std::set<std::string> known;
  const auto add = [&](const LaunchPlan& plan, const std::string& expression) {
    if (!known.insert(expression).second) return;
    out.push_back({plan.source, plan.source.ends_with("_sm80.cuh") ? "sm_80" : plan.architecture, expression});
  };
  for (const test::CorrectnessCase& one : test::correctness_cases()) {
    const LaunchPlan plan = test::correctness::variant_of(one);
    add(plan, plan.expression);
    if (known.size() % 8 != 0) continue;
    add(plan, with_flag(plan.expression, "cycles"));
    add(plan, with_flag(plan.expression, "dump"));
  }
  for (const test::CorrectnessCase& one : test::product_cases()) {
    const LaunchPlan plan = test::correctness::variant_of(one);
    add(plan, plan.expression);
  }
  for (const test::DecodeConfiguration& c : test::decode_configurations()) {
    const LaunchPlan plan = test::variant_of(test::decode_case(c, 0));
    add(plan, plan.expression);
  }
  for (const test::Fp8Case& one : test::fp8_cases(1)) {
    const LaunchPlan plan = test::variant_of(one);
    add(plan, plan.expression);
  }
  for (const test::BackwardConfiguration& c : test::backward_configurations()) {
    const auto laid_out = test::lay_out(test::small_case(c, 0));
    const PlacedDiagram placed = laid_out->place(c.tile);
    const AttentionBackwardPlans plans = attention_backward_plans(placed, test::nowhere(c));
    for (const LaunchPlan* plan : plans.all()) add(*plan, plan->expression);
  }
  DeviceProperties h200;
  h200.architecture = "sm_90";
  h200.sms = 132;
  h200.l2 = Bytes(60 << 20);
  h200.shared_per_block = Bytes(232448);
  PlanningBench bench(h200);
  for (const Experiment& experiment : experiments()) static_cast<void>(experiment.run(bench));
  for (const auto& [expression, plan] : bench.plans()) add(plan, expression);
  return out;
}

/// The kernels' text below a folder, as the build embeds it.
class SourceTree {
 public:
  explicit SourceTree(const std::string& root) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(root) / "kernels")) {
      if (entry.path().extension() != ".cuh") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      texts_[fs::relative(entry.path(), root).generic_string()] = text.str();
    }
    for (const auto& [path, text] : texts_) files_.push_back({path, text});
  }
  [[nodiscard]] std::span<const EmbeddedFile> files() const { return files_; }

 private:
  std::map<std::string, std::string> texts_;
  std::vector<EmbeddedFile> files_;
};

int run(const Request& r) {
  const auto compiler = Compiler::find(process_environment().compiler);
  if (!compiler) throw CudaFailure("no NVRTC on this machine: install the CUDA toolkit or set CUDA_HOME to it");
  const std::string name = test::name_of(*compiler);
  std::vector<MachineCode> todo;
  if (r.known.empty()) {
    for (KernelVariant& variant : all_variants()) todo.push_back({std::move(variant), "", 0, 0, ""});
  } else {
    todo = test::read_machine_code(r.known);
  }
  std::erase_if(todo, [&](const MachineCode& one) {
    return !r.kernels.empty() && std::none_of(r.kernels.begin(), r.kernels.end(), [&](const std::string& kernel) {
      return one.variant.expression.starts_with("napkin::" + kernel + "<");
    });
  });
  std::optional<SourceTree> tree;
  if (!r.sources.empty()) tree.emplace(r.sources);
  const std::span<const EmbeddedFile> files = tree ? tree->files() : embedded_files();

  std::mutex mutex;
  std::size_t differ = 0;
  std::map<std::size_t, std::string> lines;
  const auto one = [&](std::size_t i) {
    const KernelVariant& variant = todo[i].variant;
    std::string line;
    try {
      const CompiledKernel kernel =
          compiler->compile({kernel_source(variant.source, files), variant.expression, variant.architecture, {}});
      const MachineCode now = test::machine_code_of(variant, kernel, name);
      line = test::json_of(now).dump();
      if (now.code == todo[i].code || r.known.empty()) return std::pair{line, std::string()};
      return std::pair{line, fmt::format("{} instructions, {} registers were {} and {}", now.instructions,
                                         now.registers, todo[i].instructions, todo[i].registers)};
    } catch (const std::exception& error) {
      return std::pair{line, std::string(error.what())};
    }
  };
  parallel_for((todo.size() + r.every - 1) / r.every, static_cast<std::size_t>(r.jobs), [&](std::size_t share) {
    const std::size_t i = r.every * share;
    const auto [line, objection] = one(i);
    const std::lock_guard lock(mutex);
    if (!line.empty()) lines[i] = line;
    if (objection.empty()) return;
    ++differ;
    std::fprintf(stderr, "%s: %s\n", todo[i].variant.expression.c_str(), objection.c_str());
  });
  for (const auto& [i, line] : lines) std::printf("%s\n", line.c_str());
  std::fprintf(stderr, "%s: %zu variants compiled, %zu differ\n", name.c_str(), lines.size(), differ);
  return differ == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Request r;
  CLI::App app("The machine code of the kernels' variants", "run_machine_code");
  app.add_option("--known", r.known);
  app.add_option("--kernel", r.kernels);
  app.add_option("--sources", r.sources);
  app.add_option("--every", r.every);
  app.add_option("--jobs", r.jobs);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
