// napkin calibrate on the GPU here: compile, then one experiment after the other.

#include <algorithm>
#include <cmath>

#include "apps/library/judge/instrument.hpp"
#include "apps/library/question/here.hpp"
#include "apps/library/question/revision.hpp"
#include "apps/napkin/calibrate.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/napkin/watchdog.hpp"
#include "apps/report/file.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/runtime/driver_version.hpp"

namespace napkin::internal::cli {
namespace {

/// Opens the GPU to calibrate. Throws CudaFailure that says what is missing.
Runtime runtime_to_calibrate() {
  try {
    Environment environment = process_environment();
    Device device;
    const std::string& found = device.properties().architecture;
    if (found != micro_gpu)
      throw CudaFailure("the micro-kernels are for " + std::string(micro_gpu) + ", this is " +
                        device.properties().name + " (" + found + ")");
    if (!Compiler::find(environment.compiler))
      throw CudaFailure("no NVRTC: install the CUDA toolkit (12.4 or later) or set CUDA_HOME to it");
    return {std::move(device), std::move(environment), Objections::refuse};
  } catch (const CudaFailure& failure) {
    throw CudaFailure(std::string("no GPU to calibrate: ") + failure.what());
  }
}

MeasuredBy measured_by(const Runtime& runtime) {
  const auto compiler = Compiler::find(process_environment().compiler);
  return {runtime.device().properties().name, driver_version(), compiler ? compiler->version() : "", now_utc(),
          std::string(source_revision())};
}

/// Compiles all kernels into the disk cache, by several threads, before anything is timed.
void compile_all(const CalibrateOptions& options, const DeviceProperties& device, Progress& progress) {
  const Environment environment = process_environment();
  if (environment.cache.empty()) return;  // no cache to keep them in: each is compiled when it is needed
  PlanningBench bench(device);
  for (const Experiment* experiment : options.experiments) static_cast<void>(experiment->run(bench));
  std::vector<LaunchPlan> plans;
  for (const auto& [expression, plan] : bench.plans()) plans.push_back(plan);
  progress.begin("compiling", plans.size());
  const auto refused = compile_ahead(plans, environment, static_cast<int>(options.jobs),
                                     [&](std::size_t done) { progress.show(done, ""); });
  if (!refused.empty()) throw CudaFailure(refused.begin()->second);
}

/// Throws CudaFailure for a reading that is no number, since the kernel then counted nothing.
void check(const Reading& reading) {
  const bool good =
      std::all_of(reading.values.begin(), reading.values.end(), [](double value) { return std::isfinite(value); });
  if (!good) throw CudaFailure(reading.quantity + " is no number: the kernel counted nothing");
}

std::string text_of(const std::vector<report::ReadingRow>& rows) {
  std::string out;
  for (const report::ReadingRow& row : rows) out += report::line_of(report::json_of(row));
  return out;
}

}  // namespace

CalibrationRun run_experiments(const CalibrateOptions& options) {
  constexpr std::chrono::seconds patience(60);
  Runtime runtime = runtime_to_calibrate();
  CalibrationRun out;
  if (options.gpu.empty()) out.base = product_of(runtime.device().properties());
  out.card = card_file(runtime.device().properties());
  if (options.power && options.out.empty() && out.card.empty())
    throw Error("--out", "is missing: the driver does not name this card, or there is no home directory",
                "the profile to write, such as my-gpu.yaml");
  Progress progress;
  compile_all(options, runtime.device().properties(), progress);

  GpuBench bench(runtime);
  Watchdog watchdog(patience, "", "given up");
  progress.begin("measuring", options.experiments.size());
  for (const Experiment* experiment : options.experiments) {
    const std::string name(experiment->name);
    progress.note(name);
    watchdog.watch(name, name);
    try {
      for (Reading& reading : experiment->run(bench)) {
        check(reading);
        out.rows.push_back({std::move(reading), measured_by(runtime)});
      }
    } catch (const CudaFailure& failure) {
      out.failed = name + ": " + failure.what();
    }
    watchdog.rest();
    if (options.record) report::write_file(*options.record, text_of(out.rows), "--record");
    if (!out.failed.empty()) break;  // the GPU's context may be gone
    progress.step("");
  }
  return out;
}

}  // namespace napkin::internal::cli
