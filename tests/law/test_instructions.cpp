// The instructions of a warp's iteration in mappings equal those of the compiled kernel, counted in its machine code,
// without a GPU and without a disassembler.

#include <doctest/doctest.h>

#include "kernels/reference/bundled.hpp"
#include "model/clock/roofline/load.hpp"
#include "tests/support/compiling.hpp"
#include "tests/support/issued_instructions.hpp"
#include "tests/support/layout.hpp"

namespace test_instructions {

using namespace napkin;
using namespace napkin::internal;

namespace {

struct Variant {
  std::string kernel;
  test::Shape shape;
  DType dtype = DType::bf16;
  Mask mask = {};
  test::Knobs tile;
};

test::Shape attention(std::int64_t d) { return {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", d}, {"dv", d}}; }

Variant fp8(std::int64_t d, const char* x, const char* pingpong, const char* order, const char* stages,
            const char* accumulate = "with_sums") {
  const bool wide = d > 128;
  return {"attention_fp8_sm90",
          attention(d),
          DType::e4m3,
          order == std::string("longest_first") ? Mask{Mask::Kind::causal, 0, 0} : Mask{},
          {{"warpgroups", "2"},
           {"q", "128"},
           {"x", x},
           {"stages", stages},
           {"q_stages", wide ? "1" : "2"},
           {"pingpong", pingpong},
           {"order", order},
           {"accumulate", wide ? "running" : accumulate}}};
}

/// Returns the instructions of a warp of an agent in an iteration, by unit; "all" includes its products.
test::Amounts mapped(const PlacedDiagram& placed, const std::string& agent) {
  test::Amounts out;
  const auto is = [&](int index) {
    return placed.mapping->agents[static_cast<std::size_t>(placed.agents[static_cast<std::size_t>(index)].mapping)]
               .name == agent;
  };
  double warps = 0;
  for (std::size_t a = 0; a < placed.agents.size(); ++a) {
    if (is(static_cast<int>(a))) warps = real(placed.agents[a].instances * placed.agents[a].threads) / 32;
  }
  for (const PlacedOperation& op : placed.operations) {
    const bool own = is(op.agent);
    if (own && op.tensor && op.phase == Phase::loop) {
      const double products = tensor_load(placed, op).products * real(op.instruction->warps) / warps;
      out["tensor"] += products;
      out["all"] += products;
    }
    for (const PlacedWork& work : op.work) {
      const WorkMapping& piece = *work.mapping;
      if (piece.first || piece.once || piece.masked) continue;
      if (piece.agent.empty() ? !own : piece.agent != agent) continue;
      const Unit& unit = placed.machine->units[static_cast<std::size_t>(work.unit)];
      const double instructions = warp_instructions(*placed.machine, unit, work.amount) / warps;
      out[unit.name] += instructions;
      out["all"] += instructions;
    }
  }
  return out;
}

/// A placed variant, and its machine code.
struct Made {
  test::LaidOut laid;
  PlacedDiagram placed;
  std::vector<SassInstruction> code;

  Made(const Variant& v, const Environment& environment)
      : laid(v.kernel, "h200-sxm", v.shape, v.dtype, v.mask), placed(laid.place(v.tile)) {
    const LaunchPlan plan = find_bundled(v.kernel)->variant(placed, false, {132, Bytes(50 << 20)});
    const Compilation done = compile(plan, environment, Objections::report);
    REQUIRE(done.kernel.report.objection() == "");
    code = test::decoded(done.kernel.cubin);
  }
};

double of(const test::Amounts& amounts, const std::string& unit) {
  const auto found = amounts.find(unit);
  return found == amounts.end() ? 0 : found->second;
}

const std::vector<Variant>& eight_bits() {
  static const std::vector<Variant> all{fp8(128, "128", "on", "persistent", "2"),
                                        fp8(128, "128", "off", "persistent", "2"),
                                        fp8(128, "96", "off", "longest_first", "3"),
                                        fp8(128, "64", "off", "longest_first", "3"),
                                        fp8(128, "128", "off", "persistent", "2", "chunk"),
                                        fp8(64, "192", "off", "persistent", "2", "chunk"),
                                        fp8(256, "96", "on", "persistent", "2"),
                                        fp8(256, "64", "off", "longest_first", "2"),
                                        fp8(64, "128", "on", "persistent", "2"),
                                        fp8(64, "192", "off", "persistent", "2")};
  return all;
}

}  // namespace

TEST_CASE("attention_fp8_sm90: a consumer's turn is what the mapping counts, unit by unit" *
          doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  for (const Variant& v : eight_bits()) {
    const Made made(v, *environment);
    const test::Amounts wanted = mapped(made.placed, "consumer"), issued = test::issued_beside(made.code, "QGMMA");
    MESSAGE(v.tile[2].second << " keys: mapping " << of(wanted, "all") << ", machine code " << of(issued, "all"));
    CAPTURE(v.tile[2].second);
    for (const char* unit : {"tensor", "special", "shuffle"})
      CHECK(of(wanted, unit) == doctest::Approx(of(issued, unit)));
    CHECK(of(wanted, "conversion_fp8") == doctest::Approx(of(issued, "conversion")));
    CHECK(of(wanted, "fp32") == doctest::Approx(of(issued, "fp32")).epsilon(0.01));
    CHECK(of(wanted, "alu") <= of(issued, "alu"));
    CHECK(of(wanted, "all") == doctest::Approx(of(issued, "all")).epsilon(0.04));
  }
}

TEST_CASE("attention_fp8_sm90: so is the producer's, of a warp that asks for copies and of one that does not" *
          doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  for (const Variant& v : eight_bits()) {
    Made made(v, *environment);
    const test::Amounts wanted = mapped(made.placed, "producer"),
                        asking = test::issued_beside(made.code, "LDSM", "QGMMA");
    for (SassInstruction& one : made.code) {
      if (one.opcode == "UTMALDG") one.opcode = "other";  // so that the path without it is the shorter one
    }
    const test::Amounts turning = test::issued_beside(made.code, "LDSM", "QGMMA");
    const double mean = (of(asking, "all") + 3 * of(turning, "all")) / 4;
    MESSAGE(v.tile[2].second << " keys: mapping " << of(wanted, "all") << ", machine code " << mean);
    CAPTURE(v.tile[2].second);
    CHECK(of(wanted, "shared_port") == of(turning, "fragments") + of(turning, "shared"));
    CHECK(of(wanted, "alu") <= of(turning, "alu"));
    CHECK(of(wanted, "all") == doctest::Approx(mean).epsilon(0.06));
  }
}

// Instructions of a consumer's iteration that each mapping leaves out; docs/lab/fp8.md has the table. Control code that
// runs during products is not counted in mappings of products, nor all of it in the backward pass.
TEST_CASE("the other kernels of Hopper: of a consumer's turn their mappings count so much" *
          doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  const test::Shape product{{"a", 4096}, {"b", 4096}, {"c", 4096}},
      decode{{"b", 8}, {"h", 8}, {"g", 8}, {"q", 1}, {"x", 8192}, {"d", 128}, {"dv", 128}};
  struct Counted {
    Variant variant;
    double share;  ///< of the machine code's instructions that the mapping has
  };
  const auto bf16 = [](const char* kernel, const test::Shape& shape, test::Knobs tile) {
    return Variant{kernel, shape, DType::bf16, {}, std::move(tile)};
  };
  const std::vector<Counted> variants{
      {bf16("attention_sm90", attention(128), {{"warpgroups", "2"}, {"q", "128"}, {"x", "128"}}), 0.987},
      {bf16("attention_sm90", attention(128), {{"warpgroups", "2"}, {"q", "128"}, {"x", "128"}, {"overlap", "off"}}),
       0.955},
      {bf16("attention_sm90", attention(64), {{"warpgroups", "3"}, {"q", "192"}, {"x", "128"}, {"q_stages", "1"}}),
       0.974},
      {bf16("attention_backward_sm90", attention(128),
            {{"warpgroups", "2"}, {"x", "128"}, {"q", "64"}, {"stages", "2"}, {"o_stages", "2"}, {"s_stages", "2"}}),
       0.888},
      {bf16("attention_backward_sm90", attention(64), {{"warpgroups", "2"}, {"x", "128"}, {"q", "128"}}), 0.905},
      {bf16("attention_decode_sm90", decode,
            {{"warpgroups", "1"}, {"g", "8"}, {"q", "8"}, {"x", "128"}, {"overlap", "off"}, {"stages", "2"}}),
       0.983},
      {bf16("matmul_sm90", product, {{"a", "128"}, {"c", "256"}, {"b", "64"}, {"warpgroups", "2"}, {"stages", "3"}}),
       0.523},
      {{"matmul_fp8_sm90",
        product,
        DType::e4m3,
        {},
        {{"a", "128"}, {"c", "128"}, {"b", "256"}, {"warpgroups", "2"}, {"stages", "3"}}},
       0.879}};
  for (const Counted& one : variants) {
    const Made made(one.variant, *environment);
    const test::Amounts wanted = mapped(made.placed, "consumer"),
                        issued = test::issued_beside(made.code, one.variant.dtype == DType::e4m3 ? "QGMMA" : "HGMMA");
    MESSAGE(one.variant.kernel << ": mapping " << of(wanted, "all") << ", machine code " << of(issued, "all"));
    CAPTURE(one.variant.kernel);
    for (const char* unit : {"tensor", "special"}) CHECK(of(wanted, unit) == doctest::Approx(of(issued, unit)));
    CHECK(of(wanted, "conversion") == of(issued, "conversion"));
    CHECK(of(wanted, "fp32") == doctest::Approx(of(issued, "fp32")).epsilon(0.02));
    CHECK(of(wanted, "all") / of(issued, "all") == doctest::Approx(one.share).epsilon(0.02));
  }
}

}  // namespace test_instructions
