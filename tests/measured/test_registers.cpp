// The register rule against the compiler: whole tile spaces compiled once (registers/*.jsonl,
// tests/kernel/run_compile.cpp), and the tables beside the mappings, which run_compile makes from the verdicts.

#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "model/base/embedded.hpp"
#include "tests/golden/cli.hpp"
#include "tests/kernel/register_table_maker.hpp"

namespace test_registers {

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::RuledTile;
using test::Verdict;
using test::Verdicts;

std::string verdicts_path(const std::string& kernel) {
  return NAPKIN_SOURCE_DIR "/tests/measured/registers/" + kernel + ".jsonl";
}

/// Returns the text of the table beside the kernel's mapping.
std::string table_beside(const std::string& kernel) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.ends_with("/" + kernel + ".registers.csv")) return std::string(file.text);
  }
  return "";
}

/// Tiles by verdict: those that the rule accepts, and those that it alone rejects, by few registers, where all of them
/// were compiled.
struct Held {
  std::map<Verdict, int> legal, near;
};

/// `rightly`: least share of tiles rejected by few registers that the compiler objects to.
Held hold(const std::string& kernel, double rightly = 0.8) {
  Held sum;
  for (const Verdicts& verdicts : test::read_verdicts(verdicts_path(kernel))) {
    const std::unique_ptr<Measurable> m = measurable_of(verdicts.ask);
    test::for_each_ruled(*m, 32, [&](const RuledTile& one) {
      const Verdict verdict = test::verdict_of(verdicts, *m->setup->mapping, one);
      if (one.legal) ++sum.legal[verdict];
      if (!one.legal && verdicts.near_complete) ++sum.near[verdict];
      CHECK_MESSAGE((!one.legal || verdict != Verdict::spilled),
                    kernel << " " << test::words_of(*m->setup->mapping, one.tile));
    });
  }
  const int near = sum.near[Verdict::kept] + sum.near[Verdict::spilled];
  std::printf("%s: %d legal tiles compiled, none that the compiler objects to\n", kernel.c_str(),
              sum.legal[Verdict::kept]);
  std::printf("  it does to %d of %d rejected by up to 32 registers\n", sum.near[Verdict::spilled], near);
  CHECK(sum.near[Verdict::spilled] >= rightly * near);
  return sum;
}

/// Returns the text without the line that names the revision of the program that wrote it.
std::string without_revision(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# revision: ")) out += line + "\n";
  }
  return out;
}

/// The number of a tile's combination once the compiler objects to that legal tile alone.
struct Raised {
  std::int64_t before = 0, after = 0, left = 0;  ///< left: registers of the tile, before
  std::size_t combinations = 0;                  ///< number of combinations that were raised
};

Raised raise(const std::string& kernel, Mask::Kind mask, int which) {
  Ask ask;
  ask.algorithm = test::algorithm_of(kernel);
  ask.kernel = kernel;
  ask.gpu = "h200-sxm";
  ask.shape = parse_shape("h=16,q=4096,x=4096,d=128");
  ask.mask.kind = mask;
  if (mask == Mask::Kind::window) ask.mask = parse_window("512,0");
  const std::unique_ptr<Measurable> m = measurable_of(ask);
  test::RegisterTableMaker maker(*m->setup->mapping, {});
  Raised out;
  Tile tile;
  test::for_each_ruled(*m, 0, [&](const RuledTile& one) {
    const bool this_one = one.legal && which-- == 0;
    maker.count(one, mask, this_one ? Verdict::spilled : Verdict::kept);
    if (!this_one) return;
    tile = one.tile;
    out.left = (one.plan.registers_limit - one.plan.registers_per_thread).get();
    for (const PlacedAgent& agent : one.placed.agents) out.before = std::max(out.before, agent.overhead.get());
  });
  out.combinations = static_cast<std::size_t>(maker.raise());
  const std::string facts = "# compiler: C\n# date: D\n# revision: R\n# command: M\n";
  out.after = RegisterTable(facts + maker.rows(), "table", m->setup->mapping->knobs).of(tile, mask);
  return out;
}

}  // namespace

TEST_CASE(
    "no tile that the register rule accepts spills, in the whole space; of those rejected by few registers most "
    "would") {
  CHECK(hold("attention_sm90").legal[Verdict::kept] > 27'000);
  CHECK(hold("attention_sm80").legal[Verdict::kept] > 14'000);
  CHECK(hold("matmul_sm90", 1).legal[Verdict::kept] > 9'000);
}

TEST_CASE("the spaces of the backward pass, of decode and of FP8: none that is accepted spills") {
  CHECK(hold("matmul_fp8_sm90", 1).legal[Verdict::kept] > 15'600);
  // Two buffers of Q and dO, as they are searched; the recorded tiles with one and three were kept as well. 66 of 83.
  CHECK(hold("attention_backward_sm90", 0.79).legal[Verdict::kept] >= 162);
  CHECK(hold("attention_decode_sm90").legal[Verdict::kept] >= 451);
  CHECK(hold("attention_fp8_sm90").legal[Verdict::kept] >= 1414);
  CHECK(hold("napkin_fp8_sm90", 0.49).legal[Verdict::kept] >= 1518);
  // The rule of registers rejects no tile that is searched, so that no table is made of them.
  CHECK(hold("attention_backward_wide_sm90").legal[Verdict::kept] >= 36);
}

TEST_CASE("the tables beside the mappings are made of the recorded verdicts") {
  for (const std::string kernel : {"attention_sm90", "attention_sm80", "attention_backward_sm90",
                                   "attention_decode_sm90", "attention_fp8_sm90", "napkin_fp8_sm90"}) {
    const std::string shipped = table_beside(kernel);
    CHECK(without_revision(test::register_table(kernel, verdicts_path(kernel), "R")) == without_revision(shipped));
  }
}

TEST_CASE("a tile that the compiler objects to raises the number of its combination, and of no other") {
  for (const int which : {0, 100, 400}) {
    CAPTURE(which);
    // A kernel that sets its registers itself cannot be compiled with more of them: the tile is rejected.
    const Raised sets = raise("attention_sm90", Mask::Kind::window, which);
    CHECK(sets.combinations == 1);
    CHECK(sets.after == sets.before + sets.left + 1);
    // A kernel that is compiled for a number of registers can be: its number grows by a granule, to be compiled again.
    const Raised asks = raise("attention_sm80", Mask::Kind::causal, which);
    CHECK(asks.combinations == 1);
    CHECK(asks.after == asks.before + 8);
  }
}

}  // namespace test_registers
