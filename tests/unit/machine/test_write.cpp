// A profile that is written and read again has the same numbers.
#include "model/machine/write.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/machine/load.hpp"
#include "model/machine/numbers.hpp"
#include "small_profile.hpp"

namespace test_write {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("every built-in profile survives being written, and its text is then a fixed point") {
  for (const std::string& name : builtin_machines()) {
    CAPTURE(name);
    const Machine machine = load_machine(name, "--gpu");
    const std::string text = profile_text(machine);
    const Machine again = parse_machine(text, "again.yaml");
    CHECK(profile_text(again) == text);
    CHECK(again.name == machine.name);
    REQUIRE(again.levels.size() == machine.levels.size());
    for (std::size_t i = 0; i < machine.levels.size(); ++i) {
      CHECK(again.nodes(static_cast<LevelId>(i)) == machine.nodes(static_cast<LevelId>(i)));
      CHECK(again.levels[i].transaction == machine.levels[i].transaction);
      if (machine.levels[i].capacity.known())
        CHECK(again.levels[i].capacity.best().value == machine.levels[i].capacity.best().value);
    }
    REQUIRE(again.pipes.size() == machine.pipes.size());
    for (std::size_t i = 0; i < machine.pipes.size(); ++i) {
      const Pipe &a = machine.pipes[i], &b = again.pipes[i];
      CHECK(a.by_cluster_size.size() == b.by_cluster_size.size());
      CHECK(bytes_per_second(machine, a, Hertz(1.5e9)) == bytes_per_second(again, b, Hertz(1.5e9)));
      CHECK(a.latency.has_value() == b.latency.has_value());
      if (a.latency) CHECK(a.latency->value == b.latency->value);
    }
    REQUIRE(again.tensor.size() == machine.tensor.size());
    for (std::size_t i = 0; i < machine.tensor.size(); ++i) {
      const TensorInstruction &a = machine.tensor[i], &b = again.tensor[i];
      CHECK(a.type == b.type);
      CHECK(a.flop_per_clock == b.flop_per_clock);
      CHECK(a.asynchronous == b.asynchronous);
      CHECK(a.by_descriptor == b.by_descriptor);
      CHECK(a.warps == b.warps);
      REQUIRE(a.timing.size() == b.timing.size());
      for (std::size_t k = 0; k < a.timing.size(); ++k) {
        CHECK(a.timing[k].clocks_shared == b.timing[k].clocks_shared);
        CHECK(a.timing[k].latency_registers == b.timing[k].latency_registers);
      }
    }
    REQUIRE(again.units.size() == machine.units.size());
    for (std::size_t i = 0; i < machine.units.size(); ++i) {
      CHECK(again.units[i].per_clock.best().value == machine.units[i].per_clock.best().value);
      CHECK(again.units[i].beside_tensor.has_value() == machine.units[i].beside_tensor.has_value());
      CHECK(again.units[i].role == machine.units[i].role);
      CHECK(again.units[i].passes == machine.units[i].passes);
      CHECK(again.units[i].results_per_lane() == machine.units[i].results_per_lane());
      CHECK(again.units[i].co_use.alone.size() == machine.units[i].co_use.alone.size());
      CHECK(again.units[i].co_use.beside.size() == machine.units[i].co_use.beside.size());
    }
    for (const auto numbers : {&Machine::constants, &Machine::fitted}) {
      const auto &a = machine.*numbers, &b = again.*numbers;
      REQUIRE(a.size() == b.size());
      for (const auto& each : a) {
        const std::string& key = each.first;
        const Number& number = each.second;
        CAPTURE(key);
        CHECK(b.at(key).value == number.value);
        CHECK(b.at(key).unit == number.unit);
        CHECK(b.at(key).from.source == number.from.source);
        CHECK(b.at(key).from.date == number.from.date);
        CHECK(b.at(key).from.note == number.from.note);
        CHECK(b.at(key).from.fitted == number.from.fitted);
      }
    }
    CHECK(again.limits.known == machine.limits.known);
    CHECK(again.limits.shared_reserved_per_block == machine.limits.shared_reserved_per_block);
    CHECK(again.power.limit.has_value() == machine.power.limit.has_value());
  }
}

TEST_CASE("quotes, backslashes and a spread survive") {
  Machine machine = parse_machine(small_profile, "p.yaml");
  Number& number = machine.constants.at("launch_overhead");
  number.from = {{},
                 "a \"tool\"",
                 "2026-11-21",
                 "580\\1",
                 "one: two, {three} # four",
                 0.0042,
                 false,
                 "h200-sxm",
                 Disputed{4e-6, "us", "a \"forum\""}};
  const Machine again = parse_machine(profile_text(machine), "again.yaml");
  const Provenance& from = again.constants.at("launch_overhead").from;
  CHECK(from.tool == "a \"tool\"");
  CHECK(from.driver == "580\\1");
  CHECK(from.note == "one: two, {three} # four");
  CHECK(from.gpu == "h200-sxm");
  REQUIRE(from.spread.has_value());
  CHECK(*from.spread == 0.0042);
  REQUIRE(from.disputed.has_value());
  CHECK(from.disputed->value == doctest::Approx(4e-6));
  CHECK(from.disputed->unit == "us");
  CHECK(from.disputed->source == "a \"forum\"");
  CHECK_FALSE(again.power.limit->from.spread.has_value());
}

TEST_CASE("a spread that is none is refused where it stands") {
  const auto with = [](const std::string& spread) {
    return changed("{value: 3, unit: us, source: a datasheet}",
                   "{value: 3, unit: us, measured: {tool: t, date: 2026, driver: d, spread: " + spread + "}}");
  };
  CHECK(*parse_machine(with("0.01"), "p.yaml").constants.at("launch_overhead").from.spread == 0.01);
  CHECK_THROWS_WITH_AS((void)parse_machine(with("-1"), "p.yaml"), doctest::Contains("spread"), Error);
  CHECK_THROWS_WITH_AS((void)parse_machine(with("wide"), "p.yaml"), doctest::Contains("p.yaml:"), Error);
}

TEST_CASE("a machine as a product's file and an architecture's is the same machine") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "napkin-profile-files";
  std::filesystem::create_directories(folder / "architectures");
  for (const std::string& name : builtin_machines()) {
    CAPTURE(name);
    const Machine machine = load_machine(name, "--gpu");
    const ProfileFiles files = profile_files(machine);
    CHECK(std::count(files.product.begin(), files.product.end(), '\n') < 40);
    std::ofstream(folder / "architectures" / (machine.architecture + ".yaml")) << files.architecture;
    const Machine again = parse_machine(files.product, (folder / "again.yaml").string());
    const auto before = numbers_of(machine), after = numbers_of(again);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CAPTURE(before[i].name);
      CHECK(after[i].name == before[i].name);
      CHECK(after[i].value == before[i].value);
      CHECK(basis_of(again, after[i].from) == basis_of(machine, before[i].from));
    }
    CHECK(profile_files(again).architecture == files.architecture);
    CHECK(profile_files(again).product == files.product);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace test_write
