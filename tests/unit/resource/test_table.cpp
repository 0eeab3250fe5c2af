// The configuration table of mappings other than the paper's.

#include "model/resource/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <string>

#include "model/resource/plan.hpp"
#include "tests/support/layout.hpp"

namespace test_table {

using namespace napkin;
using namespace napkin::internal;

namespace {

const ConfigurationRow& row(const ConfigurationTable& table, const std::string& variable) {
  for (const ConfigurationRow& r : table.rows) {
    if (r.variable == variable) return r;
  }
  throw Error(variable, "not in the table");
}

}  // namespace

TEST_CASE("FlashAttention-3's 128 x 128 tile: rows, aliases counted once, how many warpgroups fit") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", {{"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
  const PlacedDiagram placed = question.place({{"x", "128"}, {"p_in", "registers"}, {"overlap", "on"}});
  const ConfigurationTable table = configuration_table(placed);
  CHECK(row(table, "Q").axes == "g_q x d");
  CHECK(row(table, "K").axes == "s_x x d");
  CHECK(row(table, "K").block_bytes == Bytes(2 * 128 * 128 * 2));
  CHECK(row(table, "S").axes == "w_q x s_x");
  CHECK(row(table, "S").agent_bytes == Bytes(64 * 128 * 4));
  CHECK(row(table, "P").agent_bytes == Bytes(64 * 128 * 2));
  CHECK(row(table, "O_out").array == "O");
  REQUIRE(table.totals.size() == 2);
  // O_out lies in V's place: Q 32 KiB, K and V 64 KiB each.
  CHECK(table.totals[0].block_bytes == Bytes(160 * 1024));
  CHECK(!table.totals[0].most_agents);
  CHECK(table.totals[1].agent_bytes == Bytes((32 + 16 + 32) * 1024));
  CHECK(table.agents == Count(3));  // 256 / 80
}

TEST_CASE("Flash Attention from Scratch: 404 registers of fragments, 48 KiB with O over Q, 64 KiB apart") {
  const test::LaidOut question("flash_from_scratch", "rtx-3090", {{"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
  for (const char* o_in : {"over_q", "apart"}) {
    const ConfigurationTable table = configuration_table(question.place({{"o_in", o_in}, {"fragments", "whole"}}));
    const auto registers = [&](const char* variable) {
      return row(table, variable).agent_bytes.value.get() / (32 * 4);
    };
    CHECK(registers("Q_fragments") == 32);
    CHECK(registers("O") == 64);
    CHECK(registers("K_fragments") == 128);
    CHECK(registers("V_fragments") == 128);
    CHECK(registers("S") == 32);
    CHECK(registers("P") == 16);
    CHECK(registers("m") == 2);
    CHECK(registers("l") == 2);
    REQUIRE(table.totals.size() == 2);
    CHECK(table.totals[1].agent_bytes == Bytes(404 * 32 * 4));
    CHECK(table.totals[0].block_bytes == Bytes((std::string(o_in) == "apart" ? 64 : 48) * 1024));
  }
  // The kernel as compiled: 180 registers of fragments and 24 others, where the compiler reports 202; two blocks an SM.
  const PlacedDiagram compiled = question.place({});
  CHECK(configuration_table(compiled).totals[1].agent_bytes == Bytes(180 * 32 * 4));
  const Plan fits = plan(compiled);
  CHECK(fits.registers_per_thread == Count(204));
  CHECK(fits.registers_per_thread <= fits.registers_limit);
  CHECK(fits.blocks_per_sm == Count(2));
}

TEST_CASE("packed heads stand in the axes; single ones do not") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", {{"g", 8}, {"q", 16}, {"x", 4096}, {"d", 128}},
                               DType::bf16);
  const ConfigurationTable table = configuration_table(question.place({{"q", "16"}, {"g", "8"}}));
  CHECK(row(table, "Q").axes == "g_g x g_q x d");
}

TEST_CASE("matrix product: one tensor row, its threshold and rate") {
  const test::LaidOut question("matmul_sm90", "h100-sxm", {{"a", 8192}, {"b", 8192}, {"c", 8192}}, DType::bf16);
  const PlacedDiagram placed = question.place({{"a", "128"}, {"c", "256"}, {"b", "64"}});
  const ThroughputTable table = throughput_table(placed);
  CHECK(std::count_if(table.rows.begin(), table.rows.end(),
                      [](const ThroughputRow& r) { return r.unit.starts_with("tensor"); }) == 1);
  CHECK(table.rows[0].operation == "C");
  CHECK(table.rows[0].unit == "tensor bf16");
  CHECK(table.rows[0].operations == 2.0 * 128 * 256 * 64 / 256);
  CHECK(table.tensor_clocks == table.rows[0].operations / 4096);
  CHECK(ideal_tensor_rate(placed) == doctest::Approx(989.4e12).epsilon(0.001));
  // A grows with the rows: per row and k-step 2 x 256 x 64 / 4096 = 8 clk against 128 B, so a c tile of 256 columns is
  // too narrow to run from device memory alone (25.4 GB/s a node: 9.3 clk).
  CHECK(!bandwidth_threshold(placed));
}

TEST_CASE("subloops: one more exponential a subloop, one more accumulation") {
  const test::LaidOut question("napkin_fp8", "paper-h100", {{"q", 4096}, {"x", 4096}, {"d", 128}}, DType::e4m3);
  const ThroughputTable table = throughput_table(question.place({{"x", "64"}, {"u_x", "16"}}));
  double special = 0, fp16 = 0;
  for (const ThroughputRow& r : table.rows) {
    if (r.unit == "special") special += r.operations;
    if (r.unit == "fp16") fp16 += r.operations;
  }
  CHECK(special == 64 + 4);
  CHECK(fp16 == 4 * 256);
}

}  // namespace test_table
