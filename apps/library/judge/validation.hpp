#pragma once
// A row holds one measured tile beside its prediction, and a summary gives the errors of many rows' predictions: "of
// attention_sm90's 1,042 held-out rows the time is 3.0 % off in the mean". Pure values. Internal to apps/.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/bands.hpp"

namespace napkin::internal {

struct MeasuredAnswer {
  double time = 0;         ///< seconds of one launch, median
  double time_spread = 0;  ///< (third quartile - first quartile) / median
  std::int64_t runs = 0;
  std::string l2;                ///< "cold", "warm"
  std::optional<double> cycles;  ///< first block's start to last block's end on the busiest SM
  std::optional<double> clock, power;
  std::int64_t registers_per_thread = 0, shared_memory = 0;
  std::optional<double> l2_to_sm_bytes, dram_read_bytes, dram_write_bytes;
  std::optional<double> max_error,
      reference_error;  ///< largest error against float64 (none: elements missing), and that of the type's unfused
                        ///< arithmetic
};

/// The provenance of a measured row.
struct MeasuredBy {
  std::string device;    ///< "NVIDIA H200"
  std::string driver;    ///< "580.65.06"
  std::string cuda;      ///< "13.0", of the compiler
  std::string date;      ///< "2026-11-20T12:34:56Z"
  std::string revision;  ///< revision of the sources that this program was built from
  bool operator==(const MeasuredBy&) const = default;
};

/// Returns the current time as MeasuredBy::date has it.
[[nodiscard]] std::string now_utc();

struct ValidationRow {
  Head head;
  std::vector<LevelAnswer> levels;           ///< levels; empty in a recording that leaves them to a replay
  std::optional<PredictedAnswer> predicted;  ///< prediction made before the run; none in a recording that leaves it to
                                             ///< a replay
  std::string split;                         ///< "calibration", "held-out"
  std::optional<std::string> sweep;          ///< id of the run, GPU, kernel, dtype, shape and mask
  bool selected = false;
  MeasuredAnswer measured;
  MeasuredBy from;
  std::optional<std::string> source_hash;  ///< kernel_source_hash() of the kernel that ran; older rows have none
};

/// Returns the split, which is fixed beforehand: attention at s = 4096 with d in {64, 128} non-causal and matmul at n =
/// 4096 are "calibration", all else is "held-out".
[[nodiscard]] std::string split_of(const Head& head);

/// Joins GPU, kernel, dtype, shape and mask: rows of equal question compete with each other.
[[nodiscard]] std::string question_key(const Head& head);
/// Joins the question's key and the tile: a newer row of a key supersedes an older one.
[[nodiscard]] std::string row_key(const Head& head);

/// A row with the prediction that judges it: the recorded one, or today's.
struct ScoredRow {
  const ValidationRow* row = nullptr;
  PredictedAnswer predicted;
  std::vector<LevelAnswer> levels;
  /// The tie-breaker of equal predictions, smaller first: bytes into blocks, then places of the knobs' values.
  std::vector<std::int64_t> preference;
  bool legal = true;         ///< true if legal when recorded; in a replay, by today's rules
  PredictionKind kind = {};  ///< kind of a replay's prediction
};
/// Returns the row with its recorded prediction. Throws Error at "predicted" if it has none.
[[nodiscard]] ScoredRow as_recorded(const ValidationRow& row);

/// Returns false if the kernel's result is missing or wrong: further from float64 than twice its type's own error and
/// 1e-5. The time of such a row measures nothing.
[[nodiscard]] bool is_right(const MeasuredAnswer& measured);

/// Returns the rows that no newer row of the same key supersedes (of equal dates the later in the list wins), in order.
[[nodiscard]] std::vector<ScoredRow> newest(const std::vector<ScoredRow>& rows);

struct ErrorSummary {
  std::size_t rows = 0;
  double mean = 0, median = 0, worst = 0;  ///< mean, median and worst of |predicted / measured - 1|
};

/// Returns the rows of a question within 1.5x of its best; all of them if it has no sweep.
[[nodiscard]] std::vector<ScoredRow> near_the_best(const std::vector<ScoredRow>& question);

/// The clock of the SMs. Measured: cycles over the time of the timed launches if the row has cycles, else NVML's
/// reading, which is up to 15 % too high under a power limit. Predicted: the prediction's cycles over its time.
struct SmClock {
  double predicted = 0, measured = 0;
};
[[nodiscard]] std::optional<SmClock> sm_clock(const PredictedAnswer& predicted, const MeasuredAnswer& measured);

struct SplitSummary {
  std::size_t rows = 0;
  std::optional<ErrorSummary> time, cycles, clock, power;
  std::optional<double> spearman;                ///< rank correlation of predicted and measured times, all rows
  std::map<std::string, ErrorSummary> transfer;  ///< delivered bytes against the counters, by level, if there are any
};

struct RegretSummary {
  std::size_t sweeps = 0;
  std::optional<double> mean, worst;
  std::optional<double> top3_mean,
      top3_worst;  ///< regret of a user who measures the three best predicted tiles and takes the fastest
  std::optional<double>
      best_in_top3;  ///< fraction of sweeps whose best measured tile is among the three best predicted
};

struct ValidationSummary {
  std::map<std::string, std::map<std::string, SplitSummary>> kernels;  ///< kernel -> split
  RegretSummary regret;                                                ///< held-out sweeps only
};
/// Summarises the newest rows with right results. Errors cover the rows within 1.5x of the best of their question (all
/// without a sweep), Spearman all rows.
[[nodiscard]] ValidationSummary summarise(const std::vector<ScoredRow>& rows);

/// The regret of a sweep: how much longer the picked row took than the fastest one. The pick is the legal row of least
/// predicted time, as `select` picks (any row if none is legal). The caller chooses the times that are compared.
struct Regret {
  double regret = 0;
  double top3 = 0;  ///< loss of the fastest among the three best predicted rows; 0 if the best row is one of them
};
[[nodiscard]] Regret regret_of(const std::vector<ScoredRow>& sweep);

/// Computes Spearman's rank correlation with mean ranks for ties; nothing for fewer than two pairs or a constant side.
[[nodiscard]] std::optional<double> spearman(const std::vector<std::pair<double, double>>& pairs);
[[nodiscard]] std::optional<ErrorSummary> summarise_errors(std::vector<double> errors);

}  // namespace napkin::internal
