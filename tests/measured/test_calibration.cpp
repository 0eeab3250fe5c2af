// The recorded readings of napkin calibrate, fitted again: the numbers of the card, the agreement of two runs, and the
// shipped profile's distance from them.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "apps/report/record/reading.hpp"
#include "model/machine/load.hpp"
#include "model/machine/number.hpp"
#include "model/machine/write.hpp"
#include "tests/golden/cli.hpp"

namespace test_calibration {

using namespace napkin;
using namespace napkin::internal;

namespace {

const std::string folder = NAPKIN_SOURCE_DIR "/tests/measured/calibration";

struct Run {
  Readings readings;
  Calibration calibration;
};

Run run_of(const std::string& file) {
  Run run;
  std::vector<report::ReadingRow> rows = report::parse_readings(cli::contents(file), file);
  REQUIRE_FALSE(rows.empty());
  const Stamp stamp{"napkin calibrate", rows.front().from.date.substr(0, 10), rows.front().from.driver};
  for (report::ReadingRow& row : rows) run.readings.push_back(std::move(row.reading));
  run.calibration = calibrate(load_machine("h200-sxm", "--gpu"), run.readings, stamp);
  return run;
}

const std::vector<Run>& runs() {
  static const std::vector<Run> all = [] {
    return std::vector<Run>{run_of(folder + "/run_1.jsonl"), run_of(folder + "/run_2.jsonl")};
  }();
  return all;
}

std::map<std::string, Finding> findings_of(const Run& run) {
  std::map<std::string, Finding> out;
  for (const Finding& finding : run.calibration.findings) out.emplace(finding.name, finding);
  return out;
}

/// Returns the first reading's median.
double median_of(const Run& run, std::string_view experiment, std::string_view quantity, const Conditions& with) {
  const auto found = matching(run.readings, experiment, quantity, with);
  REQUIRE_FALSE(found.empty());
  return estimate(found.front()->values).value;
}

TEST_CASE("a product takes max(N/2, 16 + N/4) clocks, with A in registers max(N/2, 13)") {
  for (const Run& run : runs()) {
    int rows = 0;
    for (const Reading* reading : matching(run.readings, "tensor_time", "product", {{"groups", "1"}})) {
      const double n = std::stod(std::string(reading->parameter("n")));
      const double law = reading->parameter("a") == "shared" ? std::max(n / 2, 16 + n / 4) : std::max(n / 2, 13.0);
      CAPTURE(n);
      CHECK(estimate(reading->values).value == doctest::Approx(law).epsilon(0.002));
      ++rows;
    }
    CHECK(rows == 18);
  }
}

TEST_CASE("the tensor cores serve products in the order in which they were issued") {
  // Batches of 8, n = 128: 512 clocks each. Issued 128 clocks apart, the first ends as if it were alone and the second
  // after it; issued at once, products of both take turns until the first has its 8.
  for (const Run& run : runs()) {
    for (const char* a : {"shared", "registers"}) {
      const Conditions apart = {{"n", "128"}, {"a", a}, {"offset", "128"}},
                       alone = {{"n", "128"}, {"a", a}, {"offset", "512"}},
                       at_once = {{"n", "128"}, {"a", a}, {"offset", "0"}};
      CHECK(median_of(run, "tensor_together", "first_end", apart) ==
            doctest::Approx(median_of(run, "tensor_together", "first_end", alone)).epsilon(0.02));
      CHECK(median_of(run, "tensor_together", "second_end", apart) -
                median_of(run, "tensor_together", "first_end", apart) ==
            doctest::Approx(512).epsilon(0.05));
      const double one = median_of(run, "tensor_together", "first_end", at_once),
                   other = median_of(run, "tensor_together", "second_end", at_once);
      CHECK(std::max(one, other) == doctest::Approx(1090).epsilon(0.05));
      CHECK(std::min(one, other) > 1.3 * median_of(run, "tensor_together", "first_end", alone));
      CHECK(std::min(one, other) < 0.9 * std::max(one, other));
    }
  }
}

TEST_CASE(
    "copies into shared memory do not slow products, products slow copies only at n = 64 with A in shared memory") {
  for (const Run& run : runs()) {
    for (const Reading* reading : matching(run.readings, "copies_beside", "product")) {
      const double n = std::stod(std::string(reading->parameter("n")));
      CHECK(estimate(reading->values).value == doctest::Approx(n / 2).epsilon(0.01));
    }
    for (const Reading* reading : matching(run.readings, "copies_beside", "copied")) {
      const bool fullest = reading->parameter("n") == "64" && reading->parameter("a") == "shared";
      const double rate = estimate(reading->values).value;
      CHECK((fullest ? rate < 30 : rate > 34));
    }
  }
}

TEST_CASE("what returns to registers from shared memory or another lane does so at 32 B/clk beside products") {
  for (const Run& run : runs()) {
    for (const char* n : {"192", "256"}) {
      const Conditions load = {{"work", "load"}, {"groups", "2"}, {"n", n}},
                       shuffle = {{"work", "shuffle"}, {"groups", "2"}, {"n", n}};
      CHECK(median_of(run, "vector_beside", "rate", load) == doctest::Approx(32).epsilon(0.01));
      CHECK(128 * median_of(run, "vector_beside", "rate", shuffle) == doctest::Approx(32).epsilon(0.01));
    }
  }
}

TEST_CASE("two runs of one card agree within 1 %, but for what is listed") {
  // Wider tolerances: for host time; for device memory's pages and a chase's place in the L2, which differ from process
  // to process; for differences and fits.
  const std::map<std::string, double> looser = {{"constants.launch_overhead", 0.5},
                                                {"constants.tma_device_latency_16kib", 0.15},
                                                {"pipes.device.latency", 0.1},
                                                {"pipes.l2.latency", 0.03},
                                                {"pipes.cluster.latency", 0.1},
                                                {"constants.l2_bandwidth_one_sm", 0.05},
                                                {"constants.l2_bandwidth_shared_tile", 0.03},
                                                {"constants.clock_tree", 0.5},
                                                {"constants.energy_device", 0.1},
                                                {"constants.energy_tensor_16bit", 0.05},
                                                {"constants.energy_instruction", 0.05},
                                                {"power.idle", 0.1}};
  REQUIRE(runs().size() >= 2);
  const auto first = findings_of(runs().front());
  CHECK(first.size() > 30);
  for (std::size_t i = 1; i < runs().size(); ++i) {
    for (const auto& each : findings_of(runs()[i])) {
      const std::string& name = each.first;
      const auto other = first.find(name);
      REQUIRE_MESSAGE(other != first.end(), name);
      const double within = looser.contains(name) ? looser.at(name) : 0.01;
      const double apart = std::abs(each.second.number.value / other->second.number.value - 1);
      CHECK_MESSAGE(apart <= within, name << ": " << other->second.number.value << ", " << each.second.number.value);
    }
  }
}

TEST_CASE("the shipped profile is within 15 % of the readings, but for what tests/measured/README.md lists") {
  const std::set<std::string> listed = {"units.fp16.rate", "constants.shared_port_least",
                                        "constants.store_fence_barrier", "constants.block_handover",
                                        "constants.block_overhead"};
  const std::string readme = cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/README.md");
  for (const std::string& name : listed)
    CHECK_MESSAGE(readme.find(name.substr(name.find('.') + 1)) != std::string::npos, name);
  const auto found = findings_of(runs().front());
  std::set<std::string> apart;
  for (const auto& each : found) {
    const Finding& finding = each.second;
    if (!finding.before) continue;
    const double value = finding.number.value / profile::factor_of(finding.number.unit);
    if (std::abs(value / *finding.before - 1) > 0.15) apart.insert(each.first);
  }
  CHECK(apart == listed);
}

TEST_CASE("a number of a shipped profile that says calibrate is what a recorded run gives") {
  const Machine shipped = load_machine("h200-sxm", "--gpu");
  const std::vector<Run> others = {run_of(NAPKIN_SOURCE_DIR "/tests/measured/vector/rates.jsonl"),
                                   run_of(NAPKIN_SOURCE_DIR "/tests/measured/mma_sync/run_1.jsonl"),
                                   run_of(NAPKIN_SOURCE_DIR "/tests/measured/mma_sync/attention_1.jsonl"),
                                   run_of(NAPKIN_SOURCE_DIR "/tests/measured/energy_e4m3/run_3.jsonl")};
  const auto check = [&](const std::string& name, const Number& number) {
    if (number.from.tool.find("calibrate") == std::string::npos) return;
    const auto gives = [&](const Run& run) {
      return std::any_of(run.calibration.findings.begin(), run.calibration.findings.end(), [&](const Finding& finding) {
        return finding.name == name && finding.number.value == number.value;
      });
    };
    const bool recorded =
        std::any_of(others.begin(), others.end(), gives) || std::any_of(runs().begin(), runs().end(), gives);
    CHECK_MESSAGE(recorded, name);
  };
  for (const auto& each : shipped.constants) check("constants." + each.first, each.second);
  for (const Unit& unit : shipped.units) {
    for (const auto& [way, list] :
         {std::pair("alone.", &unit.co_use.alone), std::pair("beside.", &unit.co_use.beside)}) {
      for (std::size_t i = 0; i < list->size(); ++i)
        check("units." + unit.name + ".co_use." + way + std::to_string(i + 1), (*list)[i]);
    }
  }
}

TEST_CASE("each recorded run makes a profile that loads again") {
  for (const Run& run : runs()) {
    const std::string text = profile_text(run.calibration.machine);
    CHECK(profile_text(parse_machine(text, "calibrated.yaml")) == text);
  }
}

}  // namespace

}  // namespace test_calibration
