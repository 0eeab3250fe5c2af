// The kernels' machine code equals the recorded code, so that a change of their text that is to change nothing is found
// out if it does. If a change is intended, `run_machine_code --known FILE` records the variants again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "kernels/runtime/environment.hpp"
#include "tests/support/machine_code.hpp"

namespace test_machine_code {

using namespace napkin;
using namespace napkin::internal;
using test::MachineCode;

namespace {

const std::string folder = std::string(NAPKIN_SOURCE_DIR) + "/tests/measured/machine_code/";

const std::vector<MachineCode>& recorded() {
  static const std::vector<MachineCode> all = [] {
    std::vector<MachineCode> rows = test::read_machine_code(folder + "nvrtc_13_0.jsonl");
    for (MachineCode& row : test::read_machine_code(folder + "newer_kernels.jsonl")) rows.push_back(std::move(row));
    return rows;
  }();
  return all;
}

std::size_t count(const std::string& kernel, const std::string& field) {
  return static_cast<std::size_t>(std::count_if(recorded().begin(), recorded().end(), [&](const MachineCode& one) {
    return one.variant.expression.starts_with("napkin::" + kernel + "<") &&
           one.variant.expression.find("." + field) != std::string::npos;
  }));
}

}  // namespace

TEST_CASE("the recorded variants turn every knob of the kernels") {
  for (const char* field : {"d = 64,",
                            "d = 128,",
                            "d = 256,",
                            "mask = napkin::MaskKind::none",
                            "mask = napkin::MaskKind::causal",
                            "mask = napkin::MaskKind::window",
                            "warpgroups = 1,",
                            "warpgroups = 2,",
                            "warpgroups = 3,",
                            "overlap = true",
                            "overlap = false",
                            "pingpong = true",
                            "p_shared = true",
                            "p_shared = false",
                            "rescale_rarely = true",
                            "rescale_rarely = false",
                            "cluster = 2",
                            "packed = true",
                            "q_stages = 2",
                            "cycles = true",
                            "dump = true"}) {
    CAPTURE(field);
    CHECK(count("attention_sm90", field) >= 2);
  }
  for (const char* field : {"d = 64,", "d = 128,", "d = 256,", "mask = napkin::MaskKind::causal",
                            "mask = napkin::MaskKind::window", "stages = 1", "stages = 2", "q_registers = true",
                            "swizzle = false", "rescale_rarely = false", "packed = true"}) {
    CAPTURE(field);
    CHECK(count("attention_sm80", field) >= 2);
  }
  for (const char* field : {"warpgroups = 1,", "warpgroups = 2,", "warpgroups = 3,", "cluster = 2", "ragged = true",
                            "order = napkin::MatmulOrder::hilbert"}) {
    CAPTURE(field);
    CHECK(count("matmul_sm90", field) >= 2);
  }
  for (const char* kernel :
       {"attention_decode_sm90", "attention_fp8_sm90", "matmul_fp8_sm90", "attention_backward_sm90"})
    CHECK(count(kernel, "warpgroups = 2,") >= 2);
}

// A dozen of the variants are compiled here; run_machine_code --known compiles all of them.
TEST_CASE("today's kernels compile to the recorded machine code" * doctest::test_suite("compiling")) {
  const Environment environment = process_environment();
  const auto compiler = Compiler::find(environment.compiler);
  if (!compiler) {
    std::puts("SKIP: no NVRTC on this machine");
    return;
  }
  const std::string name = test::name_of(*compiler);
  const KernelCache cache(std::filesystem::path(NAPKIN_BINARY_DIR) / "kernel-cache");
  std::string first;
  for (std::size_t i = 0; i < recorded().size(); i += recorded().size() / 12) {
    const MachineCode& before = recorded()[i];
    if (before.compiler != name) {
      std::printf("SKIP: recorded with %s, and here is %s\n", before.compiler.c_str(), name.c_str());
      return;
    }
    const auto& [source, architecture, expression] = before.variant;
    const Compilation out = compile_cached(*compiler, cache, {kernel_source(source), expression, architecture, {}});
    const MachineCode now = test::machine_code_of(before.variant, out.kernel, name);
    CAPTURE(expression);
    CHECK(now.instructions == before.instructions);
    CHECK(now.registers == before.registers);
    CHECK_MESSAGE(now.code == before.code, "other machine code: if that is meant, record it anew");

    // One changed bit of one instruction is found, and so is a variant in another's place.
    std::string cubin = out.kernel.cubin;
    const std::size_t at = cubin.find(test::machine_code(cubin).substr(0, 64));
    REQUIRE(at != std::string::npos);
    cubin[at + 17] = static_cast<char>(cubin[at + 17] ^ 1);
    CHECK(hex(Sha256().add(test::machine_code(cubin)).digest()) != now.code);
    CHECK(now.code != first);
    if (first.empty()) first = now.code;
  }
}

}  // namespace test_machine_code
