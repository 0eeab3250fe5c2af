#include "apps/library/judge/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace napkin::internal {
namespace {

constexpr std::size_t fewest_of_a_gpu = 10;

/// Rows of a group, and the width of each one's band.
struct WithinBands {
  std::size_t within = 0;
  std::vector<double> widths;

  void add(const std::vector<double>& errors, const Band& band) {
    for (const double error : errors) {
      const double found = std::exp(error);
      within += found >= band.low && found <= band.high ? 1 : 0;
      widths.push_back(band.high - band.low);
    }
  }
  [[nodiscard]] IntervalGroup group(std::string of) const {
    std::vector<double> sorted = widths;
    std::sort(sorted.begin(), sorted.end());
    return {std::move(of), sorted.size(), within, sorted.empty() ? 0 : sorted[sorted.size() / 2]};
  }
};

std::string interval_rows(const std::string& title, const std::vector<IntervalGroup>& groups) {
  std::string text = fmt::format("| {} | rows | within | median width |\n|---|---|---|---|\n", title);
  for (const IntervalGroup& one : groups)
    text += fmt::format("| {} | {} | {:.0f} % | {:.0f} % |\n", one.of, one.rows, 100 * one.share(), 100 * one.width);
  return text;
}

}  // namespace

IntervalJudgement judge_intervals() {
  WithinBands all, recorded, published, bursts;
  std::map<Regime, WithinBands> regimes;
  std::map<std::string, WithinBands> gpus;
  for (const KnownErrors& known : known_errors()) {
    const Band band = band_of(known.kind, known.source);
    all.add(known.errors, band);
    (known.recorded ? recorded : published).add(known.errors, band);
    regimes[known.kind.regime].add(known.errors, band);
    gpus[known.kind.gpu].add(known.errors, band);
    if (known.kind.burst) bursts.add(known.errors, band);
  }
  IntervalJudgement out;
  out.all = all.group("all"), out.recorded = recorded.group("recorded here");
  out.published = published.group("published by others");
  for (const auto& [regime, counted] : regimes) out.regimes.push_back(counted.group(std::string(name_of(regime))));
  out.regimes.push_back(bursts.group("bursts"));
  for (const auto& [gpu, counted] : gpus) {
    if (counted.widths.size() >= fewest_of_a_gpu) out.gpus.push_back(counted.group(gpu));
  }
  return out;
}

std::string table_of(const IntervalJudgement& judged) {
  return interval_rows("rows of", {judged.all, judged.recorded, judged.published}) + "\n" +
         interval_rows("regime", judged.regimes) + "\n" + interval_rows("GPU", judged.gpus);
}

}  // namespace napkin::internal
