// The register rule against the compiler: whole tile spaces compiled once (registers/*.jsonl,
// tests/kernel/run_compile.cpp). A row names the variants that it objected to: spills, or wgmma serialised.

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "tests/golden/cli.hpp"
#include "tests/kernel/register_rule.hpp"

namespace test_registers {

namespace {

using namespace napkin;
using cli::Json;

struct Held {
  int legal = 0, legal_objected = 0, near = 0, near_objected = 0;
};

std::string words_of(const Mapping& mapping, const Tile& tile) {
  std::string out;
  for (const auto& [knob, value] : describe(mapping, tile)) out += (out.empty() ? "" : " ") + value;
  return out;
}

Held hold(const Json& row) {
  Ask ask;
  ask.kernel = row["kernel"].get<std::string>();
  ask.algorithm = ask.kernel.starts_with("matmul") ? "matmul" : "attention";
  ask.gpu = row["gpu"].get<std::string>();
  ask.dtype = row["dtype"].get<std::string>();
  ask.shape = parse_shape(row["shape"].get<std::string>());
  const std::string mask = row["mask"].get<std::string>(), window = "window ";
  if (mask == "causal") ask.mask.kind = Mask::Kind::causal;
  if (mask.starts_with(window)) ask.mask = parse_window(mask.substr(window.size()));
  std::set<std::string> objected;
  for (const Json& tile : row["objected"]) objected.insert(tile.get<std::string>());
  const std::unique_ptr<Measurable> m = measurable_of(ask);
  Held out;
  test::for_each_ruled(*m, 32, [&](const test::RuledTile& one) {
    const bool bad = objected.contains(words_of(m->layout->mapping, one.tile));
    ++(one.legal ? out.legal : out.near);
    (one.legal ? out.legal_objected : out.near_objected) += bad ? 1 : 0;
  });
  return out;
}

/// All rows of a kernel; of rejected tiles only the rows that compiled them all.
Held hold_all(const std::string& kernel) {
  std::istringstream text(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/registers/" + kernel + ".jsonl"));
  Held sum;
  for (std::string line; std::getline(text, line);) {
    const Json row = cli::parse(line);
    const Held one = hold(row);
    CHECK_MESSAGE(one.legal_objected == 0, kernel << " " << row["shape"] << " " << row["mask"]);
    sum.legal += one.legal;
    if (!row["near_complete"].get<bool>()) continue;
    sum.near += one.near;
    sum.near_objected += one.near_objected;
  }
  std::printf("%s: %d legal variants, none that the compiler objects to\n", kernel.c_str(), sum.legal);
  if (sum.near > 0) std::printf("  it does to %d of %d rejected by up to 32 registers\n", sum.near_objected, sum.near);
  return sum;
}

}  // namespace

TEST_CASE(
    "no tile that the register rule accepts spills, in the whole space; of those rejected by few registers most "
    "would") {
  const Held sm90 = hold_all("attention_sm90");
  CHECK(sm90.legal > 26'000);
  CHECK(sm90.near_objected >= 0.8 * sm90.near);
  const Held sm80 = hold_all("attention_sm80");
  CHECK(sm80.legal > 13'000);
  CHECK(sm80.near_objected >= 0.8 * sm80.near);
  const Held matmul = hold_all("matmul_sm90");
  CHECK(matmul.legal > 6'500);
  CHECK(matmul.near_objected >= 0.8 * matmul.near);
}

}  // namespace test_registers
