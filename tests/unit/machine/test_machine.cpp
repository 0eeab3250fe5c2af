// A profile as a value: units, levels, pipes, tensor timing, the abstract machine.
#include "model/machine/machine.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "model/machine/load.hpp"
#include "small_profile.hpp"

namespace test_machine {

using namespace napkin;
using namespace napkin::internal;

namespace {

Machine small() { return parse_machine(small_profile, "p.yaml"); }

const Pipe& pipe_of(const Machine& machine, const char* name) {
  const Pipe* pipe = machine.find_pipe(name);
  REQUIRE(pipe != nullptr);
  return *pipe;
}

}  // namespace

TEST_CASE("numbers are in SI units and keep the unit and source of the file") {
  const Machine machine = small();
  const Level& shared = machine.levels[3];
  CHECK(shared.capacity.datasheet->value == 102400);
  CHECK(shared.capacity.datasheet->unit == "KiB");
  CHECK(shared.capacity.datasheet->from.source == "a datasheet");
  CHECK_FALSE(shared.capacity.datasheet->from.measured());
  CHECK(shared.capacity.measured->value == 102000);
  CHECK(shared.capacity.measured->from.tool == "a program");
  CHECK(shared.capacity.measured->from.date == "2026-11-20");
  CHECK(shared.capacity.measured->from.driver == "580");
  CHECK(shared.capacity.measured->from.note == "less");
  CHECK(&shared.capacity.best() == &*shared.capacity.measured);
  CHECK(count_of(*shared.per_block) == Count(99000));
  CHECK(shared.transaction == Count(32));
  CHECK(machine.levels[0].capacity.best().value == 8e9);
  CHECK(machine.clocks.maximum->value == 2e9);
  CHECK(machine.clocks.tensor->value == 1.5e9);
  CHECK(pipe_of(machine, "device").energy_per_byte->value == doctest::Approx(5e-12));
  CHECK(machine.constants.at("launch_overhead").value == doctest::Approx(3e-6));
  CHECK_FALSE(machine.constants.at("launch_overhead").from.fitted);
  CHECK(machine.fitted.at("energy_tensor_16bit").value == doctest::Approx(0.7e-12));
  CHECK(machine.fitted.at("energy_tensor_16bit").from.fitted);
}

TEST_CASE("every unit of the schema") {
  const auto latency = [](const std::string& number) {
    const Machine machine = parse_machine(changed("{value: 280, unit: clk, source: a datasheet}", number), "p.yaml");
    return pipe_of(machine, "l2").latency->value;
  };
  CHECK(latency("{value: 1.5, unit: clk, source: a}") == 1.5);
  const auto bandwidth = [](const std::string& value) {
    return pipe_of(parse_machine(changed("value: 4800, unit: GB/s", value), "p.yaml"), "device")
        .aggregate.datasheet->value;
  };
  CHECK(bandwidth("value: 2, unit: GB/s") == 2e9);
  CHECK(bandwidth("value: 2, unit: TB/s") == 2e12);
  CHECK(bandwidth("value: 2, unit: GiB/s") == 2147483648.0);
  const auto size = [](const std::string& value) {
    return parse_machine(changed("value: 8, unit: GB", value), "p.yaml").levels[0].capacity.best().value;
  };
  CHECK(size("value: 7, unit: B") == 7);
  CHECK(size("value: 7, unit: KB") == 7e3);
  CHECK(size("value: 7, unit: MB") == 7e6);
  CHECK(size("value: 18.2, unit: MB") == 18200000);
  CHECK(size("value: 7, unit: KiB") == 7168);
  CHECK(size("value: 7, unit: MiB") == 7340032);
  CHECK(size("value: 7, unit: GiB") == 7516192768.0);
  const auto time = [](const std::string& value) {
    return parse_machine(changed("value: 3, unit: us", value), "p.yaml").constants.at("launch_overhead").value;
  };
  CHECK(time("value: 3, unit: s") == 3);
  CHECK(time("value: 3, unit: ms") == doctest::Approx(3e-3));
  CHECK(time("value: 3, unit: ns") == doctest::Approx(3e-9));
}

TEST_CASE("levels form a tree; a network counts once for each parent and multiplies nothing") {
  const Machine machine = small();
  CHECK(machine.level("shared") == 3);
  CHECK(machine.find_level("device") == LevelId(0));
  CHECK_FALSE(machine.find_level("registers").has_value());
  CHECK_THROWS_WITH_AS((void)machine.level("sharde"),
                       "small: no level 'sharde': did you mean 'shared'? (one of device, l2, net, shared)", Error);
  CHECK(machine.nodes(0) == Count(1));
  CHECK(machine.nodes(machine.level("l2")) == Count(2));
  CHECK(machine.nodes(machine.level("net")) == Count(2));
  CHECK(machine.nodes(machine.level("shared")) == Count(10));
  CHECK(machine.compute_nodes() == Count(10));
  CHECK(machine.levels[2].per_parent == Count(4));
}

TEST_CASE("bandwidth of the machine: per node and clock, aggregate, by cluster size") {
  const Machine machine = small();
  const Hertz clock(2e9);
  CHECK(bytes_per_second(machine, pipe_of(machine, "device"), clock) == doctest::Approx(4.5e12));
  CHECK(bytes_per_second(machine, pipe_of(machine, "l2"), clock) == doctest::Approx(32 * 10 * 2e9));
  CHECK(bytes_per_second(machine, pipe_of(machine, "net"), clock) == doctest::Approx(3e12));
  CHECK(bytes_per_second(machine, pipe_of(machine, "net"), clock, 4) == doctest::Approx(2e12));
  CHECK(bytes_per_second(machine, pipe_of(machine, "net"), clock, 3) == doctest::Approx(3e12));
  CHECK(machine.pipe_into(machine.level("shared")) == &pipe_of(machine, "l2"));
  CHECK(machine.pipe_into(machine.level("net")) == &pipe_of(machine, "net"));
  CHECK(machine.pipe_into(0) == nullptr);
  CHECK(machine.find_pipe("none") == nullptr);
  CHECK(bytes_per_second(machine, Pipe{}, clock) == 0);
}

TEST_CASE("a pipe upward counts the nodes of its lower end") {
  const Machine machine =
      parse_machine(changed("  net:\n    from: net",
                            "  up:\n    from: shared\n    to: l2\n    bandwidth_per_node: {value: 8, unit: B/clk, "
                            "source: a}\n  net:\n    from: net"),
                    "p.yaml");
  CHECK(bytes_per_second(machine, pipe_of(machine, "up"), Hertz(1e9)) == doctest::Approx(8 * 10 * 1e9));
}

TEST_CASE("tensor instructions by type and name, one for each type of an entry") {
  const Machine machine = small();
  REQUIRE(machine.tensor_for(DType::bf16) != nullptr);
  CHECK(machine.tensor_for(DType::bf16)->name == "matrix");
  CHECK(machine.tensor_for(DType::f16)->name == "matrix");
  CHECK(machine.tensor_for(DType::e4m3) == nullptr);
  CHECK(machine.tensor_for(DType::bf16, "slow")->flop_per_clock == 512);
  CHECK(machine.tensor_for(DType::f16, "slow") == nullptr);
  CHECK(machine.tensor_for(DType::bf16)->timing_from.date == "2026");
  CHECK(machine.tensor_for(DType::bf16)->shape_from.source == "a manual");
  CHECK(peak_flops(machine, *machine.tensor_for(DType::bf16), Hertz(1.5e9)) == doctest::Approx(10 * 4096 * 1.5e9));
}

TEST_CASE("clocks of an instruction: table, between, outside, and by rate") {
  const Machine machine = small();
  const TensorInstruction& matrix = *machine.tensor_for(DType::bf16);
  CHECK(instruction_clocks(matrix, 8, false) == 20);
  CHECK(instruction_clocks(matrix, 64, false) == 40);
  CHECK(instruction_clocks(matrix, 36, false) == doctest::Approx(30));
  CHECK(instruction_clocks(matrix, 96, true) == doctest::Approx(48));
  CHECK(instruction_clocks(matrix, 8, true) == 32);  // n is below the first that was measured with A in registers
  CHECK(instruction_clocks(matrix, 1, false) == 20);
  CHECK(instruction_clocks(matrix, 256, false) == doctest::Approx(160));
  CHECK(instruction_clocks(*machine.tensor_for(DType::bf16, "slow"), 8, true) ==
        doctest::Approx(2.0 * 16 * 8 * 16 / 512));
  CHECK_THROWS_AS((void)instruction_clocks(matrix, 0, false), Error);
  CHECK_THROWS_AS((void)instruction_clocks(matrix, -8, false), Error);
}

TEST_CASE("units count what their number is written in") {
  const Machine machine = small();
  REQUIRE(machine.unit("special") != nullptr);
  CHECK(machine.unit("special")->counts == Counted::results);
  CHECK(machine.unit("special")->beside_tensor->value == 12);
  CHECK(machine.unit("issue")->counts == Counted::instructions);
  CHECK(machine.unit("special")->level == machine.compute);
  CHECK(machine.unit(UnitRole::issue) == machine.unit("issue"));
  CHECK(machine.unit(UnitRole::multiply_add) == nullptr);
  CHECK(machine.port() == nullptr);
  CHECK(machine.unit("fp32") == nullptr);
}

TEST_CASE("the abstract machine has two levels and holds values") {
  const Machine machine = abstract_machine(65536);
  REQUIRE(machine.levels.size() == 2);
  CHECK(machine.level("high") == 0);
  CHECK(machine.level("low") == 1);
  CHECK(machine.levels[1].capacity.best().value == 65536);
  CHECK(machine.compute_nodes() == Count(1));
  REQUIRE(machine.pipe_into(1) != nullptr);
  CHECK(bytes_per_second(machine, *machine.pipe_into(1), Hertz(1e9)) == 0);
  CHECK_FALSE(machine.limits.known);
  CHECK(count_of(abstract_machine(std::int64_t{1} << 62).levels[1].capacity.best()).get() == std::int64_t{1} << 62);
  CHECK_THROWS_AS((void)abstract_machine(0), Error);
  CHECK_THROWS_AS((void)abstract_machine(-1), Error);
  CHECK_THROWS_AS((void)abstract_machine(INT64_MAX), Error);
}

}  // namespace test_machine
