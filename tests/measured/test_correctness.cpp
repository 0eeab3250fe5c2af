// The recorded run of every bundled kernel against float64 (correctness/*.jsonl), checked again by its numbers; it must
// contain each of the values that kernels are likely to get wrong.

#include <algorithm>
#include <functional>
#include <set>

#include "model/resource/resources.hpp"
#include "napkin/ask.hpp"
#include "solver/space/constraints.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_correctness {

namespace {

using cli::Json;

const std::vector<std::string> kernels{"attention_sm90", "attention_wide_sm90", "attention_sm80", "matmul_sm90"};

std::vector<Json> recorded(const std::string& kernel) { return measured::rows_of("correctness/" + kernel + ".jsonl"); }

/// Returns true if the error is at most twice that of unfused arithmetic of the type, every output element is written
/// and nothing outside them. Values that are not finite are recorded as null.
bool right(const Json& row) {
  for (const char* error : {"max_error", "reference_error", "lse_error"}) {
    if (!row[error].is_number()) return false;
  }
  return row["rows"].get<int>() > 0 &&
         row["max_error"].get<double>() <= 2 * row["reference_error"].get<double>() + 1e-5 &&
         row["lse_error"].get<double>() <= 1e-3 && row["unwritten"] == 0 && row["strayed"] == 0;
}

bool is_attention(const std::string& kernel) { return kernel.starts_with("attention"); }

using Is = std::function<bool(const Json&)>;

Is size_is(const char* axis, int size) {
  return [=](const Json& row) { return row["shape"][axis] == size; };
}

Is mask_begins(const char* text) {
  return [=](const Json& row) { return row["mask"].get<std::string>().starts_with(text); };
}

Is has_empty_sequence(const char* axis) {
  return [=](const Json& row) {
    if (!row.contains("packed")) return false;
    const Json& lengths = row["packed"][axis];
    return std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
  };
}

/// Returns true if the case's tile is legal by today's rules.
bool is_legal_today(const Json& row) {
  using namespace napkin;
  using namespace napkin::internal;
  const std::string text = row["mask"].get<std::string>(), window = "window ";
  Mask mask;
  if (text == "causal") mask.kind = Mask::Kind::causal;
  if (text.starts_with(window)) mask = parse_window(text.substr(window.size()));
  const test::LaidOut laid(row["kernel"].get<std::string>(), "h200-sxm", measured::sizes_of(row["shape"]),
                           parse_dtype(row["dtype"].get<std::string>(), "dtype"), mask);
  const PlacedDiagram placed = laid.place(measured::texts_of(row["tile"]));
  return violations(placed, plan(placed)).empty();
}

}  // namespace

TEST_CASE("at least 200 different cases of each kernel are recorded, all right") {
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    std::set<std::string> different;
    for (Json row : recorded(kernel)) {
      CHECK_MESSAGE(right(row), row.dump());
      CHECK_MESSAGE(row["good"] == true, row.dump());
      std::string key;
      for (const char* part : {"dtype", "mask", "shape", "tile", "gap", "heads_first", "log_sum_exp", "packed"}) {
        if (row.contains(part)) key += row[part].dump() + " ";
      }
      different.insert(key);
    }
    CHECK(different.size() >= 200);
  }
}

// A case of a tile that is no longer legal does not count.
TEST_CASE("at least 200 of each kernel's recorded cases are of tiles that today's rules allow") {
  for (const std::string& kernel : kernels) {
    const std::vector<Json> rows = recorded(kernel);
    const auto legal = std::count_if(rows.begin(), rows.end(), is_legal_today);
    MESSAGE(kernel << ": " << legal << " of " << rows.size());
    CHECK_MESSAGE(legal >= 200, kernel);
  }
}

TEST_CASE("a wrong row is seen") {
  const Json good = recorded("attention_sm90").front();
  REQUIRE(right(good));
  const double bound = 2 * good["reference_error"].get<double>() + 1e-5;
  const std::vector<std::pair<const char*, Json>> faults{{"max_error", bound + 1e-6},
                                                         {"max_error", nullptr},
                                                         {"lse_error", 2e-3},
                                                         {"unwritten", 1},
                                                         {"strayed", 1},
                                                         {"rows", 0}};
  for (const auto& fault : faults) {
    Json row = good;
    row[fault.first] = fault.second;
    CHECK_MESSAGE(!right(row), row.dump());
  }
}

TEST_CASE("the awkward values are among them") {
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    const std::vector<Json> rows = recorded(kernel);
    const auto among = [&](const char* what, const Is& is) {
      CHECK_MESSAGE(std::any_of(rows.begin(), rows.end(), is), what);
    };
    for (const int size : {1, 7, 65, 1000, 4097}) {
      CAPTURE(size);
      among("rows", size_is(is_attention(kernel) ? "q" : "a", size));
      among("keys or columns", size_is(is_attention(kernel) ? "x" : "c", size));
    }
    among("bf16", [](const Json& row) { return row["dtype"] == "bf16"; });
    among("f16", [](const Json& row) { return row["dtype"] == "f16"; });
    among("gaps between rows", [](const Json& row) { return row["gap"].get<int>() > 0; });
    if (!is_attention(kernel)) continue;
    among("fewer keys than a chunk", [](const Json& row) {
      return row["shape"]["x"].get<int>() < std::stoi(row["tile"]["x"].get<std::string>());
    });
    among("eight query heads a key head", size_is("g", 8));
    if (kernel == "attention_wide_sm90") {
      for (const int d : {320, 512, 576}) among("a narrow, the usual and the widest head", size_is("d", d));
    } else {
      among("d = 96", size_is("d", 96));
    }
    among("heads before rows, with gaps",
          [](const Json& row) { return row["heads_first"] == true && row["gap"].get<int>() > 0; });
    if (kernel == "attention_sm90") {  // for inputs N(0, 1) the reference's error stays below 0.1
      const auto outgrown = std::count_if(rows.begin(), rows.end(),
                                          [](const Json& row) { return row["reference_error"].get<double>() > 1; });
      CHECK_MESSAGE(outgrown >= 20, "inputs whose maxima outgrow kept ones");
    }
    among("an empty sequence of queries", has_empty_sequence("q"));
    among("an empty sequence of keys", has_empty_sequence("x"));
    among("causal", mask_begins("causal"));
    among("window", mask_begins("window"));
    among("more queries than keys, causal: rows that see nothing",
          [](const Json& row) { return row["mask"] == "causal" && row["shape"]["q"] > row["shape"]["x"]; });
  }
}

}  // namespace test_correctness
