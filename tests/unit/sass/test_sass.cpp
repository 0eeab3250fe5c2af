#include <doctest/doctest.h>

#include "kernels/sass/census.hpp"
#include "kernels/sass/cubin.hpp"
#include "model/base/error.hpp"
#include "tests/unit/sass/recorded.hpp"

namespace test_sass {

using namespace napkin;
using namespace napkin::internal;
using test::recorded;

namespace {

std::string named(const std::string& body) { return ".text.f:\n" + body; }

}  // namespace

TEST_CASE("both disassemblers' texts are read alike: names, predicates, operands, jumps") {
  const auto labels = read_sass(
      "\t.headerflags\t@\"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)\"\n.text.f:\n.L_x_1:\n"
      "        /*0000*/                   MUFU.EX2 R90, R91.reuse ;\n"
      "        /*0010*/              @!P2 BRA `(.L_x_1) ;\n        /*0020*/  EXIT ;\n");
  const auto addresses = read_sass(
      "\tcode for sm_90a\n\t\tFunction : f\n"
      "        /*0000*/                   MUFU.EX2 R90, R91.reuse ;   /* 0x00000a00ff017b82 */\n"
      "                                                          /* 0x000e620000000800 */\n"
      "        /*0010*/              @!P2 BRA 0x0 ;  /* 0x1 */\n        /*0020*/  EXIT ;\n");
  for (const auto& functions : {labels, addresses}) {
    REQUIRE(functions.size() == 1);
    CHECK(functions[0].name == "f");
    CHECK(functions[0].architecture == "sm_90");
    const auto& code = functions[0].code;
    REQUIRE(code.size() == 3);
    CHECK(code[0].opcode == "MUFU");
    CHECK(code[0].suffix == ".EX2");
    CHECK(code[0].register_of(1) == 91);
    CHECK(code[0].register_of(2) == -1);
    CHECK(unit_of(code[0]) == "special");
    CHECK(code[1].predicated);
    CHECK(code[1].target == 0);
  }
  CHECK(read_sass("no instruction at all\n").empty());
}

TEST_CASE("shapes of products") {
  const auto shape = [](const char* text) {
    return product_shape(read_sass(named(std::string("/*0000*/ ") + text + " ;\n"))[0].code[0]);
  };
  const auto asynchronous = shape("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], RZ, !UPT");
  REQUIRE(asynchronous);
  CHECK(*asynchronous == ProductShape{64, 128, 16, 4, "bf16", "f32", true});
  CHECK(*shape("HMMA.16816.F32 R4, R8, R10, R4") == ProductShape{16, 8, 16, 1, "f16", "f32", false});
  CHECK(shape("QGMMA.64x256x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24")->type == "e4m3");
  CHECK(shape("IMMA.16832.S8.S8 R4, R8, R10, R4")->accumulate == "i32");
  CHECK_FALSE(shape("FADD R1, R2, R3"));
  CHECK_FALSE(shape("HGMMA.64x R24, gdesc[UR8], RZ"));
}

TEST_CASE(
    "a loop is what every way back passes: a wait that stands aside is none, and lies in the loop that it serves") {
  const auto code =
      read_sass(named("/*0000*/ MOV R1, R2 ;\n"
                      ".L_1:\n/*0010*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 ;\n"
                      "/*0020*/ @!P0 BRA `(.L_3) ;\n"
                      ".L_2:\n/*0030*/ HMMA.16816.F32 R4, R8, R10, R4 ;\n"
                      "/*0040*/ @P1 BRA `(.L_4) ;\n"
                      "/*0050*/ FADD R1, R1, R2 ;\n"
                      ".L_4:\n/*0060*/ @P2 BRA `(.L_1) ;\n"
                      "/*0070*/ EXIT ;\n"
                      ".L_3:\n/*0080*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 ;\n"
                      "/*0090*/ @!P0 BRA `(.L_3) ;\n"
                      "/*00a0*/ BRA `(.L_2) ;\n"))[0]
          .code;
  const auto loops = loops_of(code);
  REQUIRE(loops.size() == 2);
  CHECK(loops[0].head == 1);
  CHECK(loops[0].body == std::vector<int>{1, 2, 3, 4, 5, 6, 8, 9, 10});
  CHECK(loops[1].body == std::vector<int>{8, 9});
  // The iteration leaves out the loop of a wait that is over, and instructions that a branch skips.
  CHECK(iteration_of(code, loops, loops[0]) == std::vector<int>{1, 2, 3, 4, 6});
}

TEST_CASE("of two ways the one with the copies is taken, else the shorter one") {
  const auto code =
      read_sass(named(".L_1:\n/*0000*/ HMMA.16816.F32 R4, R8, R10, R4 ;\n"
                      "/*0010*/ @P0 BRA `(.L_2) ;\n/*0020*/ LDGSTS.E.128 [R1], [R2.64] ;\n"
                      ".L_2:\n/*0030*/ @P1 BRA `(.L_3) ;\n/*0040*/ FADD R1, R1, R2 ;\n"
                      ".L_3:\n/*0050*/ @P2 BRA `(.L_1) ;\n/*0060*/ EXIT ;\n"))[0]
          .code;
  const auto loops = loops_of(code);
  CHECK(iteration_of(code, loops, loops.at(0)) == std::vector<int>{0, 1, 2, 3, 5});
}

TEST_CASE("the bundled kernels: products, agents and copies of one iteration") {
  const SassCensus attention = census_of(recorded("attention_sm90"), 2, "");
  CHECK(attention.function.resources.threads == 384);
  CHECK(attention.copy_registers == 24);
  CHECK(attention.compute_registers == 240);
  CHECK(attention.bulk == 2);
  CHECK(attention.second_first);
  for (const SassOperation& one : attention.operations) {
    CHECK(one.shape == ProductShape{64, 128, 16, 4, "bf16", "f32", true});
    CHECK(one.count == 8);
    CHECK(one.depth() == 128);
  }
  CHECK_FALSE(attention.operations[0].a_in_registers);
  CHECK(attention.operations[1].a_in_registers);
  const SassCensus older = census_of(recorded("attention_sm80"), 2, "");
  CHECK(older.operations[0].count == 2 * 10 * 4);  // 32 rows x 80 keys, 64 deep
  CHECK(older.operations[0].chains == 2 * 10);
  CHECK(older.operations[1].depth() == 80);
  CHECK(older.copies == 6);
  const SassCensus product = census_of(recorded("matmul_sm90"), 1, "");
  CHECK(product.operations[0].count == 4);
  CHECK(product.operations[0].depth() == 64);
  CHECK(product.bulk == 2);
}

TEST_CASE("a kernel without the loop is refused") {
  CHECK_THROWS_AS((void)census_of(recorded("matmul_sm90"), 2, "here"), Error);
  const auto nothing = read_sass(named("/*0000*/ EXIT ;\n"))[0];
  CHECK_THROWS_AS((void)census_of(nothing, 1, "here"), Error);
}

TEST_CASE("a compiled file that is none, at every length") {
  std::string bytes =
      "\x7f"
      "ELF";
  bytes += std::string(300, '\2');
  for (std::size_t n = 0; n < bytes.size(); n += 7) CHECK_THROWS_AS((void)read_cubin(bytes.substr(0, n), "f"), Error);
  CHECK_THROWS_AS((void)disassemble("/nothing/there.cubin", "f"), Error);
}

}  // namespace test_sass
