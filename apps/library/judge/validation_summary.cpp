// What recorded rows say of the model: errors, rank correlation, regret.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "apps/library/judge/validation.hpp"

namespace napkin::internal {
namespace {

constexpr double near_best = 1.5;

double median_of(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) out[order[i]] = static_cast<double>(first + last) / 2 + 1;
    first = last + 1;
  }
  return out;
}

using ScoredRows = std::vector<ScoredRow>;

bool earlier(const ScoredRow& a, const ScoredRow& b) {
  if (a.predicted.time != b.predicted.time) return a.predicted.time < b.predicted.time;
  return a.preference < b.preference;
}

bool is_faster(const ScoredRow& a, const ScoredRow& b) { return a.row->measured.time < b.row->measured.time; }

void add_error(std::vector<double>& errors, const std::optional<double>& predicted,
               const std::optional<double>& measured) {
  if (predicted && measured && *measured > 0) errors.push_back(std::fabs(*predicted / *measured - 1));
}

struct Errors {
  std::vector<double> time, cycles, clock, power;
};

void add_errors(const ScoredRows& question, Errors& errors) {
  for (const ScoredRow& row : near_the_best(question)) {
    const MeasuredAnswer& measured = row.row->measured;
    add_error(errors.time, row.predicted.time, measured.time);
    add_error(errors.cycles, row.predicted.cycles, measured.cycles);
    if (const auto clock = sm_clock(row.predicted, measured))
      add_error(errors.clock, clock->predicted, clock->measured);
    add_error(errors.power, row.predicted.power, measured.power);
  }
}

/// Adds the errors of transfers: the SMs' measured loads against the delivered bytes; device memory's measured reads
/// and writes against the bytes into and out of the L2.
void add_transfer_errors(const ScoredRow& row, std::map<std::string, std::vector<double>>& errors) {
  const MeasuredAnswer& measured = row.row->measured;
  for (const LevelAnswer& level : row.levels) {
    if (level.name == "shared" && level.delivered)
      add_error(errors["shared, delivered"], static_cast<double>(*level.delivered), measured.l2_to_sm_bytes);
    if (level.name == "l2") {
      add_error(errors["l2, load"], static_cast<double>(level.load), measured.dram_read_bytes);
      add_error(errors["l2, store"], static_cast<double>(level.store), measured.dram_write_bytes);
    }
  }
}

SplitSummary summarise_split(const std::map<std::string, ScoredRows>& questions) {
  SplitSummary out;
  Errors errors;
  std::vector<std::pair<double, double>> times;
  std::map<std::string, std::vector<double>> transfers;
  for (const auto& [key, rows] : questions) {
    out.rows += rows.size();
    add_errors(rows, errors);
    for (const ScoredRow& row : rows) {
      times.emplace_back(row.predicted.time, row.row->measured.time);
      add_transfer_errors(row, transfers);
    }
  }
  out.time = summarise_errors(std::move(errors.time));
  out.cycles = summarise_errors(std::move(errors.cycles));
  out.clock = summarise_errors(std::move(errors.clock));
  out.power = summarise_errors(std::move(errors.power));
  out.spearman = spearman(times);
  for (auto& [level, each] : transfers) {
    if (auto summary = summarise_errors(std::move(each))) out.transfer.emplace(level, *summary);
  }
  return out;
}

/// Returns the rows of the question's latest sweep: tiles of an older one were measured on another day.
ScoredRows latest_sweep(const ScoredRows& question) {
  const ScoredRow* last = nullptr;
  for (const ScoredRow& row : question) {
    if (row.row->sweep && (last == nullptr || row.row->from.date >= last->row->from.date)) last = &row;
  }
  ScoredRows out;
  for (const ScoredRow& row : question) {
    if (last != nullptr && row.row->sweep == last->row->sweep) out.push_back(row);
  }
  return out;
}

RegretSummary summarise_regret(const std::vector<ScoredRows>& sweeps) {
  RegretSummary out;
  double sum = 0, worst = 0, top3_sum = 0, top3_worst = 0, in_top = 0;
  for (const ScoredRows& sweep : sweeps) {
    const Regret one = regret_of(sweep);
    sum += one.regret;
    worst = std::max(worst, one.regret);
    top3_sum += one.top3;
    top3_worst = std::max(top3_worst, one.top3);
    in_top += one.top3 <= 0 ? 1 : 0;
  }
  out.sweeps = sweeps.size();
  if (sweeps.empty()) return out;
  const auto count = static_cast<double>(sweeps.size());
  out.mean = sum / count;
  out.worst = worst;
  out.top3_mean = top3_sum / count;
  out.top3_worst = top3_worst;
  out.best_in_top3 = in_top / count;
  return out;
}

}  // namespace

ScoredRows near_the_best(const ScoredRows& question) {
  const bool swept =
      std::any_of(question.begin(), question.end(), [](const ScoredRow& r) { return r.row->sweep.has_value(); });
  if (!swept) return question;
  const double best = std::min_element(question.begin(), question.end(), is_faster)->row->measured.time;
  ScoredRows out;
  for (const ScoredRow& row : question) {
    if (row.row->measured.time <= near_best * best) out.push_back(row);
  }
  return out;
}

std::optional<SmClock> sm_clock(const PredictedAnswer& predicted, const MeasuredAnswer& measured) {
  if (measured.cycles && measured.time > 0 && predicted.time > 0)
    return SmClock{predicted.cycles / predicted.time, *measured.cycles / measured.time};
  if (!measured.clock) return std::nullopt;
  return SmClock{predicted.clock, *measured.clock};
}

std::optional<ErrorSummary> summarise_errors(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  return ErrorSummary{errors.size(), sum / static_cast<double>(errors.size()), median_of(errors), errors.back()};
}

std::optional<double> spearman(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.size() < 2) return std::nullopt;
  std::vector<double> first, second;
  for (const auto& [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  const std::vector<double> x = ranks(first), y = ranks(second);
  const double mean = static_cast<double>(pairs.size() + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx <= 0 || yy <= 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

Regret regret_of(const std::vector<ScoredRow>& sweep) {
  std::vector<ScoredRow> by_prediction = sweep;
  std::stable_sort(by_prediction.begin(), by_prediction.end(), earlier);
  std::stable_partition(by_prediction.begin(), by_prediction.end(), [](const ScoredRow& row) { return row.legal; });
  const auto fastest = [](auto from, auto to) { return std::min_element(from, to, is_faster)->row->measured.time; };
  const double best = fastest(sweep.begin(), sweep.end());
  const auto third = by_prediction.begin() + std::min<std::ptrdiff_t>(3, std::ssize(by_prediction));
  return {by_prediction.front().row->measured.time / best - 1, fastest(by_prediction.begin(), third) / best - 1};
}

ValidationSummary summarise(const std::vector<ScoredRow>& rows) {
  std::map<std::string, std::map<std::string, std::map<std::string, ScoredRows>>> grouped;
  for (const ScoredRow& row : newest(rows)) {
    const Head& head = row.row->head;
    if (!is_right(row.row->measured)) continue;
    grouped[head.kernel.value_or("")][row.row->split][question_key(head)].push_back(row);
  }
  ValidationSummary out;
  std::vector<ScoredRows> sweeps;
  for (const auto& [kernel, splits] : grouped) {
    for (const auto& [split, questions] : splits) {
      out.kernels[kernel][split] = summarise_split(questions);
      for (const auto& [key, question] : questions) {
        ScoredRows sweep = latest_sweep(question);
        if (split == "held-out" && !sweep.empty()) sweeps.push_back(std::move(sweep));
      }
    }
  }
  out.regret = summarise_regret(sweeps);
  return out;
}

}  // namespace napkin::internal
