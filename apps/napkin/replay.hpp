#pragma once
// replay_files predicts the rows of recorded files, for the commands that judge the model by them: validate and report.
// (validate_replay.cpp)

#include <string>
#include <vector>

#include "apps/library/judge/validation.hpp"
#include "apps/report/record/record.hpp"

namespace napkin::internal::cli {

/// Recorded rows of files and their new predictions. `scored` points into `rows`: it may be moved, never copied.
struct ReplayedFiles {
  std::vector<report::RecordedRow> rows;
  std::vector<ScoredRow> scored;
  ValidationSummary summary, unfitted;  ///< summaries with and without the constants that were fitted to whole kernels
};
/// Predicts the rows of files again. Throws Error at a row that cannot be predicted.
[[nodiscard]] ReplayedFiles replay_files(const std::vector<std::string>& files);

}  // namespace napkin::internal::cli
