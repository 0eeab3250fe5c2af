// Few rows on an H200 (few_rows/): cuBLAS' products over rotated weights compared with the selected tile of a vendor's,
// and readings of small kernels from which the model of device memory is made.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "model/machine/load.hpp"
#include "tests/measured/row.hpp"

namespace test_few_rows {

namespace {

using cli::Json;
using cli::pairs;
using measured::number;

/// Returns the predicted seconds of a vendor's fastest tile without stream-K, which no kernel of the recording has.
double selected(const Json& shape) {
  const Json found = cli::asked(
      "select matmul --gpu h200-sxm --json --load burst --l2 cold --kernel vendor_matmul_sm90 --tile "
      "order=grouped --shape " +
      pairs(shape));
  return found["predicted"]["time"].get<double>();
}

struct Errors {
  double rows = 0, mean = 0, bias = 0, worst = 0;
  void add(double error) {
    rows += 1, mean += std::abs(error), bias += error;
    worst = std::max(worst, std::abs(error));
  }
};

/// Returns the seconds of a chunk of boxes: 128 rows of 128 B, 128 chunks a block.
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
  const auto machine = napkin::internal::load_machine("h200-sxm", "test");
  CHECK(std::abs(machine.constant("device_row") - 128 * (whole / rows - 1)) < 1.1);
}

TEST_CASE("few rows: a chunk under way arrives after the cube root of the cubes of its own time and its share's") {
  std::map<int, double> alone;  // seconds by stages, of eight blocks
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

TEST_CASE("few rows: blocks side by side share part of what they read, blocks apart nothing") {
  // seconds of chunks of 128 rows, three stages, rows 8 KiB apart, from device memory
  std::map<std::string, double> time;
  for (const Json& row : measured::rows_of("few_rows/shared_lines.jsonl")) {
    if (row["rows"] == 128 && row["stages"] == 3 && row["row_bytes"] == 8192 && row["unique"] == row["tiles"])
      time[row["readers"].dump() + (row["apart"].get<bool>() ? " apart" : "")] = number(row, "time");
  }
  CHECK(time.at("2") / time.at("1") == doctest::Approx(1.06).epsilon(0.02));  // 1 if they met in every line
  CHECK(time.at("4") / time.at("1") == doctest::Approx(1.37).epsilon(0.02));
  CHECK(time.at("8") / time.at("1") == doctest::Approx(1.91).epsilon(0.02));
  for (const int readers : {2, 4, 8})
    CHECK(time.at(std::to_string(readers) + " apart") / time.at("1") == doctest::Approx(readers * 0.95).epsilon(0.03));
}

TEST_CASE("few rows: a second reader of cold weights changes nothing, and each of few stages waits for device memory") {
  std::map<std::string, std::map<int, double>> time;  // seconds with tiles of 64 columns by 64 rows, by rows and length
  for (const Json& row : measured::rows_of("few_rows/stages.jsonl")) {
    if (row["l2"] == "cold" && row["tile"]["c"] == 64)
      time[row["shape"]["a"].dump() + " x " + row["shape"]["b"].dump()][row["tile"]["stages"].get<int>()] =
          number(row, "time");
  }
  for (const int stages : {2, 3, 4, 5, 6}) {
    CAPTURE(stages);
    CHECK(time.at("128 x 11008").at(stages) == doctest::Approx(time.at("64 x 11008").at(stages)).epsilon(0.03));
  }
  // Returns the time of an iteration. With several chunks in flight it is a chunk's latency over their number, until
  // the L2's rate limits.
  const auto iteration = [&](int stages) {
    return (time.at("128 x 11008").at(stages) - time.at("128 x 4096").at(stages)) / 108;
  };
  CHECK(iteration(2) == doctest::Approx(0.751e-6).epsilon(0.01));
  for (const int stages : {3, 4, 5})
    CHECK(iteration(stages) * (stages - 1) == doctest::Approx(iteration(2)).epsilon(0.22));
}

TEST_CASE("few rows: Triton's product of few stages, cold and warm, as it is predicted") {
  std::map<std::string, Errors> of;
  for (const Json& row : measured::rows_of("few_rows/stages.jsonl")) {
    const auto run = cli::napkin(cli::words_of(
        "query matmul --gpu h200-sxm --json --load burst --kernel triton_matmul --l2 " + row["l2"].get<std::string>() +
        " --shape " + pairs(row["shape"]) + " --tile " + pairs(row["tile"])));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const double error = run.json()["predicted"]["time"].get<double>() / number(row, "time") - 1;
    for (const char* name : {"all", row["l2"] == "cold" ? "cold" : "warm"}) of[name].add(error);
  }
  for (const auto& [name, errors] : of)
    MESSAGE(name << ": " << 100 * errors.mean / errors.rows << " %, bias " << 100 * errors.bias / errors.rows
                 << " %, worst " << 100 * errors.worst << " %");
  CHECK(of["all"].rows == 100);
  CHECK(of["all"].mean / 100 <= 0.092);
  CHECK(of["cold"].mean / 50 <= 0.08);
  CHECK(of["all"].worst <= 0.25);
}

TEST_CASE("few rows: one SM gets 45.9 bytes a clock from device memory, however many boxes are under way") {
  double least = 1e9;
  for (const Json& row : measured::rows_of("few_rows/memory.jsonl")) {
    if (row["case"] == "few_blocks" && row["blocks"] == 1) least = std::min(least, number(row, "clk") / 128);
  }
  const auto machine = napkin::internal::load_machine("h200-sxm", "test");
  CHECK(16384 / least == doctest::Approx(machine.constant("device_bandwidth_one_sm")).epsilon(0.005));
}

}  // namespace test_few_rows
