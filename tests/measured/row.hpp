#pragma once
// A recorded row is one JSON object of a file in this folder, and predicted() returns the program's prediction of the
// row's question: "measured 349,668 cycles, predicted 346,312".

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/report/record/shared.hpp"
#include "tests/golden/cli.hpp"
#include "tests/support/layout.hpp"

namespace measured {

using cli::Json;

inline const std::filesystem::path root = NAPKIN_SOURCE_DIR "/tests/measured";

/// Reads a file by its path in tests/measured: "edges/products_beyond_the_array.jsonl".
inline std::vector<Json> rows_of(const std::string& file) {
  std::istringstream lines(cli::contents((root / file).string()));
  std::vector<Json> out;
  Json shared;
  for (std::string line; std::getline(lines, line);) {
    Json row = cli::parse(line);
    if (napkin::internal::report::complete_row(row, shared, file)) out.push_back(std::move(row));
  }
  return out;
}

/// Returns the answer of `napkin query` for the row's shape, tile and mask on that GPU; a row without a kernel's name
/// is of attention_sm90. A knob that is younger than the recording has its value `before`.
inline Json answer(const Json& row, const std::string& gpu, napkin::AnswerParts parts = {}) {
  const std::string kernel = row.contains("kernel") ? row["kernel"].get<std::string>() : "attention_sm90";
  const std::string algorithm =
      row.contains("algorithm") ? row["algorithm"].get<std::string>() : kernel.substr(0, kernel.find('_'));
  std::string tile = cli::pairs(row["tile"]);
  for (const napkin::internal::Knob& knob : napkin::internal::test::built_in_mapping(kernel).knobs) {
    if (knob.before && !row["tile"].contains(knob.name)) tile += "," + knob.name + "=" + std::to_string(*knob.before);
  }
  std::vector<std::string> ask = cli::words_of("query " + algorithm + " --gpu " + gpu + " --json --kernel " + kernel +
                                               " --shape " + cli::pairs(row["shape"]) + " --tile " + tile);
  if (row.contains("mask") && row["mask"] == "causal") ask.emplace_back("--causal");
  if (row.contains("dtype")) ask.insert(ask.end(), {"--dtype", row["dtype"].get<std::string>()});
  return cli::asked(ask, parts);
}

/// Returns the row's prediction: time, cycles, clock.
inline Json predicted(const Json& row, const std::string& gpu = "h200-sxm") { return answer(row, gpu)["predicted"]; }

/// Returns a tile's entries as knobs, or a shape's as sizes.
inline std::vector<std::pair<std::string, std::string>> texts_of(const Json& object) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : object.items())
    out.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}
inline std::vector<std::pair<std::string, std::int64_t>> sizes_of(const Json& object) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const auto& [key, value] : object.items()) out.emplace_back(key, value.get<std::int64_t>());
  return out;
}

inline double number(const Json& object, const char* key) { return object[key].get<double>(); }

inline double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  const std::size_t n = of.size();
  return n % 2 == 1 ? of[n / 2] : (of[n / 2 - 1] + of[n / 2]) / 2;
}

/// Relative errors of predictions, by their sizes, and their mean with its sign.
struct Errors {
  int rows = 0;
  double mean = 0, worst = 0, bias = 0;
  void add(double error) {
    mean = (mean * rows + std::abs(error)) / (rows + 1);
    bias = (bias * rows + error) / (rows + 1);
    worst = std::max(worst, std::abs(error));
    ++rows;
  }
};

/// Checks a row of run_correctness: near the reference's own error, every value written, no guard band changed.
inline void check_right(const Json& row) {
  CHECK(row["good"].get<bool>());
  CHECK(row["max_error"].get<double>() <= 2 * row["reference_error"].get<double>() + 1e-5);
  CHECK(row["lse_error"].get<double>() <= 1e-3);
  CHECK(row["unwritten"] == 0);
  CHECK(row["strayed"] == 0);
}

}  // namespace measured
