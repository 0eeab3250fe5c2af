// Heads that kernels pad with zeros, and FlashAttention's own tests over them, as run on H100s (padded/*.jsonl).

#include <set>
#include <string>
#include <utility>

#include "tests/measured/row.hpp"

namespace test_padded {

namespace {

using cli::Json;

TEST_CASE("FlashAttention's own tests: none wrong, none refused but rotated and biased keys") {
  int plain = 0;
  for (const Json& row : measured::rows_of("padded/flash_attention_tests.jsonl")) {
    INFO(row.dump());
    CHECK(row.value("wrong", 0) + row.value("error", 0) == 0);
    CHECK(row["right"].get<int>() > 50);
    if (row["test"] == "test_flash_attn_kvcache") continue;
    CHECK(row.value("refused", 0) == 0);
    plain += row["right"].get<int>();
  }
  CHECK(plain >= 1500);
}

TEST_CASE("every width between the compiled ones: none wrong by the numbers read, no band changed") {
  std::set<std::pair<int, int>> widths;
  for (const Json& row : measured::rows_of("padded/correctness.jsonl")) {
    INFO(row.dump());
    measured::check_right(row);
    widths.emplace(row["shape"]["d"].get<int>(), row["shape"]["dv"].get<int>());
  }
  CHECK(widths.size() >= 38);
}

}  // namespace

}  // namespace test_padded
