// Few rows on an H200 (few_rows/): cuBLAS' products over rotated weights beside what is selected of a vendor's tiles,
// and what small kernels say of device memory, on which the model's words for it rest.

#include <algorithm>
#include <cmath>
#include <map>

#include "model/machine/load.hpp"
#include "tests/measured/row.hpp"

namespace test_few_rows {

namespace {

using cli::Json;
using cli::pairs;
using measured::number;

/// Predicted seconds of a vendor's fastest tile, without stream-K: no kernel of the recording has it.
double selected(const Json& shape) {
  const auto run = cli::napkin(
      cli::words_of("select matmul --gpu h200-sxm --json --load burst --l2 cold --kernel vendor_matmul_sm90 --tile "
                    "order=grouped --shape " +
                    pairs(shape)));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json()["predicted"]["time"].get<double>();
}

struct Errors {
  double rows = 0, mean = 0, bias = 0;
  void add(double error) { rows += 1, mean += std::abs(error), bias += error; }
};

/// Seconds of a chunk of boxes: of 128 rows of 128 B, 128 chunks a block.
double chunk(const Json& row) { return number(row, "time") / number(row, "chunks"); }

}  // namespace

TEST_CASE("few rows: cuBLAS over cold weights beside what is selected of a vendor's tiles") {
  std::map<std::string, Errors> of;
  for (const Json& row : measured::rows_of("few_rows/products.jsonl")) {
    const double time = selected(row["shape"]);
    const bool few = row["shape"]["a"] <= 128;
    of[(few ? "few, " : "256, ") + row["split"].get<std::string>()].add(number(row, "time") / time - 1);
  }
  for (const auto& [name, errors] : of)
    MESSAGE(name << ": " << 100 * errors.mean / errors.rows << " %, bias " << 100 * errors.bias / errors.rows);
  CHECK(of["few, calibration"].rows == 18);
  CHECK(of["few, held-out"].rows == 54);
  CHECK(of["few, calibration"].mean / 18 <= 0.08);
  CHECK(of["few, held-out"].mean / 54 <= 0.10);
}

TEST_CASE("few rows: rows of 128 bytes pass at 0.94 of what whole pieces of memory do") {
  double rows = 0, whole = 0;
  for (const Json& row : measured::rows_of("few_rows/memory.jsonl")) {
    if (!row.contains("bytes")) continue;
    const double rate = number(row, "bytes") / number(row, "time");
    if (row["case"] == "under_way" && row.value("width", 128) == 128) rows = std::max(rows, rate);
    if (row["case"] == "loads" && row["width"] == 16384) whole = std::max(whole, rate);
  }
  CHECK(rows == doctest::Approx(4.356e12).epsilon(0.001));
  CHECK(whole == doctest::Approx(4.595e12).epsilon(0.001));
  const auto machine = napkin::load_machine("h200-sxm", "test");
  CHECK(std::abs(machine.constant("device_row") - 128 * (whole / rows - 1)) < 1.1);
}

TEST_CASE("few rows: a chunk under way arrives after the cube root of the cubes of its own time and its share's") {
  std::map<int, double> alone;  // by stages, of eight blocks
  const auto rows = measured::rows_of("few_rows/memory.jsonl");
  for (const Json& row : rows) {
    if (row["case"] == "few_blocks" && row["blocks"] == 33) alone[row["stages"].get<int>()] = chunk(row);
  }
  int compared = 0;
  for (const Json& row : rows) {
    if (row["case"] != "few_blocks" || row["blocks"] < 48) continue;
    const double share = 128 * 128 * number(row, "blocks") / 4.356e12, own = alone.at(row["stages"].get<int>());
    CAPTURE(row.dump());
    CHECK(std::abs(chunk(row) / std::cbrt(own * own * own + share * share * share) - 1) < 0.11);
    ++compared;
  }
  CHECK(compared == 24);
}

TEST_CASE("few rows: a last wave of few blocks takes its own time, not its share of the bytes") {
  std::map<int, double> time;
  for (const Json& row : measured::rows_of("few_rows/memory.jsonl")) {
    if (row["case"] == "waves" && row["engine"] == "tma" && row["rows"] == 128)
      time[row["blocks"].get<int>()] = number(row, "time");
  }
  CHECK(time.at(140) / time.at(132) > 1.3);  // 140 / 132 is 1.06
  CHECK(time.at(160) / time.at(132) > 1.35);
  CHECK(time.at(264) / time.at(132) < 2.05);
}

}  // namespace test_few_rows
