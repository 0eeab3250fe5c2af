// Calibration from readings whose right numbers are known.
#include "model/machine/calibrate/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "model/machine/load.hpp"
#include "model/machine/write.hpp"

namespace test_calibration {

using namespace napkin;
using namespace napkin::internal;

namespace {

const Stamp stamp = {"napkin test", "2026-11-21", "580.1"};

const Finding* find(const Calibration& calibration, std::string_view name) {
  const auto at = std::find_if(calibration.findings.begin(), calibration.findings.end(),
                               [&](const Finding& f) { return f.name == name; });
  return at == calibration.findings.end() ? nullptr : &*at;
}

Machine h200() { return load_machine("h200-sxm", "--gpu"); }

}  // namespace

TEST_CASE("a reading lands in its place, with spread and origin; the datasheet's value stays") {
  const Readings readings = {
      {"vector_alone", {{"work", "ex2"}, {"groups", "1"}}, "rate", "instructions/clk", {0.4}},
      {"vector_alone", {{"work", "ex2"}, {"groups", "2"}}, "rate", "instructions/clk", {0.49, 0.50, 0.51}},
      {"waiting", {{"for", "mbarrier_round"}}, "round", "clk", {33.24, 33.26}},
      {"device_bandwidth", {{"way", "read"}}, "rate", "B/s", {4.6e12}}};
  const Calibration found = calibrate(h200(), readings, stamp);
  REQUIRE(found.findings.size() == 3);
  const Unit* special = found.machine.unit("special");
  CHECK(special->per_clock.datasheet->value == 16);
  CHECK(special->per_clock.measured->value == 16);
  CHECK(special->per_clock.measured->from.tool == "napkin test");
  CHECK(special->per_clock.measured->from.driver == "580.1");
  CHECK(*special->per_clock.measured->from.spread == doctest::Approx(0.02));
  CHECK(found.machine.constants.at("handover_mbarrier").value == doctest::Approx(33.25));
  CHECK(found.machine.find_pipe("device")->aggregate.measured->value == doctest::Approx(4.6e12));
  const Finding* read = find(found, "pipes.device.bandwidth");
  REQUIRE(read != nullptr);
  CHECK(read->placed);
  CHECK(*read->before == doctest::Approx(4625));
  CHECK(find(found, "constants.store_fence_barrier") == nullptr);
  CHECK(found.machine.constants.at("store_fence_barrier").from.tool ==
        h200().constants.at("store_fence_barrier").from.tool);
  CHECK(profile_text(parse_machine(profile_text(found.machine), "c.yaml")) == profile_text(found.machine));
}

TEST_CASE("what mma.sync leaves of its scheduler, by one warp and by several; cp.async by the line's beginning") {
  const auto product = [](const char* mixes, const char* loads, const char* warps, double clocks) {
    return Reading{
        "mma_attention", {{"mixes", mixes}, {"loads", loads}, {"warps", warps}}, "product", "clk", {clocks, clocks}};
  };
  const auto chunk = [](const char* kib, const char* busy, double clocks) {
    return Reading{"async_copies", {{"kib", kib}, {"busy", busy}}, "chunk", "clk", {clocks}};
  };
  // Two instructions a product and a quarter of an ldmatrix; readings without a mix or without ldmatrix add nothing.
  const Calibration found =
      calibrate(h200(),
                {product("1", "1", "1", 10.25), product("1", "1", "2", 8.25), product("2", "2", "4", 10.5),
                 product("0", "1", "2", 6.3), product("1", "0", "2", 7.8), chunk("8", "8", 500), chunk("16", "8", 600),
                 chunk("32", "8", 800), chunk("8", "0", 300)},
                stamp);
  CHECK(find(found, "constants.mma_sync_ports_one")->number.value == doctest::Approx(8));
  CHECK(find(found, "constants.mma_sync_ports")->number.value == doctest::Approx(6));
  CHECK(find(found, "constants.cp_async_loaded_latency")->number.value == doctest::Approx(400));
  CHECK(found.findings.size() == 3);
  CHECK(found.machine.constant("mma_sync_ports") == doctest::Approx(6));
}

TEST_CASE("a card's factor: power beyond idle over what the product's energies say, and new energies take its place") {
  Machine base = h200();
  const auto load = [](const char* name, const char* quantity, double value) {
    return Reading{"power_card", {{"load", name}}, quantity, "1", {value}};
  };
  const auto watts = [&](double clock, double flops, double factor) {
    const double ratio = clock / 1.5e9;
    return 125 + factor *
                     (base.constants.at("clock_tree").value * ratio +
                      base.constants.at("energy_tensor_16bit").value * flops) *
                     ratio;
  };
  Readings readings = {load("rest", "power", 125)};
  for (const auto& [name, clock, flops] : {std::tuple("a", 1.6e9, 8.8e14), std::tuple("b", 1.7e9, 9e14)}) {
    for (const Reading& one : {load(name, "clock", clock), load(name, "power", watts(clock, flops, 0.97)),
                               load(name, "flops", flops), load(name, "nvml_clock", 1.8e9)})
      readings.push_back(one);
  }
  for (const Reading& one : {load("spin", "power", 200), load("spin", "nvml_clock", 1.98e9),
                             load("spin", "clock", 1.97e9), load("spin", "instructions", 1e11)})
    readings.push_back(one);
  const Calibration found = calibrate(base, readings, stamp);
  CHECK(find(found, "constants.energy_of_card")->number.value == doctest::Approx(0.97));
  CHECK(find(found, "constants.energy_of_card")->runs == 2);
  CHECK(find(found, "power.idle")->number.value == 125);
  CHECK(find(found, "clocks.maximum")->number.value == 1.98e9);
  // SMs ran at 1.6 and 1.7 GHz where NVML reported 1.8; the highest clock is 1.98 GHz.
  CHECK(find(found, "constants.clock_beside_tensor")->number.value == doctest::Approx(1.98e9 * 1.65 / 1.8));
  CHECK(found.findings.size() == 4);
  const Machine written = parse_machine(profile_text(found.machine), "c.yaml");
  CHECK(written.constant("energy_of_card") == doctest::Approx(0.97));
  // The factor refers to the product's energies: a factor that the machine has already does not change it.
  CHECK(find(calibrate(found.machine, readings, stamp), "constants.energy_of_card")->number.value ==
        doctest::Approx(0.97));
}

TEST_CASE("nothing measured, nothing changed") {
  const Calibration found = calibrate(h200(), {}, stamp);
  CHECK(found.findings.empty());
  CHECK(profile_text(found.machine) == profile_text(h200()));
}

TEST_CASE("what the base has no place for is told and not placed") {
  const Readings readings = {{"vector_alone", {{"work", "shuffle"}, {"groups", "2"}}, "rate", "instructions/clk", {1}},
                             {"power", {{"load", "rest"}}, "power", "W", {77}}};
  Machine base = h200();
  base.units.erase(
      std::remove_if(base.units.begin(), base.units.end(), [](const Unit& unit) { return unit.name == "shuffle"; }),
      base.units.end());
  const Calibration found = calibrate(base, readings, stamp);
  REQUIRE(find(found, "units.shuffle.rate") != nullptr);
  CHECK_FALSE(find(found, "units.shuffle.rate")->placed);
  CHECK(found.machine.power.idle->value == 77);
}

TEST_CASE("the working set ends where the rate falls, and the rate is that of the sets within") {
  Readings readings;
  const std::vector<std::pair<const char*, double>> points = {{"8000000", 36},  {"16000000", 35}, {"32000000", 35},
                                                              {"48000000", 34}, {"64000000", 20}, {"96000000", 18}};
  for (const auto& [bytes, rate] : points)
    readings.push_back({"l2_bandwidth", {{"way", "read"}, {"tile", "own"}, {"bytes", bytes}}, "rate", "B/clk", {rate}});
  const Calibration found = calibrate(h200(), readings, stamp);
  CHECK(found.machine.constants.at("l2_working_set").value == 48e6);
  CHECK(found.machine.find_pipe("l2")->per_node_clock.measured->value == doctest::Approx(35));
}

TEST_CASE("a unit's rates by instances at work: what was not measured of fewer is taken as theirs") {
  const Readings readings = {
      {"vector_beside", {{"work", "mix"}, {"groups", "2"}}, "rate", "instructions/clk", {1.2}},
      {"vector_beside", {{"work", "mix"}, {"groups", "3"}}, "rate", "instructions/clk", {1.3}},
  };
  Machine base = h200();
  const auto rates = [](const Machine& machine) {
    std::vector<double> out;
    for (const Number& each : machine.unit("issue")->co_use.beside) out.push_back(each.value);
    return out;
  };
  const double one = rates(base).front();
  CHECK(rates(calibrate(base, readings, stamp).machine) == std::vector<double>{one, 1.2, 1.3});
  for (Unit& unit : base.units) unit.co_use = {};
  const Calibration found = calibrate(base, readings, stamp);
  CHECK(rates(found.machine) == std::vector<double>{1.2, 1.2, 1.3});
  CHECK(rates(parse_machine(profile_text(found.machine), "c.yaml")) == rates(found.machine));
  CHECK_FALSE(find(found, "units.issue.co_use.beside.2")->before);
}

TEST_CASE("the table of products: measured rows, and the smallest n by the line") {
  Readings readings;
  const auto row = [&](const char* n, double shared, double registers) {
    readings.push_back({"tensor_time", {{"n", n}, {"a", "shared"}, {"groups", "1"}}, "product", "clk", {shared}});
    readings.push_back({"tensor_time", {{"n", n}, {"a", "registers"}, {"groups", "1"}}, "product", "clk", {registers}});
  };
  row("16", 20.001, 13);
  row("32", 24, 16);
  row("48", 28, 24);
  row("128", 64, 64);
  readings.push_back({"tensor_latency", {{"n", "128"}, {"a", "shared"}, {"batch", "1"}}, "wait", "clk", {131}});
  readings.push_back({"tensor_latency", {{"n", "128"}, {"a", "shared"}, {"batch", "4"}}, "wait", "clk", {330}});
  const Machine machine = calibrate(h200(), readings, stamp).machine;
  for (const DType type : {DType::bf16, DType::f16}) {
    const TensorInstruction* wgmma = machine.tensor_for(type);
    REQUIRE(wgmma->timing.size() == 5);
    CHECK(wgmma->timing[0].n == Count(8));
    CHECK(wgmma->timing[0].clocks_shared == doctest::Approx(18));
    CHECK(wgmma->timing[0].clocks_registers == 13);
    CHECK(wgmma->timing[1].clocks_shared == 20);
    CHECK(wgmma->timing[4].latency_shared == 131);
    CHECK(wgmma->timing[4].latency_registers == 0);
    CHECK(wgmma->timing_from.tool == "napkin test");
  }
  CHECK(machine.tensor_for(DType::e4m3)->timing_from.tool != "napkin test");
}

}  // namespace test_calibration
