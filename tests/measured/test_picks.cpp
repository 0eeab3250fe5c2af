// First choices of other selectors and ours, run with the bundled kernels (picks/*.jsonl): 24 products of the layers of
// language models by nvMatmulHeuristics, eight calls of attention by FlashAttention-4's table. The test checks the
// errors of both tiles, by predictions from before the run and by today's, and the loss of their tile against ours.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/measured/row.hpp"

namespace test_picks {

namespace {

using cli::Json;

/// Returns the mean time of the runs of `theirs` or of `ours`; the file has them in the order theirs, ours, ours,
/// theirs.
double measured_time(const Json& row, const std::string& whose) {
  const Json& runs = row["runs"];
  if (runs.size() == 1) return runs[0]["time"].get<double>();
  const bool ours = whose == "ours";
  return (runs[ours ? 1 : 0]["time"].get<double>() + runs[ours ? 2 : 3]["time"].get<double>()) / 2;
}

double predicted_today(Json row, const std::string& whose) {
  row["tile"] = row[whose];
  return measured::predicted(row)["time"].get<double>();
}

double mean_size(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0,
                         [&](double sum, double x) { return sum + std::fabs(x) / static_cast<double>(all.size()); });
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

struct Found {
  std::vector<double> before, today;  ///< errors of all tiles, then and now
  std::vector<double> regret, said;   ///< loss of their tile against ours: measured, predicted
  std::vector<double> library;        ///< cuBLAS' time over ours
};

Found found_of(const std::string& kernel) {
  Found out;
  for (const Json& row : measured::rows_of("picks/products_and_attention.jsonl")) {
    if (row["kernel"] != kernel) continue;
    for (const Json& run : row["runs"]) CHECK(run["good"].get<bool>());
    for (const std::string whose : {"theirs", "ours"}) {
      const double time = measured_time(row, whose);
      out.before.push_back(row["predicted"][whose].get<double>() / time - 1);
      out.today.push_back(predicted_today(row, whose) / time - 1);
    }
    out.regret.push_back(measured_time(row, "theirs") / measured_time(row, "ours") - 1);
    out.said.push_back(row["predicted"]["theirs"].get<double>() / row["predicted"]["ours"].get<double>() - 1);
    if (row.contains("cublas")) out.library.push_back(row["cublas"].get<double>() / measured_time(row, "ours"));
  }
  MESSAGE(kernel << ": error " << mean_size(out.before) << ", today " << mean_size(out.today) << "; regret median "
                 << median(out.regret) << ", mean " << mean_size(out.regret) << ", said " << median(out.said));
  return out;
}

}  // namespace

TEST_CASE("picks: nvMatmulHeuristics' first at 24 products of language models") {
  const Found found = found_of("matmul_sm90");
  CHECK(found.regret.size() == 24);
  CHECK(mean_size(found.before) <= 0.023);
  CHECK(mean_size(found.today) <= 0.025);
  CHECK(median(found.regret) == doctest::Approx(0.020).epsilon(0.05));
  CHECK(median(found.said) == doctest::Approx(0.019).epsilon(0.05));
  // At two questions their mean is lower since their first run met a cooler card: 92 us, and 104 us in the last run.
  CHECK(std::count_if(found.regret.begin(), found.regret.end(), [](double r) { return r < -0.01; }) == 2);
  CHECK(*std::min_element(found.library.begin(), found.library.end()) >= 0.997);
  CHECK(median(found.library) >= 1.02);
}

TEST_CASE("picks: FlashAttention-4's table for Hopper at eight calls of attention") {
  const Found found = found_of("attention_sm90");
  CHECK(found.regret.size() == 8);
  CHECK(mean_size(found.before) <= 0.027);
  CHECK(mean_size(found.today) <= 0.03);
  CHECK(*std::min_element(found.regret.begin(), found.regret.end()) >= -0.003);
  CHECK(*std::max_element(found.regret.begin(), found.regret.end()) <= 0.021);
}

}  // namespace test_picks
