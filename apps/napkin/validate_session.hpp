#pragma once
// A MeasurementRun measures the planned tiles on the GPU, question by question and tile by tile, and writes the rows.

#include <map>
#include <string>
#include <vector>

#include "apps/library/judge/instrument.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/napkin/validate_plan.hpp"
#include "apps/napkin/watchdog.hpp"

namespace napkin::internal::cli {

struct RejectedTile {
  std::string what;  ///< shape and tile
  std::string why;   ///< reason, in the compiler's or the driver's words
};

struct Findings {
  std::vector<ValidationRow> rows;
  std::vector<RejectedTile> rejected;   ///< tiles that do not run
  std::vector<RejectedTile> incorrect;  ///< tiles that run with a wrong result
  std::vector<std::string> remarks;     ///< drift of the clock, counters that cannot be read
  bool wrong = false;                   ///< true if a kernel's result was wrong or missing
};

/// Returns false for random tiles: most are far from the best, and are only timed, which saves half of the compiling.
[[nodiscard]] inline bool counts_cycles(TileRole role) { return role != TileRole::random; }

class MeasurementRun {
 public:
  MeasurementRun(Runtime& runtime, const ValidateOptions& options, MeasuredBy from, report::RowFile* file,
                 Progress& progress)
      : runtime_(runtime),
        options_(options),
        from_(std::move(from)),
        file_(file),
        progress_(progress),
        watchdog_(std::chrono::seconds(40), options.out ? hung_file(*options.out) : "",
                  "given up; the rows so far are kept, --resume goes on without that tile") {}

  void set_refused(std::map<std::string, std::string> refused) { refused_ = std::move(refused); }
  /// Measures a question. Returns false if the GPU failed and can run nothing more.
  [[nodiscard]] bool run(const PlannedQuestion& question);
  [[nodiscard]] const Findings& findings() const { return findings_; }

 private:
  struct Candidate {
    const PlannedTile* planned = nullptr;
    ValidationRow row;
    std::optional<MountedTile> mounted;  ///< mounted tile; none if its row exists and nothing needed it again
  };

  void measure(const PlannedQuestion& question);
  [[nodiscard]] std::vector<Candidate> mount_all(const PlannedQuestion& question, Workbench& bench);
  /// Compiles, loads and runs the tile once, and compares its result. Returns false if the kernel has no such tile.
  [[nodiscard]] bool mount(const PlannedQuestion& question, Workbench& bench, Candidate& candidate);
  [[nodiscard]] ValidationRow blank(const PlannedQuestion& question, const PlannedTile& tile) const;
  void judge(const Candidate& candidate);
  void settle(Workbench& bench, const Candidate& reference);
  void first_pass(const PlannedQuestion& question, Workbench& bench, std::vector<Candidate>& candidates);
  void last_pass(const PlannedQuestion& question, Workbench& bench, std::vector<Candidate>& candidates);
  void count_bytes(Workbench& bench, Candidate& candidate);
  void write(const ValidationRow& row);
  [[nodiscard]] TimingPace pace_of(const Candidate& candidate) const;

  Runtime& runtime_;
  const ValidateOptions& options_;
  MeasuredBy from_;
  report::RowFile* file_;
  Progress& progress_;
  Watchdog watchdog_;
  std::map<std::string, std::string> refused_;
  bool settled_ = false;  ///< true once the card has been at work
  Findings findings_;
};

}  // namespace napkin::internal::cli
