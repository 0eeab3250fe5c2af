// Grouped heads whose group the tile's heads do not divide, as run on H100s (grouped/*.jsonl): the recorded errors of
// each case are checked again by the rule of FlashAttention's own tests.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/measured/row.hpp"

namespace test_grouped {

namespace {

using cli::Json;

TEST_CASE("320 grouped cases: outputs within twice, gradients within three times PyTorch's own error in that type") {
  const std::vector<Json> rows = measured::rows_of("grouped/grouped.jsonl");
  std::set<int> heads, widths;
  std::set<std::string> masks;
  int packed = 0;
  for (const Json& row : rows) {
    INFO(row.dump());
    for (const char* array : {"o", "dq", "dk", "dv"})
      CHECK(row[array]["error"].get<double>() <= row[array]["allowed"].get<double>());
    CHECK(row["lse_error"].get<double>() <= 2e-3);
    CHECK(row["heads"].get<int>() / row["kv"].get<int>() > 1);
    heads.insert(row["heads"].get<int>() / row["kv"].get<int>());
    widths.insert(row["d"].get<int>());
    masks.insert(row["mask"].get<std::string>());
    packed += row.contains("q_lengths") ? 1 : 0;
  }
  CHECK(rows.size() >= 300);
  CHECK(heads == std::set<int>{3, 5, 6, 7, 12});
  CHECK(widths == std::set<int>{64, 96, 128, 192, 256});
  CHECK(masks.size() == 5);
  CHECK(packed > 100);
}

TEST_CASE("FlashAttention's own tests over napkin.torch: none of more than 800 wrong") {
  int right = 0;
  for (const Json& row : measured::rows_of("grouped/flash_attention_tests.jsonl")) {
    INFO(row.dump());
    right += row.value("right", 0);
    CHECK(row.value("wrong", 0) + row.value("error", 0) == 0);
  }
  CHECK(right >= 800);
}

TEST_CASE("every kernel beside its arrays: 180 cases by the numbers read, none wrong and no band changed") {
  for (const Json& row : measured::rows_of("grouped/correctness.jsonl")) {
    INFO(row.dump());
    measured::check_right(row);
  }
}

}  // namespace

}  // namespace test_grouped
