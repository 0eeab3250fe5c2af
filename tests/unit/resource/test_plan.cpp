// Shared memory, barriers, registers, occupancy.

#include "model/resource/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/gpu_of_mapping.hpp"
#include "tests/support/layout.hpp"

// The toolkit's occupancy calculator, header-only and host-only, where one is installed.
#if __has_include(<cuda_occupancy.h>)
#define NAPKIN_OCCUPANCY_TWIN <cuda_occupancy.h>
#elif __has_include("/usr/local/cuda/include/cuda_occupancy.h")
#define NAPKIN_OCCUPANCY_TWIN "/usr/local/cuda/include/cuda_occupancy.h"
#endif
#ifdef NAPKIN_OCCUPANCY_TWIN
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#include NAPKIN_OCCUPANCY_TWIN
#pragma GCC diagnostic pop
#endif

namespace test_plan {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr std::int64_t KiB = 1024;

Limits ampere_ga102() {  // 100 KiB of shared memory a node (sm_86)
  Limits limits;
  limits.known = true;
  limits.threads_per_node = 1536;
  limits.warps_per_node = 48;
  limits.blocks_per_node = 16;
  return limits;
}

const test::Shape shape = {{"b", 2}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};

Bytes offset_of(const PlacedDiagram& placed, const Plan& p, const std::string& variable) {
  for (const Slot& slot : p.shared) {
    const Variable& v = placed.variables[static_cast<std::size_t>(slot.variable)];
    if (placed.mapping->variables[static_cast<std::size_t>(v.mapping)].name == variable) return slot.offset;
  }
  return Bytes(-1);
}

/// Makes a mapping of the Ampere blog's base kernel: 64 x 64, four warps, O with or without storage of its own.
Mapping blog_kernel(bool aliased) {
  std::string text = R"(mapping: blog
algorithm: attention
runs_on: [sm_80+]
dtypes: [bf16, f16]
knobs:
  q: {unit: rows, domain: [64]}
  x: {unit: columns, domain: [64]}
agents:
  consumer: {count: 4, threads: 32, splits: [q], row_step: 16}
levels:
  shared: {group: [b, h, g, q], stream: [x]}
  registers: {group: [q]}
arrays:
  Q: {level: shared, type: T, engine: cp_async}
  K: {level: shared, type: T, engine: cp_async}
  V: {level: shared, type: T, engine: cp_async}
  Q_fragments: {of: Q, level: registers, scope: agent, type: T}
  S: {level: registers, scope: agent, type: f32}
  P: {level: registers, scope: agent, type: T}
  O: {level: registers, scope: agent, type: f32}
  alpha: {of: [mu, z], level: registers, scope: agent, type: f32}
  O_out: {of: O, level: shared, type: T, engine: plain, staging: true)";
  if (aliased) text += ", alias: Q";
  text += R"(}
operations:
  S: {agent: consumer, unit: tensor, type: T, accumulate: f32, operands: {Q: Q, K: K}}
  P: {agent: consumer, unit: vector, operands: {S: S}}
  O: {agent: consumer, unit: tensor, type: T, accumulate: f32, operands: {P: P, V: V}}
)";
  return parse_mapping(text, "blog.yaml");
}

struct Blog {
  explicit Blog(bool aliased) : machine(load_machine("rtx-3090", "gpu")), mapping(blog_kernel(aliased)) {
    const Diagram diagram = load_diagram("attention");
    streamed = streamed_by(mapping, diagram);
    problem.sizes = resolve_sizes(streamed.diagram, shape, "shape");
    placed = Placer(streamed, mapping, machine, problem).place({{64, 64}});
  }
  Blog(const Blog&) = delete;
  Blog& operator=(const Blog&) = delete;
  Machine machine;
  Mapping mapping;
  Streamed streamed;
  Problem problem;
  PlacedDiagram placed;
};

}  // namespace

TEST_CASE("twelve warps fit at 168 registers, not at 169 (erratum S4.1)") {
  const Limits limits = ampere_ga102();
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 168, Bytes(0)).blocks == Count(3));
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 169, Bytes(0)).blocks == Count(2));
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 202, Bytes(0)).blocks == Count(2));  // 8 warps
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 202, Bytes(0)).limited_by == "registers");
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 16, Bytes(0)).blocks == Count(12));
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 16, Bytes(0)).limited_by == "threads");
  CHECK(occupancy(limits, Bytes(100 * KiB), 32, 16, Bytes(0)).limited_by == "blocks");
  CHECK(occupancy(limits, Bytes(100 * KiB), 2048, 16, Bytes(0)).blocks == Count(0));
}

TEST_CASE("the Ampere blog's kernel: 64 KiB apart, one block; O in Q's place 48 KiB, two") {
  const Blog apart(false), aliased(true);
  CHECK(shared_bytes(apart.placed) == Bytes(64 * KiB));
  CHECK(shared_bytes(aliased.placed) == Bytes(48 * KiB));
  const Limits limits = ampere_ga102();
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 168, shared_bytes(apart.placed)).blocks == Count(1));
  CHECK(occupancy(limits, Bytes(100 * KiB), 128, 168, shared_bytes(aliased.placed)).blocks == Count(2));
  const Plan p = plan(aliased.placed);
  CHECK(p.blocks_per_sm == Count(2));
  CHECK(p.limited_by == "shared memory");
  CHECK(p.barriers == Count(0));
  CHECK(offset_of(aliased.placed, p, "O_out") == offset_of(aliased.placed, p, "Q"));
}

TEST_CASE("registers of the Ampere blog's table: Q 32, S 32, P 16, O 64, m and l 2 each") {
  const Blog blog(true);
  // The blog's K and V fragments (128 each) are whole tiles in registers; this mapping reads them from shared memory.
  CHECK(register_need(blog.placed).need ==
        Count(32 + 32 + 16 + 64 + 1));  // 16 rows x 2 values x 4 B / 128 B a warp = 1
}

TEST_CASE("FlashAttention-3: setmaxnreg shares, launch registers 168 and 128") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const Plan two = plan(question.place({{"warpgroups", "2"}, {"q", "128"}, {"x", "176"}}));
  CHECK(two.threads == Count(384));
  CHECK(two.registers_launch == Count(168));
  CHECK(two.registers_per_thread == Count(88 + 44 + 64 + 24));
  CHECK(two.registers_limit == Count(240));
  CHECK(two.blocks_per_sm == Count(1));
  const Plan three = plan(question.place({{"warpgroups", "3"}, {"q", "192"}, {"x", "128"}, {"overlap", "off"}}));
  CHECK(three.threads == Count(512));
  CHECK(three.registers_launch == Count(128));
  CHECK(three.registers_per_thread == Count(64 + 64 + 32));  // P lies in S's place
  CHECK(three.registers_limit == Count(160));
}

TEST_CASE("P takes registers only where it is read from them while the next S is written") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const auto need = [&](const char* p_in, const char* overlap) {
    return register_need(question.place({{"x", "128"}, {"p_in", p_in}, {"overlap", overlap}})).need;
  };
  CHECK(need("registers", "on") == Count(64 + 32 + 64 + 24));
  CHECK(need("registers", "off") == Count(64 + 64 + 24));
  CHECK(need("shared", "on") == Count(64 + 64 + 24));
}

TEST_CASE("shared memory of a TMA kernel: 1024-byte tiles, slack for the base, two barriers a copy") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", shape, DType::bf16);
  const PlacedDiagram placed = question.place({{"x", "176"}});
  const Plan p = plan(placed);
  const std::int64_t q = 128 * 128 * 2, kv = 176 * 128 * 2;
  CHECK(p.barriers == Count(2 * (1 + 2 + 2)));
  CHECK(p.shared_total == Bytes(q + 4 * kv + 1024 + 8 * 10));
  CHECK(p.shared_total == shared_bytes(placed));
  CHECK(offset_of(placed, p, "O_out") == offset_of(placed, p, "V"));
  for (const Slot& slot : p.shared) CHECK(slot.offset.value % Count(1024) == Count(0));
}

TEST_CASE("a mapping's own barriers count: attention_sm90 keeps a mailbox of three words, and Q's by warpgroup") {
  const test::LaidOut question("attention_sm90", "h200-sxm", shape, DType::bf16);
  const PlacedDiagram placed = question.place({{"x", "128"}, {"q_stages", "1"}});
  const Plan p = plan(placed);
  CHECK(p.barriers == Count(2 * (1 + 2 + 2) + 11));
  CHECK(p.shared_total == Bytes(5 * 128 * 128 * 2 + 1024 + 8 * 21));
  CHECK(Footprint(placed).shared_bytes(placed) == p.shared_total);
}

namespace {

/// Checks that two plans agree in everything except their slots.
void check_equal(const Plan& one, const Plan& other) {
  CHECK(one.shared_total == other.shared_total);
  CHECK(one.shared_limit == other.shared_limit);
  CHECK(one.barriers == other.barriers);
  CHECK(one.registers_per_thread == other.registers_per_thread);
  CHECK(one.registers_limit == other.registers_limit);
  CHECK(one.registers_launch == other.registers_launch);
  CHECK(one.threads == other.threads);
  CHECK(one.blocks_per_sm == other.blocks_per_sm);
  CHECK(one.limited_by == other.limited_by);
}

}  // namespace

TEST_CASE("storage that the mapping does not share does not overlap, for every tile of every built-in mapping") {
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    const Diagram diagram = load_diagram(mapping.algorithm);
    const test::Shape sizes =
        mapping.algorithm == "attention" ? shape : test::Shape{{"a", 4096}, {"b", 4096}, {"c", 4096}};
    if (mapping.algorithm != "attention" && mapping.algorithm != "matmul") continue;
    const bool ampere = runs_on(mapping, load_machine("a100-sxm-80", "gpu"));
    const DType dtype = parse_dtype(mapping.dtypes.front(), "test");
    const test::LaidOut question(name, ampere ? "a100-sxm-80" : test::home_gpu(mapping), sizes, dtype);
    CAPTURE(name);
    Tile tile = question.tile({});
    Footprints footprints;
    for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
      for (const std::int64_t value : mapping.knobs[k].domain) {
        Tile other = tile;
        other.values[k] = value;
        const PlacedDiagram placed = question.placer->place(other);
        const Plan p = plan(placed);
        CHECK(p.shared_total == shared_bytes(placed));
        check_equal(footprints.of(placed).plan(placed), p);
        for (std::size_t i = 1; i < p.shared.size(); ++i) {
          const Slot &a = p.shared[i - 1], &b = p.shared[i];
          CHECK(a.offset + a.size <= p.shared_total);
          if (a.offset != b.offset) CHECK(a.offset + a.size <= b.offset);
        }
      }
    }
  }
}

#ifdef NAPKIN_OCCUPANCY_TWIN
TEST_CASE("occupancy is the toolkit's own") {
  for (const char* gpu : {"h200-sxm", "a100-sxm-80", "rtx-3090", "rtx-4090"}) {
    const Machine machine = load_machine(gpu, "test");
    const Limits& limits = machine.limits;
    const Level& level = machine.levels[static_cast<std::size_t>(machine.compute)];
    const Bytes node_shared(static_cast<std::int64_t>(level.capacity.best().value));
    const std::int64_t block_shared = static_cast<std::int64_t>(level.per_block->value);
    cudaOccDeviceProp device{};
    const std::string cc = machine.architecture.substr(3);
    device.computeMajor = cc[0] - '0';
    device.computeMinor = cc[1] - '0';
    device.maxThreadsPerBlock = static_cast<int>(limits.threads_per_block.get());
    device.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads_per_node.get());
    device.regsPerBlock = static_cast<int>(limits.registers_per_block.get());
    device.regsPerMultiprocessor = static_cast<int>(limits.registers_per_node.get());
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * KiB;
    device.sharedMemPerMultiprocessor = static_cast<std::size_t>(node_shared.value.get());
    device.numSms = static_cast<int>(machine.compute_nodes().get());
    device.sharedMemPerBlockOptin = static_cast<std::size_t>(block_shared);
    device.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.shared_reserved_per_block.get());
    cudaOccDeviceState state{};
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    for (const int threads : {32, 64, 128, 160, 256, 384, 512, 768, 1024}) {
      for (const int registers : {16, 32, 40, 64, 96, 128, 160, 168, 169, 176, 202, 240, 255}) {
        for (const std::int64_t shared :
             {std::int64_t{0}, 4 * KiB, 16 * KiB + 8, 33 * KiB, 48 * KiB, 64 * KiB, block_shared}) {
          cudaOccFuncAttributes function{};
          function.maxThreadsPerBlock = threads;
          function.numRegs = registers;
          function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block_shared);
          function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          cudaOccResult result{};
          const cudaOccError ok = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads,
                                                                          static_cast<std::size_t>(shared));
          REQUIRE(ok == CUDA_OCC_SUCCESS);
          const Occupancy own = occupancy(limits, node_shared, threads, registers, Bytes(shared));
          CAPTURE(gpu);
          CAPTURE(threads);
          CAPTURE(registers);
          CAPTURE(shared);
          CHECK(own.blocks == Count(result.activeBlocksPerMultiprocessor));
        }
      }
    }
  }
}
#else
TEST_CASE("occupancy is the toolkit's own") { MESSAGE("SKIP: no cuda_occupancy.h on this machine"); }
#endif

TEST_CASE("FlashAttention-2's registers are its compiler's, and its authors' own tile spills a few") {
  const auto planned = [](const char* q, const char* x, const char* warps, std::int64_t d) {
    const test::LaidOut question("flash_attention_2", "a100-sxm-80", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", d}},
                                 DType::f16);
    const PlacedDiagram placed =
        question.place({{"q", q}, {"x", x}, {"warps", warps}, {"stages", "1"}, {"q_in", "shared"}});
    return std::pair(plan(placed), spilled_bytes(placed).value.get());
  };
  // ptxas of its authors' build: 180 registers; 255 and some spills (Dao-AILab/flash-attention, issues 340 and 1630).
  const auto [plain, none] = planned("64", "64", "4", 128);
  CHECK(plain.registers_per_thread == Count(180));
  CHECK(plain.blocks_per_sm == Count(2));
  CHECK(plain.limited_by == "registers");
  CHECK(none == 0);
  const auto [spilling, some] = planned("128", "64", "4", 128);
  CHECK(spilling.registers_per_thread == Count(255));
  CHECK(some == 4 * (64 + 128 + 84 - 255));
  CHECK(planned("128", "48", "4", 128).first.registers_per_thread == Count(255));
  CHECK(planned("128", "96", "4", 128).first.registers_per_thread > Count(255));
}

}  // namespace test_plan
