#pragma once
// A bench is a program that compares one kernel with float64 and times it on the GPU at hand, one JSON object a line:
//
//   run_decode --check        {"case": "...", "max_error": 0.001, ..., "good": true}      where a case is wrong
//   run_decode --time         {"shape": {...}, "tile": {...}, "predicted": 1.1e-05, "time": 1.2e-05, ...}
//
// These functions are what all benches do: read the words, check cases, go through the tiles of a question.

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "napkin/ask.hpp"
#include "tests/kernel/picks.hpp"
#include "tests/kernel/program.hpp"
#include "tests/kernel/reports.hpp"

namespace napkin::internal::test {

struct BenchOptions {
  bool check = false;            ///< true to check the emulator's cases, two launches each
  bool time = false;             ///< true to time the tiles that select ranks first, beside their predictions
  bool predict = false;          ///< true to print the predictions of `time`, without a GPU
  bool compile = false;          ///< true to compile the variants of both into the cache, without a GPU
  int tiles = 2;                 ///< number of tiles of select's ranking
  std::string gpu = "h200-sxm";  ///< profile for the predictions
  std::vector<Pick> given;       ///< tiles to time in place of the ranking's
  std::vector<std::int64_t> shape;
};

/// Adds --check, --time, --predict, --compile, --tiles, --gpu, --tile (repeatable: tiles to time) and --shape.
inline void add_bench(CLI::App& app, BenchOptions& r) {
  app.add_flag("--check", r.check);
  app.add_flag("--time", r.time);
  app.add_flag("--predict", r.predict);
  app.add_flag("--compile", r.compile);
  app.add_option("--tiles", r.tiles);
  app.add_option("--gpu", r.gpu);
  app.add_option("--shape", r.shape)->delimiter(',');
  app.add_option_function<std::vector<std::string>>("--tile", [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) r.given.push_back({parse_tile(text), std::nullopt});
    r.time = true;
  });
}

/// Returns the sizes of --shape in the order of `axes`, "b,h,g,q,x,d". Throws Error for another number of sizes.
inline const std::vector<std::int64_t>& shape_as(const BenchOptions& r, const std::string& axes) {
  const std::size_t wanted = split(axes, ',').size();
  if (r.shape.size() != wanted) throw Error("--shape", "has not " + std::to_string(wanted) + " sizes", axes);
  return r.shape;
}

inline void print(const Row& row) { std::cout << row.dump() << std::endl; }

/// Prints the row that `fill` completes, or the error that it threw. Returns true if nothing in the row is wrong.
template <class Fill>
bool print_filled(Row row, const Fill& fill) {
  try {
    fill(row);
  } catch (const std::exception& error) {
    row["error"] = error.what();
  }
  print(row);
  return !row.contains("error") && row.value("good", true);
}

/// Returns a comparison's error over the allowed error: 1 is the limit.
inline double of_allowed(const Comparison& c) { return c.max_error / allowed_error(c.reference_error, c.rounding); }

/// Prints each case that is wrong by `run(case, row)`, and at the end their number and the largest error over the
/// allowed one, which `run` returns. `run` begins the row with the description of the case.
template <class Case, class Run>
bool check_cases(const std::vector<Case>& cases, const Run& run) {
  std::size_t wrong = 0;
  double worst = 0;
  for (const Case& one : cases) {
    Row row;
    try {
      worst = std::max(worst, run(one, row));
    } catch (const std::exception& error) {
      row["error"] = error.what();
    }
    if (!row.contains("error") && row.value("good", false)) continue;
    ++wrong;
    print(row);
  }
  print({{"cases", cases.size()}, {"wrong", wrong}, {"worst_of_allowed", worst}});
  return wrong == 0;
}

/// Launches twice on poisoned outputs: the result must be right, and both must have equal bits. Returns of_allowed().
template <class Problem, class Launch>
double check_twice(Problem& problem, const Launch& launch, std::int64_t rows, Row& out) {
  problem.poison();
  launch();
  const std::vector<std::uint16_t> first = problem.output();
  problem.poison();
  launch();
  const Comparison compared = problem.compare(rows);
  report(compared, out);
  out["repeats"] = problem.output() == first;
  out["good"] = compared.good() && out["repeats"];
  return of_allowed(compared);
}

/// Compiles a variant into the cache and prints what the compiler says.
inline void compile_variant(const std::string& name, const LaunchPlan& plan) {
  Row row{{"variant", name}};
  report(compile(plan, process_environment(), Objections::report).kernel.report, row);
  print(row);
}

}  // namespace napkin::internal::test
