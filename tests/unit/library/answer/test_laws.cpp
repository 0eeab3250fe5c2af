// The laws compared with formulas derived here: a block's memory bounds the groups of one axis in attention, of two in
// a product.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/machine/load.hpp"
#include "napkin/napkin.hpp"

namespace test_laws {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr double value = 2;            // bytes of bf16
constexpr double laws_clock = 1.83e9;  // clock to which the profile's tensor peak refers

Ask asked(const char* algorithm, const char* gpu, NamedSizes shape) {
  Ask ask;
  ask.algorithm = algorithm;
  ask.gpu = gpu;
  ask.shape = std::move(shape);
  return ask;
}

/// Returns the least values that 16 heads of 8192 queries and keys of 128 move: in groups of as many queries as M = 2 g
/// d holds.
double attention_with(double memory) {
  const double h = 16, q = 8192, x = 8192, d = 128, group = std::min(q, memory / (2 * d));
  return 2 * h * q * d + 2 * h * x * d * q / group;
}

/// Returns the least values for C = A B, a x b times b x c: over every number of rows, with as many columns as M holds
/// beside them.
double product_with(double memory) {
  const double a = 4096, b = 2048, c = 8192;
  double least = std::numeric_limits<double>::infinity();
  for (double rows = 1; rows <= a; ++rows) {
    const double columns = std::min(c, memory / rows);
    if (columns >= 1) least = std::min(least, a * c + a * b * c / columns + a * b * c / rows);
  }
  return least;
}

struct Pipes {
  Machine machine;
  double memory = 0, nodes = 0;  // values of a compute node; compute nodes
  explicit Pipes(const char* gpu) : machine(load_machine(gpu, "test")) {
    const Level& home = machine.levels[static_cast<std::size_t>(machine.compute)];
    memory = home.per_block->value / value;
    nodes = real(machine.compute_nodes());
  }
};

template <class Transfer>
void check_laws(const Laws& laws, const Pipes& pipes, const Transfer& transfer, double flops) {
  REQUIRE(laws.levels.size() == 3);
  const double of_l2 = transfer(pipes.nodes * pipes.memory), of_node = transfer(pipes.memory);
  const double w_l2 = laws.levels[0].time / (laws.levels[0].transfer / value),
               w_node = laws.levels[1].time / (laws.levels[1].transfer / value);
  CHECK(laws.levels[0].transfer == doctest::Approx(of_l2 * value).epsilon(1e-4));
  CHECK(laws.levels[1].transfer == doctest::Approx(of_node * value).epsilon(1e-4));
  // The registers of a node as one memory, whatever agents it is divided among.
  const Level& inner = pipes.machine.levels[static_cast<std::size_t>(pipes.machine.find_level("registers").value())];
  const double of_registers = transfer(inner.capacity.best().value / value), w_registers = value / laws.levels[2].rate;
  CHECK(laws.levels[2].name == "registers");
  CHECK(laws.levels[2].transfer == doctest::Approx(of_registers * value).epsilon(1e-4));
  CHECK(laws.weighted == doctest::Approx(w_l2 * of_l2 + w_node * of_node + w_registers * of_registers).epsilon(1e-4));
  const TensorInstruction* instruction = pipes.machine.tensor_for(DType::bf16);
  const double peak_a_clock = instruction->flop_per_clock * pipes.nodes;
  // The rate that moves H* while the units compute at peak: both rates have the ratio of bytes to operations.
  const double clock = flops / laws.computing / peak_a_clock;
  CHECK(clock == doctest::Approx(laws_clock).epsilon(1e-9));
  for (const LevelLaw& level : laws.levels)
    CHECK(level.needed == doctest::Approx(level.transfer / flops * peak_a_clock * laws_clock));
}

}  // namespace

TEST_CASE(
    "H over all levels is each level's least at its pipe's rate (7.1), and feeding the tensor units asks for it") {
  const Pipes pipes("h200-sxm");
  const auto attention =
      query(asked("attention", "h200-sxm", {{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}}), {.formulas = true});
  REQUIRE(attention->laws.has_value());
  check_laws(*attention->laws, pipes, attention_with, 4.0 * 16 * 8192 * 8192 * 128);
  const auto product = query(asked("matmul", "h200-sxm", {{"a", 4096}, {"b", 2048}, {"c", 8192}}), {.formulas = true});
  REQUIRE(product->laws.has_value());
  check_laws(*product->laws, pipes, product_with, 2.0 * 4096 * 2048 * 8192);
}

TEST_CASE("values a second and H/K are the paper's: 1.7e12 and 6.0e12 FP16 values, M^-1/2 + 1/(2b) (appendix B.1)") {
  Ask ask = asked("matmul", "paper-h100", {{"a", 4096}, {"b", 2048}, {"c", 4096}});
  ask.dtype = "f16";
  const auto answer = query(ask, {.formulas = true});
  const Laws& laws = *answer->laws;
  CHECK(laws.levels[0].rate / value == doctest::Approx(1.676e12).epsilon(1e-3));
  CHECK(laws.levels[1].rate / value == doctest::Approx(6.0e12).epsilon(1e-9));
  CHECK(laws.operations / laws.computing == doctest::Approx(4096 * 132 * 1.83e9));
  const Pipes pipes("paper-h100");
  const double ratio = laws.levels[1].transfer / value / laws.operations;
  CHECK(ratio == doctest::Approx(1 / std::sqrt(pipes.memory) + 1 / (2.0 * 2048)).epsilon(1e-6));
  // Kdot / Hdot is twice the least b of the paper's table: 295.2 and 82.5.
  CHECK(laws.operations / laws.computing / (laws.levels[0].rate / value) == doctest::Approx(2 * 295.2).epsilon(1e-3));
  CHECK(laws.operations / laws.computing / (laws.levels[1].rate / value) == doctest::Approx(2 * 82.45).epsilon(1e-3));
}

TEST_CASE("energies are weights too: joules of a byte of each level, and of a FLOP; none where a profile has none") {
  const NamedSizes shape{{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};
  const auto answer = query(asked("attention", "h200-sxm", shape), {.formulas = true});
  const Laws& laws = *answer->laws;
  const Machine machine = load_machine("h200-sxm", "test");
  const auto picojoules = [&](const char* name) { return machine.find_constant(name)->value; };
  CHECK(laws.levels[0].energy == doctest::Approx(laws.levels[0].transfer * picojoules("energy_device")));
  CHECK(laws.levels[1].energy == doctest::Approx(laws.levels[1].transfer * picojoules("energy_l2")));
  CHECK(laws.levels[2].energy == doctest::Approx(laws.levels[2].transfer * picojoules("energy_shared")));
  CHECK(laws.computing_energy == doctest::Approx(4.0 * 16 * 8192 * 8192 * 128 * picojoules("energy_tensor_16bit")));
  const auto without = query(asked("attention", "paper-h100", shape), {.formulas = true});
  for (const LevelLaw& level : without->laws->levels) CHECK(level.energy == 0);
  CHECK(without->laws->computing_energy == 0);
}

TEST_CASE("a cluster of N fetches what N M asks for and hands on the rest between its nodes (7.4)") {
  const Pipes pipes("h200-sxm");
  const auto answer =
      query(asked("attention", "h200-sxm", {{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}}), {.formulas = true});
  const Laws& laws = *answer->laws;
  REQUIRE(laws.crossings.size() == 4);
  const double w_l2 = laws.levels[0].time / laws.levels[0].transfer,
               w_node = laws.levels[1].time / laws.levels[1].transfer;
  double n = 2;
  for (const CrossLaw& cross : laws.crossings) {
    const double above = attention_with(n * pipes.memory) * value, all = attention_with(pipes.memory) * value;
    CHECK(cross.level == "cluster");
    CHECK(cross.nodes == static_cast<std::int64_t>(n));
    CHECK(cross.above == doctest::Approx(above).epsilon(1e-6));
    CHECK(cross.between == doctest::Approx(all - above).epsilon(1e-6));
    CHECK(cross.weighted ==
          doctest::Approx(w_l2 * laws.levels[0].transfer + w_node * above + cross.time + laws.levels[2].time)
              .epsilon(1e-6));
    CHECK(cross.weighted > laws.weighted);  // 14.4 B/clk between nodes of a cluster are fewer than 35 from the L2
    n *= 2;
  }
  // 14.4 of 35 B/clk.
  CHECK(laws.crossings[0].time / laws.crossings[0].between / w_node == doctest::Approx(35 / 14.4).epsilon(1e-6));
}

TEST_CASE("compare and query have one law; the abstract machine and packed sequences have none") {
  const NamedSizes shape{{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}};
  const auto one = query(asked("attention", "b200", shape), {.formulas = true});
  const CompareAnswer all = compare(asked("attention", "", shape), {"b200"}, {"bf16"});
  REQUIRE(all.machines.front().laws.has_value());
  CHECK(one->laws->weighted == all.machines.front().laws->weighted);
  Ask abstract = asked("attention", "", shape);
  abstract.memory = 65536;
  CHECK_FALSE(query(abstract, {.formulas = true})->laws.has_value());
  Ask packed = asked("attention", "h200-sxm", {{"h", 16}, {"d", 64}});
  packed.lengths = {{100, 100}, {200, 300}};
  CHECK_FALSE(query(packed, {.formulas = true})->laws.has_value());
}

}  // namespace test_laws
