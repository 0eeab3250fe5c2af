// Tables 1, 2 and 3 of "FlashAttention on a Napkin" from the mapping file and the profile of the paper's H100, cell by
// cell. If the paper's cell is wrong, the test has the corrected one, with the erratum and the printed value in a note.

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/clock/prediction.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/table.hpp"
#include "tests/support/layout.hpp"

namespace test_paper_tables {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr std::int64_t KiB = 1024;

const test::LaidOut& paper() {
  static const test::LaidOut question("napkin_fp8", "paper-h100", {{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}},
                                      DType::e4m3);
  return question;
}

PlacedDiagram table1() {
  return paper().place(
      {{"q", "384"}, {"warpgroups", "3"}, {"x", "64"}, {"u_x", "64"}, {"d_block", "32"}, {"d_step", "8"}});
}

struct Row {
  std::string variable, axes;
  DType type;
  std::string level;
  Count copies;
  std::int64_t block, agent;  // bytes; of one copy, as printed (the paper doubles K* and V* in the total)
};

const TableTotal& total(const PlacedDiagram& placed, const ConfigurationTable& table, const std::string& level) {
  for (const TableTotal& t : table.totals) {
    if (placed.machine->levels[static_cast<std::size_t>(t.level)].name == level) return t;
  }
  throw Error(level, "not in the table");
}

}  // namespace

TEST_CASE("Table 1: every variable, its axes, type, level and bytes") {
  const std::vector<Row> printed = {
      {"Q", "w_q x d", DType::e4m3, "shared", 1, 0, 16384},
      {"K", "s_x x d", DType::e4m3, "shared", 2, 2 * 8192, 0},   // printed 16384*: both copies
      {"V", "s_x x dv", DType::f16, "shared", 2, 2 * 16384, 0},  // printed 32768*
      {"S", "w_q x s_x", DType::f16, "registers", 1, 0, 16384},
      {"P", "g_q x s_x", DType::f16, "shared", 1, 0, 16384},
      {"P'", "t_q x u_x", DType::f16, "registers", 1, 0, 16384},
      {"A", "w_q x u_x", DType::f16, "shared", 1, 0, 16384},  // erratum P3: printed 8192, which is u_x = 32
      {"alpha", "t_q x 3", DType::f16, "registers", 1, 0, 768},
      {"O'", "t_q x dv", DType::f16, "registers", 1, 0, 32768},
      {"D", "w_q x d_block", DType::f16, "registers", 1, 0, 8192},
      {"dO", "g_q x d_block", DType::f16, "shared", 1, 0, 8192},
      {"dO'", "t_q x d_step", DType::f16, "registers", 1, 0, 2048},
  };
  const PlacedDiagram placed = table1();
  const ConfigurationTable table = configuration_table(placed);
  REQUIRE(table.rows.size() == printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const ConfigurationRow& row = table.rows[i];
    CAPTURE(row.variable);
    CHECK(row.variable == printed[i].variable);
    CHECK(row.axes == printed[i].axes);
    CHECK(row.type == printed[i].type);
    CHECK(placed.machine->levels[static_cast<std::size_t>(row.level)].name == printed[i].level);
    CHECK(row.copies == printed[i].copies);
    CHECK(row.block_bytes == Bytes(printed[i].block));
    CHECK(row.agent_bytes == Bytes(printed[i].agent));
  }
  CHECK(table.agent_threads == Count(128));
}

TEST_CASE("Tables 1 and 2: totals, the most warpgroups, the excess") {
  const PlacedDiagram placed = table1();
  const ConfigurationTable table = configuration_table(placed);
  const TableTotal& shared = total(placed, table, "shared");
  const TableTotal& registers = total(placed, table, "registers");
  CHECK(shared.limit == Bytes(227 * KiB));
  CHECK(registers.limit == Bytes(256 * KiB));
  CHECK(shared.block_bytes == Bytes(48 * KiB));
  CHECK(shared.agent_bytes == Bytes(56 * KiB));  // erratum P3: printed 48
  CHECK(registers.block_bytes == Bytes(0));
  CHECK(registers.agent_bytes == Bytes(76544));
  CHECK(static_cast<double>(registers.agent_bytes.value) / KiB == 74.75);
  CHECK(*shared.most_agents == doctest::Approx(3.196).epsilon(0.0002));  // erratum P3: printed 3.7 (3.73)
  CHECK(*registers.most_agents == doctest::Approx(3.42).epsilon(0.002));
  CHECK(table.agents == Count(3));
  CHECK(shared.excess == Bytes(11 * KiB));                // erratum P3: printed 35
  CHECK(shared.excess_per_agent == Bytes(11 * KiB / 3));  // erratum P3: printed 11.67 KiB
  CHECK(registers.excess == Bytes(32512));                // 31.75 KiB
  CHECK(static_cast<double>(registers.excess.value) / KiB == 31.75);
  CHECK(static_cast<double>(registers.excess_per_agent.value) / KiB == doctest::Approx(10.58).epsilon(0.001));
  CHECK(*registers.excess_per_thread == Count(85));
  CHECK(*registers.excess_allocatable == Count(74));  // erratum P5: 168 registers, not 170.67
}

TEST_CASE("Table 1 as printed, with A at u_x = 32: the printed totals follow from the wrong row only") {
  // Erratum P3: with A of 32 columns (and P' of 64) the column sums to 48 KiB, N_max 3.73, excess 35 KiB.
  const PlacedDiagram placed = table1();
  ConfigurationTable table = configuration_table(placed);
  const Bytes printed = total(placed, table, "shared").agent_bytes - Bytes(8192);
  CHECK(printed == Bytes(48 * KiB));
  CHECK((227.0 - 48.0) / 48.0 == doctest::Approx(3.73).epsilon(0.001));
  CHECK(227 - 48 - 3 * 48 == 35);
}

TEST_CASE("the same with the output accumulated in fp32: two warpgroups") {
  const PlacedDiagram placed = paper().place({{"q", "384"}, {"warpgroups", "3"}, {"accumulate", "f32"}});
  const ConfigurationTable table = configuration_table(placed);
  CHECK(static_cast<double>(total(placed, table, "registers").agent_bytes.value) / KiB == 116.75);
  CHECK(table.agents == Count(2));
}

TEST_CASE("the plan of Table 1 fits: three warpgroups in 227 KiB and 168 registers") {
  const Plan p = plan(table1());
  CHECK(p.shared_total <= p.shared_limit);
  CHECK(p.shared_total >= Bytes((48 + 3 * 56) * KiB));
  CHECK(p.registers_per_thread == Count(150));  // 598 bytes
  CHECK(p.registers_limit == Count(168));
  CHECK(p.blocks_per_sm == Count(1));
}

TEST_CASE("Table 3: clocks a thread of each operation") {
  const ThroughputTable table = throughput_table(table1());
  REQUIRE(table.rows.size() == 5);
  const ThroughputRow &qk = table.rows[0], &exp = table.rows[1], &delta = table.rows[2], &pv = table.rows[3],
                      &add = table.rows[4];
  CHECK(qk.operation == "S");
  CHECK(qk.unit == "tensor e4m3");
  CHECK(qk.operations == 16384);
  CHECK(qk.rate == 8192);
  CHECK(qk.clocks == 2);
  // One cell of the paper: s_x + s_x/u_x = 65 exponentials.
  CHECK(exp.unit == "special");
  CHECK(exp.operations == 64);
  CHECK(delta.operations == 1);
  CHECK(exp.rate == 16);
  CHECK(exp.clocks + delta.clocks == 4.0625);  // printed 4.06
  CHECK(pv.unit == "tensor f16");
  CHECK(pv.operations == 16384);
  CHECK(pv.rate == 4096);
  CHECK(pv.clocks == 4);
  CHECK(add.unit == "fp16");
  CHECK(add.operations == 256);
  CHECK(add.rate == 512);
  CHECK(add.clocks == 0.5);
  CHECK(table.tensor_clocks == 6);  // k_TC
}

TEST_CASE("Appendix B.0.1: 295 rows, 1.32 PFLOP/s") {
  const PlacedDiagram placed = table1();
  CHECK(*bandwidth_threshold(placed) ==
        doctest::Approx(295.2).epsilon(0.0002));  // erratum P1: the formula, not the value
  CHECK(ideal_tensor_rate(placed) == doctest::Approx(1.319e15).epsilon(0.0005));
}

TEST_CASE("one whole wave of the paper's kernel comes close to its ideal rate, bound by the tensor units") {
  const test::LaidOut question("napkin_fp8", "paper-h100", {{"h", 12}, {"q", 11 * 384}, {"x", 65536}, {"d", 128}},
                               DType::e4m3);
  const PlacedDiagram placed = question.place({{"q", "384"}, {"warpgroups", "3"}});
  const Prediction predicted = predict(placed);
  CHECK(predicted.bound == "tensor");
  CHECK(predicted.tflops == doctest::Approx(1319).epsilon(0.002));
}

}  // namespace test_paper_tables
