// Counts of kernels/sass compared with earlier ones: those of script/peers/sass.py (the tables of Triton's mappings),
// and the bundled kernels' mappings that have counts from the disassembly.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "kernels/sass/census.hpp"
#include "model/clock/roofline/load.hpp"
#include "tests/unit/mapping/mapped.hpp"
#include "tests/unit/sass/recorded.hpp"

namespace test_draft {

using namespace napkin;
using namespace napkin::internal;
using testing::Mapped;

namespace {

using Row = std::map<std::string, int>;

/// Returns the row of a tile, which begins with "64,64,4,3,64,none"; entries that are no numbers are left out.
Row row_of(const std::string& file, const std::string& tile) {
  std::ifstream lines(NAPKIN_SOURCE_DIR "/kernels/" + file);
  std::vector<std::string> heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (heading.empty()) {
      heading = cells;
    } else if (line.starts_with(tile + ",")) {
      Row row;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].find_first_not_of("0123456789") == std::string::npos) row[heading[i]] = std::stoi(cells[i]);
      }
      return row;
    }
  }
  return {};
}

void check_section(const Row& row, const SassSection& section, const std::string& prefix) {
  for (const char* unit : {"special", "fp32", "alu", "conversion", "shuffle", "copy"}) {
    CAPTURE(prefix + unit);
    CHECK(section.of(unit) == row.at(prefix + unit));
  }
  CHECK(section.of("other") + section.of("shared") == row.at(prefix + "other"));
}

struct Peer {
  const char *recording, *table, *tile;
  int operations;
};

/// Returns the mapping's results on that unit for each thread of an agent in an iteration, summed over its operations.
double results(const PlacedDiagram& placed, const std::string& unit) {
  double sum = 0;
  for (const PlacedOperation& op : placed.operations) {
    for (const PlacedWork& work : op.work) {
      if (work.mapping->unit == unit && !work.mapping->first && !work.mapping->once && !work.mapping->masked)
        sum += work.amount;
    }
  }
  const PlacedAgent& agent = placed.agents[static_cast<std::size_t>(placed.operations.front().agent)];
  return sum / real(agent.instances * agent.threads);
}

int counted(const SassCensus& census, const char* unit) {
  int sum = census.lead.of(unit);
  for (const SassSection& section : census.sections) sum += section.of(unit);
  return sum;
}

}  // namespace

TEST_CASE("Triton's kernels: instructions by unit and section are those that script/peers counted") {
  const std::vector<Peer> peers = {
      {"triton_attention_sm90", "attention/mappings/triton.compiled.csv", "64,64,4,3,64,none", 2},
      {"triton_attention_sm90_causal", "attention/mappings/triton.compiled.csv", "128,64,8,3,64,causal", 2},
      {"triton_attention_sm80", "attention/mappings/triton_sm80.compiled.csv", "64,64,4,3,64,none", 2},
      {"triton_matmul_sm90", "matmul/mappings/triton_matmul.compiled.csv", "128,128,64,8,3", 1},
      {"triton_matmul_sm80", "matmul/mappings/triton_matmul_sm80.compiled.csv", "64,64,64,4,3", 1},
  };
  for (const Peer& peer : peers) {
    CAPTURE(peer.recording);
    const Row row = row_of(peer.table, peer.tile);
    REQUIRE(!row.empty());
    const SassCensus census = census_of(test::recorded(peer.recording), peer.operations, "");
    CHECK(census.function.resources.registers == row.at("registers"));
    CHECK(census.head == row.at("head"));
    CHECK(census.tail == row.at("tail"));
    CHECK(census.lead.all() == row.at("lead"));
    int products = 0;
    for (const SassOperation& one : census.operations) products += one.count;
    CHECK(products == row.at("products"));
    check_section(row, census.sections[0], "s_");
    if (peer.operations == 1) continue;
    check_section(row, census.sections[1], "p_");
    check_section(row, census.sections[2], "o_");
  }
}

TEST_CASE("the bundled kernels: what their mappings count is in the machine code") {
  const auto check = [](const Mapped& mapped, const testing::Text& tile, const SassCensus& census) {
    const PlacedDiagram placed = mapped.place(tile);
    double products = 0;
    for (const PlacedOperation& op : placed.operations) {
      if (op.tensor)
        products +=
            tensor_load(placed, op).products / real(placed.agents[static_cast<std::size_t>(op.agent)].instances);
    }
    int issued = 0;
    for (const SassOperation& one : census.operations) issued += one.count;
    CHECK(products == doctest::Approx(issued));
    CHECK(results(placed, "special") == doctest::Approx(counted(census, "special")));
    CHECK(results(placed, "conversion") == doctest::Approx(2 * counted(census, "conversion")));
    // The code also has scales, sums, and work once a row.
    CHECK(counted(census, "fp32") >= results(placed, "fp32"));
    CHECK(counted(census, "fp32") <= results(placed, "fp32") * 1.06);
  };
  check(
      Mapped("attention", "attention_sm90", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}, {"dv", 128}}),
      {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "2"}, {"q_stages", "1"}},
      census_of(test::recorded("attention_sm90"), 2, ""));
  check(Mapped("attention", "attention_sm80", "a100-sxm-80",
               {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}}),
        {{"q", "256"}, {"x", "80"}, {"warps", "8"}, {"stages", "1"}, {"q_in", "registers"}},
        census_of(test::recorded("attention_sm80"), 2, ""));
  check(Mapped("matmul", "matmul_sm90", "h200-sxm", {{"a", 4096}, {"b", 4096}, {"c", 4096}}),
        {{"a", "128"}, {"c", "128"}, {"b", "64"}, {"warpgroups", "2"}, {"stages", "4"}},
        census_of(test::recorded("matmul_sm90"), 1, ""));
}

}  // namespace test_draft
