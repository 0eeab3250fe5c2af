// The built-in profiles: they load, they are consistent, and they agree with their makers' data sheets.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/machine/load.hpp"

namespace test_profiles {

using namespace napkin;
using namespace napkin::internal;

namespace {

const std::vector<std::string> expected = {
    "a10",          "a100-pcie-40", "a100-pcie-80", "a100-sxm-40",  "a100-sxm-80",
    "a10g",         "a40",          "ascend-910b2", "ascend-950pr", "b200",
    "b300",         "gb10",         "gb200",        "gb300",        "gh200",
    "h100-nvl",     "h100-pcie",    "h100-sxm",     "h20",          "h200-sxm",
    "h800-pcie",    "h800-sxm",     "l20",          "l4",           "l40",
    "l40s",         "mi300x",       "mi325x",       "mi350x",       "mi355x",
    "paper-h100",   "rtx-2080-ti",  "rtx-3090",     "rtx-4090",     "rtx-5090",
    "rtx-6000-ada", "rtx-a5000",    "rtx-a6000",    "rtx-pro-6000", "rtx-pro-6000-server",
    "t4",           "v100-sxm2"};

double tensor_peak(const Machine& machine, DType type, double clock) {
  const TensorInstruction* instruction = machine.tensor_for(type);
  REQUIRE(instruction != nullptr);
  return peak_flops(machine, *instruction, Hertz(clock)) / 1e12;
}

}  // namespace

TEST_CASE("every built-in profile loads and names itself") {
  CHECK(builtin_machines() == expected);
  for (const std::string& name : expected) {
    CAPTURE(name);
    const Machine machine = load_machine(name, "--gpu");
    CHECK(machine.name == name);
    CHECK_FALSE(machine.about.empty());
    CHECK(machine.levels.front().name == "device");
    CHECK(machine.clocks.maximum.has_value());
    const std::string& of = machine.architecture;
    const bool has_some = of == "sm_90" || of == "sm_100" || of == "sm_120" || of == "ascend-910b";
    CHECK(machine.fitted.empty() == (!has_some || name == "paper-h100"));
    for (std::size_t i = 1; i < machine.levels.size(); ++i) {
      CAPTURE(machine.levels[i].name);
      if (machine.levels[i].kind != LevelKind::ordinary) continue;
      CHECK(machine.levels[i].capacity.known());
    }
  }
}

TEST_CASE("nodes x FLOP a clock x clock is the claimed peak") {
  struct Claim {
    const char* gpu;
    DType type;
    double teraflops;  // peak by the datasheet, or by the product of its own numbers
  };
  for (const Claim& claim : std::vector<Claim>{{"v100-sxm2", DType::f16, 125.3},
                                               {"t4", DType::f16, 65.1},
                                               {"t4", DType::i8, 130.3},
                                               {"rtx-2080-ti", DType::f16, 53.8},
                                               {"a100-sxm-80", DType::bf16, 311.9},
                                               {"a100-sxm-80", DType::tf32, 155.9},
                                               {"a100-sxm-80", DType::i8, 623.7},
                                               {"rtx-3090", DType::f16, 71.2},
                                               {"rtx-4090", DType::f16, 165.2},
                                               {"rtx-4090", DType::e4m3, 330.3},
                                               {"rtx-4090", DType::i8, 660.6},
                                               {"l40s", DType::bf16, 366.4},
                                               {"h100-sxm", DType::bf16, 989.4},
                                               {"h100-sxm", DType::e4m3, 1978.9},
                                               {"h100-sxm", DType::tf32, 494.7},
                                               {"h100-pcie", DType::bf16, 756.4},
                                               {"h800-pcie", DType::bf16, 756.4},
                                               {"h200-sxm", DType::bf16, 989.4},
                                               {"h200-sxm", DType::e4m3, 1978.9},
                                               {"b200", DType::bf16, 2243.0},
                                               {"b200", DType::e4m3, 4485.9},
                                               {"b200", DType::e2m1, 8971.9},
                                               {"mi300x", DType::bf16, 1307.4},
                                               {"mi300x", DType::e4m3, 2614.9},
                                               {"mi300x", DType::f32, 163.4},
                                               {"ascend-910b2", DType::f16, 353.9},
                                               {"ascend-950pr", DType::f16, 432.5},
                                               {"paper-h100", DType::f16, 989.4},
                                               {"paper-h100", DType::e4m3, 1978.9},
                                               {"a100-pcie-40", DType::bf16, 311.9},
                                               {"h800-sxm", DType::bf16, 989.4},
                                               {"h20", DType::bf16, 148.0},
                                               {"h20", DType::e4m3, 296.0},
                                               {"gh200", DType::bf16, 989.4},
                                               {"a40", DType::bf16, 149.7},
                                               {"rtx-a6000", DType::bf16, 154.8},
                                               {"rtx-a5000", DType::bf16, 111.1},
                                               {"l20", DType::bf16, 118.7},
                                               {"l4", DType::bf16, 121.2},
                                               {"l4", DType::e4m3, 242.3},
                                               {"rtx-5090", DType::bf16, 209.5},
                                               {"rtx-5090", DType::e4m3, 419.0},
                                               {"rtx-5090", DType::e2m1, 1676.0},
                                               {"gb200", DType::bf16, 2500.0},
                                               {"gb300", DType::bf16, 2500.0},
                                               {"mi325x", DType::bf16, 1307.4},
                                               {"mi355x", DType::bf16, 2516.6},
                                               {"mi355x", DType::e2m1, 10066.3},
                                               {"a10", DType::bf16, 125.0},
                                               {"a10g", DType::bf16, 70.0},
                                               {"l40", DType::bf16, 362.1},
                                               {"rtx-6000-ada", DType::bf16, 364.2},
                                               {"rtx-pro-6000", DType::bf16, 500.5},
                                               {"rtx-pro-6000-server", DType::bf16, 467.8},
                                               {"gb10", DType::e2m1, 475.4},
                                               {"h100-nvl", DType::bf16, 835.4},
                                               {"mi350x", DType::bf16, 2306.9}}) {
    CAPTURE(claim.gpu);
    const Machine machine = load_machine(claim.gpu, "--gpu");
    REQUIRE(machine.clocks.tensor.has_value());
    CHECK(std::abs(tensor_peak(machine, claim.type, machine.clocks.tensor->value) - claim.teraflops) < 0.1);
  }
}

TEST_CASE("FP32 peaks use the other clock of the datasheet") {
  const Machine machine = load_machine("h100-sxm", "--gpu");
  const double rate = machine.unit("fp32")->per_clock.datasheet->value;
  CHECK(2 * 132 * rate * machine.clocks.maximum->value / 1e12 == doctest::Approx(66.9).epsilon(0.001));
}

TEST_CASE("SM counts, shared memory and registers of the NVIDIA products") {
  struct Row {
    const char* gpu;
    int sms;
    int shared, per_block;  // KiB
    int threads, blocks;
    bool cluster;
  };
  for (const Row& row :
       std::vector<Row>{{"v100-sxm2", 80, 96, 96, 2048, 32, false},    {"t4", 40, 64, 64, 1024, 16, false},
                        {"rtx-2080-ti", 68, 64, 64, 1024, 16, false},  {"a100-sxm-80", 108, 164, 163, 2048, 32, false},
                        {"rtx-3090", 82, 100, 99, 1536, 16, false},    {"rtx-4090", 128, 100, 99, 1536, 24, false},
                        {"l40s", 142, 100, 99, 1536, 24, false},       {"h100-sxm", 132, 228, 227, 2048, 32, true},
                        {"h100-pcie", 114, 228, 227, 2048, 32, true},  {"h800-pcie", 114, 228, 227, 2048, 32, true},
                        {"h200-sxm", 132, 228, 227, 2048, 32, true},   {"b200", 148, 228, 227, 2048, 32, true},
                        {"b300", 148, 228, 227, 2048, 32, true},       {"h20", 78, 228, 227, 2048, 32, true},
                        {"gh200", 132, 228, 227, 2048, 32, true},      {"a40", 84, 100, 99, 1536, 16, false},
                        {"rtx-a5000", 64, 100, 99, 1536, 16, false},   {"l4", 58, 100, 99, 1536, 24, false},
                        {"l20", 92, 100, 99, 1536, 24, false},         {"rtx-5090", 170, 100, 99, 1536, 24, false},
                        {"paper-h100", 132, 227, 227, 2048, 32, false}}) {
    CAPTURE(row.gpu);
    const Machine machine = load_machine(row.gpu, "--gpu");
    const Level& shared = machine.levels[static_cast<std::size_t>(machine.level("shared"))];
    CHECK(machine.compute == machine.level("shared"));
    CHECK(machine.compute_nodes() == Count(row.sms));
    CHECK(machine.nodes(machine.level("registers")) == Count(row.sms));
    CHECK(count_of(shared.capacity.best()) == Count(row.shared * 1024));
    REQUIRE(shared.per_block.has_value());
    CHECK(count_of(*shared.per_block) == Count(row.per_block * 1024));
    CHECK(machine.levels[static_cast<std::size_t>(machine.level("registers"))].capacity.best().value == 262144);
    CHECK(machine.find_level("cluster").has_value() == row.cluster);
    REQUIRE(machine.limits.known);
    CHECK(machine.limits.threads_per_node == Count(row.threads));
    CHECK(machine.limits.blocks_per_node == Count(row.blocks));
    CHECK(machine.limits.registers_per_node == Count(65536));
    CHECK(machine.limits.stated.at("registers_per_node").from.source.find("Guide") != std::string::npos);
    CHECK(machine.pipe_into(machine.level("shared")) != nullptr);
    CHECK(machine.pipe_into(machine.level("l2"))->name == "device");
  }
}

TEST_CASE("every NVIDIA product has the units that a kernel's mapping names") {
  for (const std::string& name : expected) {
    const Machine machine = load_machine(name, "--gpu");
    if (machine.vendor != "nvidia" || name == "paper-h100") continue;
    CAPTURE(name);
    for (const char* unit : {"special", "fp32", "fp16", "alu", "conversion", "issue", "shared_port", "shuffle"}) {
      CAPTURE(unit);
      CHECK(machine.unit(unit) != nullptr);
    }
    CHECK(machine.tensor_for(DType::f16, "mma.sync") != nullptr);
  }
}

TEST_CASE("H200: measured values stand beside the datasheet's and rule") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  const Pipe& device = *machine.find_pipe("device");
  CHECK(device.aggregate.datasheet->value == doctest::Approx(4.8e12));
  CHECK(bytes_per_second(machine, device, Hertz(1.98e9)) == doctest::Approx(4.625e12));
  CHECK(bytes_per_second(machine, *machine.find_pipe("l2"), Hertz(1.98e9)) == doctest::Approx(35 * 132 * 1.98e9));
  CHECK(count_of(machine.levels[1].capacity.best()) == Count(62914560));
  CHECK(machine.levels[1].capacity.datasheet->value == 50e6);
  CHECK(machine.unit("issue")->beside_tensor->value == 2);
}

TEST_CASE("H200: a wgmma takes max(N/2, 16 + N/4) clocks from shared memory, max(N/2, 13) from registers") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  for (const DType type : {DType::bf16, DType::f16, DType::e4m3}) {
    const TensorInstruction& wgmma = *machine.tensor_for(type);
    for (const int n : {8, 16, 32, 64, 128, 176, 192, 256}) {
      CAPTURE(n);
      CHECK(instruction_clocks(wgmma, n, false) == doctest::Approx(std::max(n / 2.0, 16 + n / 4.0)));
      CHECK(instruction_clocks(wgmma, n, true) == doctest::Approx(std::max(n / 2.0, 13.0)));
    }
    for (int n = 8; n <= 256; n += 8) {
      CAPTURE(n);
      CHECK(instruction_clocks(wgmma, n, false) == doctest::Approx(std::max(n / 2.0, 16 + n / 4.0)));
      CHECK(instruction_clocks(wgmma, n, true) == doctest::Approx(std::max(n / 2.0, 13.0)).epsilon(0.001));
    }
  }
}

TEST_CASE(
    "device memory is read more slowly than its bus: what is reached, on that product or on one of the same memory") {
  // Nobody's reading of GDDR7, LPDDR5X or Ascend's memory is known.
  const std::set<std::string> unread = {"ascend-910b2", "ascend-950pr", "gb10",
                                        "rtx-5090",     "rtx-pro-6000", "rtx-pro-6000-server"};
  for (const std::string& name : builtin_machines()) {
    const Machine machine = load_machine(name, "--gpu");
    const Pipe* device = machine.find_pipe("device");
    REQUIRE(device != nullptr);
    CHECK_MESSAGE((device->aggregate.best().from.source.starts_with("spec:") && !device->aggregate.measured) ==
                      unread.contains(name),
                  name);
    if (device->aggregate.measured && device->aggregate.datasheet)
      CHECK_MESSAGE(device->aggregate.measured->value < device->aggregate.datasheet->value, name);
  }
}

TEST_CASE("the paper's H100 carries the paper's numbers exactly") {
  const Machine machine = load_machine("paper-h100", "--gpu");
  const Hertz clock(machine.clocks.tensor->value);
  CHECK(clock.value == doctest::Approx(1.83e9));
  CHECK(bytes_per_second(machine, *machine.find_pipe("device"), clock) == doctest::Approx(3352e9));
  CHECK(bytes_per_second(machine, *machine.find_pipe("l2"), clock) == doctest::Approx(12e12));
  CHECK(machine.tensor_for(DType::f16)->flop_per_clock == 4096);
  CHECK(machine.tensor_for(DType::e4m3)->flop_per_clock == 8192);
  CHECK(machine.unit("special")->per_clock.best().value == 16);
  CHECK(machine.unit("fp16")->per_clock.best().value == 512);
  CHECK(machine.unit("fp16")->counts == Counted::flop);
  // g_q >= f_K H_B N_SM / (k_TC B) (errata P1)
  const double least = clock.value * 24576 * 132 / (6 * bytes_per_second(machine, *machine.find_pipe("device"), clock));
  CHECK(least == doctest::Approx(295.2).epsilon(0.0002));
}

TEST_CASE("H800: the bandwidths behind the choice of a cluster size") {
  const Machine machine = load_machine("h800-pcie", "--gpu");
  const double device = machine.find_pipe("device")->aggregate.datasheet->value / 1e12;
  const Pipe& network = *machine.pipe_into(machine.level("cluster"));
  const auto gain = [&](int size) {
    return 1 / device - 1e12 / bytes_per_second(machine, network, Hertz(1.755e9), size);
  };
  CHECK(gain(2) == doctest::Approx(0.18439).epsilon(0.0001));
  CHECK(gain(4) == doctest::Approx(0.11284).epsilon(0.0001));
  CHECK(gain(2) * (1 - 1 / 2.0) > gain(4) * (1 - 1 / 4.0));                      // attention: beta = 1
  CHECK(gain(2) * (1 - std::pow(2, -0.5)) < gain(4) * (1 - std::pow(4, -0.5)));  // matmul: beta = 1/2
}

TEST_CASE("Ascend: cube cores and vector cores are different nodes") {
  const Machine machine = load_machine("ascend-910b2", "--gpu");
  CHECK(machine.compute_nodes() == Count(24));
  CHECK(machine.nodes(machine.level("ub")) == Count(48));
  CHECK(machine.nodes(machine.level("l0c")) == Count(24));
  CHECK(machine.unit("special")->level == machine.level("ub"));
  CHECK(machine.tensor_for(DType::f16)->level == machine.level("l1"));
  CHECK_FALSE(machine.limits.known);
  CHECK(machine.find_pipe("l0c_l2") != nullptr);
}

TEST_CASE("MI300X: 304 CUs in 8 XCDs") {
  const Machine machine = load_machine("mi300x", "--gpu");
  CHECK(machine.compute_nodes() == Count(304));
  CHECK(machine.nodes(machine.level("l2")) == Count(8));
  CHECK(machine.limits.warp_size == Count(64));
}

TEST_CASE("an unknown GPU is answered with the known ones") {
  try {
    (void)load_machine("h100-smx", "--gpu");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.where() == "--gpu");
    CHECK(error.problem() == "unknown GPU 'h100-smx'");
    CHECK(error.right().find("did you mean 'h100-sxm'?") == 0);
    for (const std::string& name : expected) CHECK(error.right().find(name) != std::string::npos);
  }
  CHECK_THROWS_AS((void)load_machine("", "--gpu"), Error);
  CHECK_THROWS_AS((void)load_machine("no/such/file.yaml", "--gpu"), Error);
}

TEST_CASE("a profile can be read from a path") {
  const std::string path = std::string(NAPKIN_SOURCE_DIR) + "/hardware_profiles/h200-sxm.yaml";
  CHECK(load_machine(path, "--gpu").name == "h200-sxm");
}

}  // namespace test_profiles
