// An H100, a card that had never been measured, asked with the H200's facts of the SM (second_card*/*.jsonl): what was
// predicted before the run, what today's model says, and what the card's own calibration changes.

#include <algorithm>
#include <cmath>
#include <map>

#include "apps/report/reading.hpp"
#include "model/machine/load.hpp"
#include "tests/measured/row.hpp"

namespace test_second_card {

using namespace napkin;
using cli::Json;
using measured::number;

namespace {

const std::string folder = "second_card/";

/// The rows by tile, the newest of each, and the time of the best.
struct Sweep {
  std::map<std::string, Json> rows;
  double best = INFINITY;
};
double time_of(const Json& row) { return number(row["measured"], "time"); }

std::map<std::string, Sweep> sweeps_of(const std::vector<Json>& rows) {
  std::map<std::string, Sweep> out;
  for (const Json& row : rows) out[row["sweep"].get<std::string>()].rows[cli::pairs(row["tile"])] = row;
  for (auto& [name, sweep] : out) {
    for (const auto& [tile, row] : sweep.rows) sweep.best = std::min(sweep.best, time_of(row));
  }
  return out;
}

/// The tile that had been selected before the run.
const Json& selected(const Sweep& sweep) {
  const auto found = std::find_if(sweep.rows.begin(), sweep.rows.end(),
                                  [](const auto& each) { return each.second["selected"].template get<bool>(); });
  REQUIRE(found != sweep.rows.end());
  return found->second;
}

struct Blind {
  double time = 0, worst = 0;  ///< of |predicted / measured - 1|, tiles within 1.5x of the best of their sweep
  int rows = 0;
};
Blind blind(const std::map<std::string, Sweep>& sweeps) {
  Blind out;
  for (const auto& [name, sweep] : sweeps) {
    for (const auto& [tile, row] : sweep.rows) {
      if (time_of(row) > 1.5 * sweep.best) continue;
      const double error = std::abs(number(row["predicted"], "time") / time_of(row) - 1);
      out.time = (out.time * out.rows + error) / (out.rows + 1);
      out.worst = std::max(out.worst, error);
      ++out.rows;
    }
  }
  return out;
}

struct Kernel {
  const char *file, *kernel;
  std::size_t sweeps;
  double blind_time, blind_worst;  ///< at most
  double regret, worst_regret;     ///< of the tile selected before the run
  double time, cycles;             ///< today's model with what the card's calibration says of the product
};
const std::vector<Kernel> kernels = {
    {"attention.jsonl", "attention_sm90", 12, 0.0355, 0.17, 0.007, 0.039, 0.0355, 0.043},
    {"products.jsonl", "matmul_sm90", 3, 0.05, 0.20, 0, 0, 0.049, 0.066},
};

}  // namespace

TEST_CASE("predicted before the run: time within 6 % in the mean, regret within 2 %") {
  double time = 0, regret = 0;
  int rows = 0, sweeps = 0;
  for (const Kernel& each : kernels) {
    CAPTURE(each.kernel);
    const auto by_sweep = sweeps_of(measured::rows_of(folder + each.file));
    const Blind found = blind(by_sweep);
    MESSAGE(each.kernel << ": " << found.rows << " rows, " << 100 * found.time << " % mean, " << 100 * found.worst
                        << " % worst");
    CHECK(found.time <= each.blind_time);
    CHECK(found.worst <= each.blind_worst);
    CHECK(by_sweep.size() == each.sweeps);
    double sum = 0, worst = 0;
    for (const auto& [name, sweep] : by_sweep) {
      const double over = time_of(selected(sweep)) / sweep.best - 1;
      MESSAGE(name << ": the pick is " << 100 * over << " % over the best of " << sweep.rows.size());
      sum += over;
      worst = std::max(worst, over);
    }
    CHECK(sum / static_cast<double>(by_sweep.size()) <= each.regret);
    CHECK(worst <= each.worst_regret);
    time += found.time * found.rows, rows += found.rows;
    regret += sum, sweeps += static_cast<int>(by_sweep.size());
  }
  CHECK(time / rows <= 0.06);
  CHECK(regret / sweeps <= 0.02);
}

TEST_CASE("each sweep's pick is the one that was committed before, with its time") {
  std::vector<Json> committed = measured::rows_of(folder + "predictions.jsonl");
  CHECK(committed.size() == 15);
  for (const Kernel& each : kernels) {
    for (const auto& [name, sweep] : sweeps_of(measured::rows_of(folder + each.file))) {
      CAPTURE(name);
      const Json& pick = selected(sweep);
      CHECK(std::any_of(committed.begin(), committed.end(), [&](const Json& one) {
        const double ratio = number(pick["predicted"], "time") / number(one["predicted"], "time");
        return one["algorithm"] == pick["algorithm"] && cli::pairs(one["tile"]) == cli::pairs(pick["tile"]) &&
               std::abs(ratio - 1) < 0.005;
      }));
    }
  }
}

TEST_CASE("today's model with what calibrate says of the product") {
  for (const Kernel& each : kernels) {
    CAPTURE(each.kernel);
    const auto run = cli::napkin({"validate", "--json", "--replay", (measured::root / folder / each.file).string()});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const Json found = run.json(), of = found["kernels"][each.kernel]["held-out"];
    CHECK(number(of["time_error"], "mean") <= each.time);
    CHECK(number(of["cycles_error"], "mean") <= each.cycles);
    CHECK(number(found["regret"], "mean") <= 0.006);
    CHECK(number(found["regret"], "top3_worst") <= 0.001);
  }
}

TEST_CASE("FlashAttention-2 predicted before the run: 44 times within 3 % in the mean") {
  const auto committed = measured::rows_of("second_card_peer/predictions.jsonl");
  const auto rows = measured::rows_of("second_card_peer/flash_attention_2.jsonl");
  REQUIRE(committed.size() == rows.size());
  CHECK(rows.size() == 44);
  double sum = 0, bias = 0, worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const char* key : {"peer", "shape", "mask", "dtype", "tile"}) REQUIRE(committed[i][key] == rows[i][key]);
    const double error = number(committed[i]["predicted"], "time") / number(rows[i]["loop"], "time") - 1;
    sum += std::abs(error);
    bias += error;
    worst = std::max(worst, std::abs(error));
  }
  CHECK(sum / 44 < 0.026);
  CHECK(std::abs(bias / 44) < 0.005);
  CHECK(worst < 0.12);  // 512 queries under a mask
}

TEST_CASE("the readings of calibrate are what h100-sxm says of the product") {
  std::vector<report::ReadingRow> read = report::parse_readings(
      cli::contents((measured::root / "second_card_calibration/run_1.jsonl").string()), "run_1.jsonl");
  Readings readings;
  for (report::ReadingRow& row : read) readings.push_back(std::move(row.reading));
  const Machine shipped = load_machine("h100-sxm", "--gpu");
  const Machine found = calibrate(shipped, readings, {"napkin calibrate", "2026-11-24", "580.159.04"}).machine;
  for (const char* name : {"l2_working_set", "clock_beside_tensor", "clock_tree"}) {
    CAPTURE(name);
    CHECK(shipped.constants.at(name).value == found.constants.at(name).value);
  }
  CHECK(shipped.power.idle->value == found.power.idle->value);
}

}  // namespace test_second_card
