// mma.sync and cp.async by small kernels (mma_sync/*.jsonl): their readings, which two runs repeat.

#include <algorithm>
#include <cmath>
#include <map>

#include "apps/report/record/reading.hpp"
#include "model/machine/calibrate/calibration.hpp"
#include "model/machine/calibrate/fit.hpp"
#include "model/machine/load.hpp"
#include "model/machine/write.hpp"
#include "tests/measured/row.hpp"

namespace test_mma_sync {

using namespace napkin;
using namespace napkin::internal;

namespace {

struct Run {
  Readings readings;
  Calibration calibration;
};

Run run_of(const std::string& number) {
  Run run;
  for (const char* file : {"run_", "attention_"}) {
    const std::string path = NAPKIN_SOURCE_DIR "/tests/measured/mma_sync/" + (file + number) + ".jsonl";
    for (report::ReadingRow& row : report::parse_readings(cli::contents(path), path))
      run.readings.push_back(std::move(row.reading));
  }
  REQUIRE_FALSE(run.readings.empty());
  run.calibration =
      calibrate(load_machine("h200-sxm", "--gpu"), run.readings, {"napkin calibrate", "2026-11-23", "580"});
  return run;
}

const std::vector<Run>& runs() {
  static const std::vector<Run> both = {run_of("1"), run_of("2")};
  return both;
}

double median_of(const Run& run, std::string_view experiment, std::string_view quantity, const Conditions& with) {
  const auto found = matching(run.readings, experiment, quantity, with);
  REQUIRE(found.size() == 1);
  return estimate(found.front()->values).value;
}

double alone(const Run& run, int accumulators, int warps) {
  return median_of(run, "mma_alone", "product",
                   {{"accumulators", std::to_string(accumulators)}, {"warps", std::to_string(warps)}});
}
double among(const Run& run, const char* work, int count, int warps) {
  return median_of(run, "mma_among", "product",
                   {{"work", work}, {"among", std::to_string(count)}, {"warps", std::to_string(warps)}});
}
double chunk(const Run& run, int kib, const char* tile, const char* sms, int busy = 0) {
  return median_of(
      run, "async_copies", "chunk",
      {{"kib", std::to_string(kib)}, {"tile", tile}, {"sms", sms}, {"stages", "1"}, {"busy", std::to_string(busy)}});
}

TEST_CASE(
    "a product of mma.sync takes 24 clocks until its result, shared by accumulators and warps, and 6.0 at least") {
  for (const Run& run : runs()) {
    for (const int warps : {1, 2, 3, 4}) {
      for (const int accumulators : {1, 2, 3, 4, 6, 8, 16}) {
        CAPTURE(warps);
        CAPTURE(accumulators);
        const double least = warps == 1 ? 6.31 : 6.03;
        CHECK(alone(run, accumulators, warps) ==
              doctest::Approx(std::max(24.03 / warps / accumulators, least)).epsilon(0.035));
      }
    }
  }
}

TEST_CASE(
    "multiply-adds among products of their own warps: 0.45 clocks each at first, one each beyond four a product") {
  for (const Run& run : runs()) {
    for (const int count : {2, 4, 6, 8}) {  // instructions beside two products
      CHECK(among(run, "fma", count, 1) - alone(run, 8, 1) == doctest::Approx(0.45 * count / 2).epsilon(0.12));
    }
    for (const int warps : {1, 2, 4}) {
      CHECK(among(run, "fma", 16, warps) - among(run, "fma", 12, warps) == doctest::Approx(2).epsilon(0.02));
      const double ports = among(run, "fma", 16, warps) - 8;
      CHECK(ports > 3.6);
      CHECK(ports < 4.1);
    }
  }
}

TEST_CASE("what loads a product's operands takes shared memory's port and little else") {
  for (const Run& run : runs()) {
    for (const char* work : {"load", "load_matrix"}) {
      for (const int warps : {1, 2, 4}) {
        // A load for two products brings 512 bytes to each of four schedulers at 128 B/clk: 8 clk a product.
        CHECK(among(run, work, 1, warps) == doctest::Approx(8).epsilon(0.06));
        CHECK(among(run, work, 2, warps) == doctest::Approx(16).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("other warps' multiply-adds starve products; a mix and a softmax take turns with them") {
  for (const Run& run : runs()) {
    const auto product = [&](const char* work) {
      return median_of(run, "mma_beside", "product", {{"work", work}, {"warps", "1"}});
    };
    const auto rate = [&](const char* work) {
      return median_of(run, "mma_beside", "rate", {{"work", work}, {"warps", "1"}});
    };
    CHECK(product("fma") > 90);
    CHECK(rate("fma") > 3.6);
    CHECK(product("mix") * (1 - rate("mix") / 4) == doctest::Approx(6.3).epsilon(0.03));
    CHECK(product("softmax") * (1 - rate("softmax") * 4.5 / 32 / 4) == doctest::Approx(6.3).epsilon(0.03));
    CHECK(product("ex2") < 7.1);
  }
}

TEST_CASE("with a softmax's mix and ldmatrix among products, 6 clocks and an instruction's each; 8 of a warp alone") {
  for (const Run& run : runs()) {
    for (const int mixes : {1, 2}) {
      for (const int loads : {1, 2}) {
        for (const int warps : {1, 2, 4}) {
          CAPTURE(mixes);
          CAPTURE(loads);
          CAPTURE(warps);
          const double product = median_of(
              run, "mma_attention", "product",
              {{"mixes", std::to_string(mixes)}, {"loads", std::to_string(loads)}, {"warps", std::to_string(warps)}});
          const double ports = product - 2 * mixes - loads / 4.0;
          CHECK(ports > (warps == 1 ? 7.4 : 5.9));
          CHECK(ports < (warps == 1 ? 8.4 : 6.6));
        }
      }
    }
  }
}

TEST_CASE("a chunk by cp.async: 330 clocks and its bytes at 123 B/clk by one SM; more beside warps that multiply") {
  for (const Run& run : runs()) {
    for (const int kib : {2, 4, 8, 16, 32, 64}) {
      CAPTURE(kib);
      CHECK(chunk(run, kib, "own", "one") == doctest::Approx(325 + kib * 1024 / 123.0).epsilon(0.03));
      CHECK(chunk(run, kib, "own", "all") <= 330 + kib * 1024 / 30.0);
      CHECK(chunk(run, kib, "device", "all") > 450 + chunk(run, kib, "own", "all"));
    }
    for (const int kib : {8, 16, 32}) {
      CHECK(chunk(run, kib, "same", "all", 4) - chunk(run, kib, "same", "all") > 35);
      CHECK(chunk(run, kib, "same", "all", 8) - chunk(run, kib, "same", "all") > 150);
      CHECK(chunk(run, kib, "same", "all", 8) - chunk(run, kib, "same", "all") < 215);
    }
  }
}

TEST_CASE("the numbers that calibrate makes of it; two runs agree") {
  const std::map<std::string, std::pair<double, double>> expected = {
      // value and tolerance
      {"constants.mma_sync_product", {6.03, 0.01}},
      {"constants.mma_sync_latency", {24.0, 0.01}},
      {"constants.mma_sync_ports", {6.2, 0.02}},
      {"constants.mma_sync_ports_one", {8.1, 0.02}},
      {"constants.cp_async_loaded_latency", {462, 0.02}}};
  for (const Run& run : runs()) {
    REQUIRE(run.calibration.findings.size() == expected.size());
    for (const Finding& finding : run.calibration.findings) {
      CAPTURE(finding.name);
      const auto& [value, within] = expected.at(finding.name);
      CHECK(finding.number.value == doctest::Approx(value).epsilon(within));
      CHECK(finding.placed);
    }
    const std::string text = profile_text(run.calibration.machine);
    CHECK(profile_text(parse_machine(text, "calibrated.yaml")) == text);
  }
  REQUIRE(runs()[0].readings.size() == runs()[1].readings.size());
  for (std::size_t i = 0; i < runs()[0].readings.size(); ++i) {
    const Reading &one = runs()[0].readings[i], &other = runs()[1].readings[i];
    const bool device = one.parameter("tile") == "device";  // pages and channels differ
    CHECK(estimate(one.values).value == doctest::Approx(estimate(other.values).value).epsilon(device ? 0.06 : 0.02));
  }
}

TEST_CASE("the energies of products from registers and of what ldmatrix brings are those of steady loads") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  const auto rows = measured::rows_of("mma_sync/energies.jsonl");
  const auto row = [&](const char* load) {
    const auto found = std::find_if(rows.rbegin(), rows.rend(), [&](const auto& one) { return one["load"] == load; });
    REQUIRE(found != rows.rend());
    return *found;
  };
  const double idle = measured::number(row("idle with a context"), "power");
  // Returns the joules of one unit of `count` at 1.5 GHz, with the measured exponent.
  const auto each = [&](const auto& of, const char* count, double less) {
    const double joules = (measured::number(of, "power") - less) * measured::number(of, "time");
    const double ratio = of.contains("sm_clock") ? measured::number(of, "sm_clock") / 1.5e9 : 1;
    return joules / measured::number(of, count) / std::pow(ratio, machine.constants.at("energy_exponent").value);
  };
  const double instruction = machine.constants.at("energy_instruction").value;
  const double product = each(row("mma.sync, B in registers"), "products", idle);
  CHECK((product - instruction) / 4096 == doctest::Approx(machine.constant("energy_tensor_synchronous")).epsilon(0.02));
  const double with_half_a_load = each(row("mma.sync, B by ldmatrix"), "products", idle);
  CHECK((2 * (with_half_a_load - product) - instruction) / 512 ==
        doctest::Approx(machine.constant("energy_shared")).epsilon(0.1));
  // The energy with operands that change; the fitted energy is 0.27 nJ.
  CHECK(each(row("softmax"), "instructions", measured::number(row("softmax"), "idle")) ==
        doctest::Approx(0.257e-9).epsilon(0.01));
}

TEST_CASE("instructions that wait for each other take what the profile says, less the loop's own half clock") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  std::map<std::string, double> clocks, instructions;
  for (const auto& row : measured::rows_of("mma_sync/chains.jsonl")) {
    if (row["warps"] != 1) continue;
    clocks[row["chain"]] = measured::median(row["clocks"].get<std::vector<double>>());
    instructions[row["chain"]] = measured::number(row, "instructions");
  }
  const char* mixed = "IADD3, LOP3, IMAD, SHF";
  CHECK(clocks.at(mixed) / instructions.at(mixed) == doctest::Approx(machine.constant("issue.serial")).epsilon(0.02));
  for (const char* one : {"LOP3", "IMAD", "SHF", "FFMA", "F2FP"})
    CHECK(clocks.at(one) == doctest::Approx(machine.constant("issue.serial")).epsilon(0.04));
  CHECK(clocks.at("SHFL, FMNMX, FADD") == doctest::Approx(machine.constant("shuffle.latency")).epsilon(0.01));
  CHECK(clocks.at("FMUL, EX2") == doctest::Approx(machine.constant("special.latency")).epsilon(0.01));
}

}  // namespace

}  // namespace test_mma_sync
