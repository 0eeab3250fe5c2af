// FlashAttention-3, built from its source, on an H200 (flash_attention_3/*.jsonl), predicted in its own tiles: nothing
// is fitted to it.

#include <algorithm>
#include <cmath>

#include "tests/measured/row.hpp"

namespace test_flash_attention_3 {

namespace {

using cli::Json;
using measured::Errors;
using measured::number;

Json predicted(const Json& row) {
  const std::string peer = row["peer"];
  std::vector<std::string> ask =
      cli::words_of(std::string("query attention") + (peer.find("backward") == std::string::npos ? "" : "_backward") +
                    " --gpu h200-sxm --json --kernel " + peer + " --dtype " + row["dtype"].get<std::string>() +
                    " --shape " + cli::pairs(row["shape"]) + " --tile " + cli::pairs(row["tile"]));
  if (row["mask"] == "causal") ask.emplace_back("--causal");
  const Json answer = cli::asked(ask);
  CHECK(answer["legal"] == true);
  return answer["predicted"];
}

std::string name(const Json& row) {
  return row["peer"].get<std::string>() + " " + cli::pairs(row["shape"]) + " " + row["mask"].get<std::string>() + ": ";
}

TEST_CASE("calls that the host does not hold up within 4 % in the mean") {
  Errors of;
  for (const Json& row : measured::rows_of("flash_attention_3/times.jsonl")) {
    if (number(row, "sustained") < 0.15e-3 || number(row["shape"], "q") < 4096) continue;  // the host's pace
    const double error = number(predicted(row), "time") / number(row, "sustained") - 1;
    MESSAGE(name(row) << 100 * error << " %");
    of.add(error);
  }
  CHECK(of.rows == 11);
  CHECK(of.mean < 0.04);
  CHECK(of.worst < 0.08);
}

TEST_CASE("cycles of the main kernel, from its start, within 7 % in the mean where blocks have many iterations") {
  Errors of;
  for (const Json& row : measured::rows_of("flash_attention_3/counters.jsonl")) {
    if (number(row["shape"], "q") < 4096) continue;
    const double error = number(predicted(row), "cycles") / number(row, "cycles") - 1;
    MESSAGE(name(row) << 100 * error << " %");
    of.add(error);
  }
  CHECK(of.rows == 12);
  CHECK(of.mean < 0.07);
  CHECK(of.worst < 0.14);  // e4m3 at d = 256, whose V the producer turns over for most of an iteration
}

}  // namespace

}  // namespace test_flash_attention_3
