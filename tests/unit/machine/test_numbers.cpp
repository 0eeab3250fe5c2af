// The list of a machine's numbers, and a change of each.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "model/base/error.hpp"
#include "model/machine/load.hpp"
#include "model/machine/number.hpp"
#include "model/machine/numbers.hpp"

namespace test_numbers {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("an unknown unit is refused with the page that has the units") {
  std::ifstream in(NAPKIN_SOURCE_DIR "/docs/own-gpu.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  CHECK_THROWS_WITH_AS((void)profile::factor_of("furlong"), "unit: 'furlong' is unknown: a unit of docs/own-gpu.md",
                       Error);
  std::set<std::string> units;
  for (const MachineNumber& number : numbers_of(load_machine("h200-sxm", "--gpu"))) units.insert(number.unit);
  for (const std::string& unit : units) {
    CAPTURE(unit);
    CHECK(page.find(unit) != std::string::npos);
  }
}

TEST_CASE("each place changes its own number and no other, but for what the L2 keeps, which changes with its size") {
  for (const char* name : {"h200-sxm", "rtx-4090", "mi300x", "ascend-910b2"}) {
    const Machine machine = load_machine(name, "--gpu");
    const auto before = numbers_of(machine);
    REQUIRE(before.size() > 15);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto after = numbers_of(with_number_times(machine, i, 2));
      REQUIRE(after.size() == before.size());
      for (std::size_t j = 0; j < before.size(); ++j) {
        INFO(name << " " << before[i].name << " " << before[j].name);
        const bool kept = before[i].name == "levels.l2.capacity" && before[j].name == "constants.l2_working_set";
        CHECK(after[j].value == doctest::Approx(i == j || kept ? 2 * before[j].value : before[j].value));
      }
    }
  }
}

TEST_CASE("names are paths in the profile, each once, with the value as written") {
  std::set<std::string> names;
  for (const MachineNumber& number : numbers_of(load_machine("h200-sxm", "--gpu"))) {
    CHECK(names.insert(number.name).second);
    if (number.name == "pipes.l2.bandwidth_per_node") {
      CHECK(number.value == 35);
      CHECK(number.unit == "B/clk");
      CHECK(number.from.measured());
    }
    if (number.name == "levels.shared.per_parent") {
      CHECK(number.whole);
      CHECK(number.value == 132);
    }
  }
  for (const char* name : {"pipes.l2.bandwidth_per_node", "levels.shared.per_parent", "units.special.co_use.alone[0]",
                           "tensor.wgmma.bf16.timing", "power.limit", "fitted.energy_exponent"}) {
    CAPTURE(std::string(name));
    CHECK(names.contains(name));
  }
}

// Twice the bandwidth and half the latency count as better, even if one prediction gets worse.
TEST_CASE("what is better follows from the quantity, and no clock passes the highest") {
  for (const std::string& name : builtin_machines()) {
    const Machine machine = load_machine(name, "--gpu");
    for (const MachineNumber& number : numbers_of(machine)) {
      CAPTURE(name);
      CAPTURE(number.name);
      const std::string& unit = number.unit;
      const auto is = [&](std::initializer_list<const char*> units) {
        return std::find(units.begin(), units.end(), unit) != units.end();
      };
      const bool cost =
          is({"clk", "s", "ms", "us", "ns", "W", "1", "pJ/B", "nJ/B", "pJ/FLOP", "nJ/instruction", "B/row"});
      CHECK(number.more_is_better == (!cost || number.name == "power.limit"));
      if (number.name.starts_with("clocks.") && number.name != "clocks.maximum" && machine.clocks.maximum)
        CHECK(number.value <= number.most * (1 + 1e-9));
      else if (!is({"MHz", "GHz"}))
        CHECK(std::isinf(number.most));
    }
  }
}

TEST_CASE("a count of things stays whole and at least one") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  const auto numbers = numbers_of(machine);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].name != "levels.shared.per_parent") continue;
    CHECK(with_number_times(machine, i, 133.0 / 132).compute_nodes() == 133);
    CHECK(with_number_times(machine, i, 1e-6).compute_nodes() == 1);
  }
}

TEST_CASE("how a number is known: on that product, by others, from a sibling, by nobody") {
  const Machine machine = load_machine("h200-sxm", "--gpu"), sibling = load_machine("h100-sxm", "--gpu");
  Provenance from;
  from.source = "spec: a datasheet";
  CHECK(basis_of(machine, from) == Basis::published);
  from.source = "derived: as measured on an H200";
  CHECK(basis_of(machine, from) == Basis::derived);
  from.source = "unverified: nobody says so";
  CHECK(basis_of(machine, from) == Basis::assumed);
  Provenance measured;
  measured.tool = "napkin calibrate";
  CHECK(basis_of(machine, measured) == Basis::measured);
  measured.gpu = "h200-sxm";
  CHECK(basis_of(machine, measured) == Basis::measured);
  CHECK(basis_of(sibling, measured) == Basis::derived);
  measured.tool = "Luo et al., arXiv 2402.13499";
  CHECK(basis_of(machine, measured) == Basis::published);
}

TEST_CASE("a constant that a machine lacks is an error that names it; where its absence has a meaning it is said") {
  const Machine machine = load_machine("a100-sxm-80", "--gpu");
  CHECK(machine.constant("block_start") > 0);
  CHECK_THROWS_WITH_AS((void)machine.constant("tma_box"), doctest::Contains("constants.tma_box: is missing"), Error);
  CHECK(machine.constant_or("tma_box", 0) == 0);
  CHECK(machine.constant_or("block_start", 0) == machine.constant("block_start"));
}

}  // namespace test_numbers
