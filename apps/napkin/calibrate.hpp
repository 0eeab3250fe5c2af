#pragma once
// run_experiments does the work of `napkin calibrate`: it runs the experiments on the GPU, fifteen seconds of an H200,
// and returns their readings.

#include <optional>
#include <string>
#include <vector>

#include "apps/napkin/command.hpp"
#include "apps/report/record/reading.hpp"
#include "kernels/micro/experiment.hpp"

namespace napkin::internal::cli {

struct CalibrateOptions {
  std::string gpu;  ///< base profile; empty: the profile of the GPU here
  std::string out;  ///< path of the profile; empty: none is written
  std::optional<std::string> record;
  std::vector<const Experiment*> experiments;
  std::int64_t jobs = 1;  ///< threads that compile
  bool json = false;
  bool power = false;  ///< true to measure only the numbers in which cards of one product differ
};

/// Times the calls between GPUs of the island here, as `napkin calibrate --island` does.
[[nodiscard]] Reply calibrate_island(const CalibrateOptions& options, const report::Style& style);

/// The readings of a run, and the reason if it ended early.
struct CalibrationRun {
  std::vector<report::ReadingRow> rows;
  std::string base;    ///< profile of the GPU here, if none was named
  std::string card;    ///< file of this card's own profile; "": not known
  std::string failed;  ///< reason why experiments are missing; empty: all have run
};

/// Runs the experiments on the GPU here; raw readings go to options.record as they arrive. Throws CudaFailure if there
/// is no GPU to calibrate.
[[nodiscard]] CalibrationRun run_experiments(const CalibrateOptions& options);

}  // namespace napkin::internal::cli
