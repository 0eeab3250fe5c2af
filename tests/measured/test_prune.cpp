// What a Triton autotuner loses that tries only our first one or three configurations, on an H200 (prune/triton.jsonl).

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/measured/row.hpp"

namespace test_prune {

namespace {

using cli::Json;
using measured::number;

using Sweeps = std::map<std::string, std::vector<Json>>;

/// By kernel, shape and mask, in the order of prediction.
Sweeps sweeps() {
  Sweeps out;
  for (const Json& row : measured::rows_of("prune/triton.jsonl"))
    out[row["kernel"].get<std::string>() + " " + cli::pairs(row["shape"]) + " " + row["mask"].get<std::string>()]
        .push_back(row);
  for (auto& [name, rows] : out) {
    std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) { return a["place"] < b["place"]; });
  }
  return out;
}

double best(const std::vector<Json>& rows, std::size_t first) {
  double out = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(first, rows.size()); ++i) {
    if (rows[i].contains("time")) out = std::min(out, number(rows[i], "time"));
  }
  return out;
}

}  // namespace

TEST_CASE("prune: what a card refuses is what was called illegal") {
  for (const auto& one : sweeps()) {
    CAPTURE(one.first);
    for (const Json& row : one.second) CHECK(row["legal"].get<bool>() == row.contains("time"));
  }
}

TEST_CASE("prune: of eight sweeps the first configuration is the best in five, one of the first three within 5 %") {
  int exact = 0;
  for (const auto& one : sweeps()) {
    CAPTURE(one.first);
    const double least = best(one.second, one.second.size());
    const double first = best(one.second, 1) / least - 1, three = best(one.second, 3) / least - 1;
    if (first == 0) ++exact;
    const bool few_blocks =
        one.first.find("a=256") != std::string::npos || one.first.find("a=1024") != std::string::npos;
    CHECK(first <= (few_blocks ? 0.17 : 0.027));
    CHECK(three <= (few_blocks ? 0.0503 : 0));
  }
  CHECK(sweeps().size() == 8);
  CHECK(exact == 5);
}

}  // namespace test_prune
