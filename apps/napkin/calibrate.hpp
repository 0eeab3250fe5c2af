#pragma once
// run_experiments does the work of `napkin calibrate`: it runs the experiments on the GPU, fifteen seconds of an H200,
// and returns their readings.

#include <optional>
#include <string>
#include <vector>

#include "apps/napkin/command.hpp"
#include "apps/report/record/reading.hpp"
#include "kernels/micro/experiment.hpp"

namespace napkin::cli {

struct CalibrateOptions {
  std::string gpu;  ///< the base profile; empty: the one here
  std::string out;  ///< empty: none is written
  std::optional<std::string> record;
  std::vector<const Experiment*> experiments;
  std::int64_t jobs = 1;  ///< threads that compile
  bool json = false;
};

/// The readings of a run, and what ended it early.
struct CalibrationRun {
  std::vector<report::ReadingRow> rows;
  std::string base;    ///< the profile of the GPU here, where none was named
  std::string failed;  ///< empty: all experiments have run
};

/// Runs the experiments on the GPU here; raw readings go to options.record as they arrive. Throws CudaFailure if there
/// is no GPU to calibrate.
[[nodiscard]] CalibrationRun run_experiments(const CalibrateOptions& options);

}  // namespace napkin::cli
