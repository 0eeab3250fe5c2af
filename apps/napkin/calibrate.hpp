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
  bool power = false;  ///< true for what tells this card from others of its product, and nothing else
};

/// Times the calls between GPUs of the island here, as `napkin calibrate --island` does.
[[nodiscard]] Reply calibrate_island(const CalibrateOptions& options, const report::Style& style);

/// The readings of a run, and what ended it early.
struct CalibrationRun {
  std::vector<report::ReadingRow> rows;
  std::string base;    ///< the profile of the GPU here, where none was named
  std::string card;    ///< the file of this very card's profile; "": not known
  std::string failed;  ///< empty: all experiments have run
};

/// Runs the experiments on the GPU here; raw readings go to options.record as they arrive. Throws CudaFailure if there
/// is no GPU to calibrate.
[[nodiscard]] CalibrationRun run_experiments(const CalibrateOptions& options);

}  // namespace napkin::cli
