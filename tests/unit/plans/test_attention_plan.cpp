#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "kernels/attention/common/arguments.cuh"
#include "kernels/jit/cache.hpp"
#include "kernels/plans/attention.hpp"
#include "kernels/runtime/run.hpp"
#include "model/resource/resources.hpp"
#include "tests/support/assembly.hpp"
#include "tests/support/compiling.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_plan {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr std::uint64_t at_q = 0x10000, at_k = 0x20000, at_v = 0x30000, at_o = 0x40000;

/// Returns a dense tensor [b, rows, heads, columns].
TensorView dense(std::uint64_t address, std::int64_t rows, std::int64_t heads, std::int64_t columns) {
  return {address, rows * heads * columns, columns, heads * columns};
}

AttentionCall call_of(std::int64_t h, std::int64_t g, std::int64_t q, std::int64_t x, std::int64_t d, std::int64_t dv) {
  AttentionCall call;
  call.q = dense(at_q, q, h * g, d);
  call.k = dense(at_k, x, h, d);
  call.v = dense(at_v, x, h, dv);
  call.o = dense(at_o, q, h * g, dv);
  call.log_sum_exp = 0x50000;
  call.ticket = 0x60000;
  return call;
}

AttentionArguments arguments_of(const LaunchPlan& plan) {
  AttentionArguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out;
}

constexpr LaunchDevice h200{132, Bytes(62914560)};
const test::Shape shape{{"b", 4}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};
const test::Knobs tile{{"q", "128"},    {"x", "128"},      {"warpgroups", "2"},
                       {"stages", "2"}, {"q_stages", "1"}, {"order", "persistent"}};

int divided(int n, const Divisor& by) {  // divides as tiles.cuh does
  if (by.value == 1) return n;
  return static_cast<int>(static_cast<std::uint64_t>(n) * by.multiplier >> 32 >> by.shift);
}

}  // namespace

TEST_CASE("the plan of one launch, worked out by hand") {
  const LaidOut laid("attention_sm90", "h200-sxm", shape, DType::bf16);
  const LaunchPlan plan = attention_sm90_plan(laid.place(tile), call_of(16, 1, 4096, 4096, 128, 128), h200);
  CHECK(plan.source == "kernels/attention/sm90/attention_sm90.cuh");
  CHECK(plan.architecture == "sm_90a");
  CHECK(plan.grid == 132);
  CHECK(plan.threads == 384);
  CHECK(plan.cluster == 1);
  // Q 32 KiB, K and V 2 x 32 KiB each, then the barriers.
  CHECK(plan.expression ==
        "napkin::attention_sm90<napkin::AttentionConfig{.q = 128, .x = 128, .warpgroups = 2, .stages = 2, .q_stages = "
        "1, .overlap = true, .pingpong = true, "
        ".p_shared = false, .rescale_rarely = true, .g = 1, .cluster = 1, .order = napkin::TileOrder::persistent, "
        ".by_columns = false, .d = 128, .dv = 128, .bf16 = true, "
        ".mask = napkin::MaskKind::none, .packed = false, .padded = false, .cycles = false, .dump = false, .q_offset = "
        "0, .k_offset = "
        "32768, "
        ".v_offset = 98304, .p_offset = 0, .barriers_offset = 163840, .producer_registers = 24, .consumer_registers = "
        "240}>");
  CHECK(plan.shared == 1024 + 163840 + 8 * (2 + 4 * 2 + 11));

  const AttentionArguments a = arguments_of(plan);
  CHECK(a.shape.b == 4);
  CHECK(a.shape.g == 1);
  CHECK(a.shape.q == 4096);
  CHECK(a.shape.x == 4096);
  CHECK(a.shape.tiles == 4 * 16 * 32);
  CHECK(a.shape.q_tiles.value == 32);
  CHECK(a.shape.h.value == 16);
  CHECK(a.shape.groups.value == 1);
  CHECK(a.shape.section.value == 1);  // without a mask
  CHECK(a.shape.section_tiles.value == 32);
  CHECK(a.shape.last_section.value == 1);
  CHECK(a.scale == doctest::Approx(0.08838834764831845));
  CHECK(a.scale_log2 == doctest::Approx(0.08838834764831845 * 1.4426950408889634));
  CHECK(reinterpret_cast<std::uint64_t>(a.o) == at_o);
  CHECK(a.o_row == 2048);
  CHECK(a.o_head == 128);
  CHECK(a.o_batch == 4096 * 2048);
  CHECK(a.cycles == nullptr);
}

TEST_CASE("longest first takes heads whose K and V fit a quarter of the L2, sections of nearly one length") {
  const auto shape_of = [](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    const LaidOut laid("attention_sm90", "h200-sxm", {{"b", b}, {"h", h}, {"q", s}, {"x", s}, {"d", d}}, DType::bf16,
                       {Mask::Kind::causal, 0, 0});
    const PlacedDiagram placed = laid.place({{"q", "128"},
                                             {"x", "80"},
                                             {"warpgroups", "2"},
                                             {"stages", "1"},
                                             {"q_stages", "1"},
                                             {"order", "longest_first"}});
    return arguments_of(attention_sm90_plan(placed, call_of(h, 1, s, s, d, d), h200)).shape;
  };
  const AttentionShape whole = shape_of(4, 16, 4096, 128);  // 2 MiB a head: 15 MiB hold 8, rounded
  CHECK(whole.section.value == 8);
  CHECK(whole.section_tiles.value == 8 * 32);
  CHECK(whole.last_section.value == 8);
  const AttentionShape uneven =
      shape_of(16, 8, 1024, 256);  // 1 MiB a head, 15 of them: 128 = 8 x 15 + 8, and 9 x 13 + 11
  CHECK(uneven.section.value == 13);
  CHECK(uneven.last_section.value == 11);
  CHECK(shape_of(1, 2, 512, 64).section.value == 2);     // a section has no more heads than there are
  CHECK(shape_of(1, 2, 65536, 256).section.value == 1);  // 64 MiB a head
}

TEST_CASE("the boxes of the copy engine") {
  const LaidOut laid("attention_sm90", "h200-sxm", shape, DType::bf16);
  const LaunchPlan plan = attention_sm90_plan(laid.place(tile), call_of(16, 1, 4096, 4096, 128, 128), h200);
  REQUIRE(plan.boxes.size() == 4);
  const TensorBox &q = plan.boxes[0], &k = plan.boxes[1];
  CHECK(q.offset == 0);
  CHECK(k.offset == 128);
  CHECK(q.address == at_q);
  CHECK(q.sizes == std::vector<std::uint64_t>{128, 1, 4096, 16, 4});
  CHECK(q.strides ==
        std::vector<std::uint64_t>{16, 4096, 256, 4096 * 4096});  // one head a group: any stride of the group will do
  CHECK(q.box == std::vector<std::uint32_t>{64, 1, 64, 1, 1});
  CHECK(q.swizzle == 128);
  CHECK(k.sizes == std::vector<std::uint64_t>{128, 4096, 16, 4});
  CHECK(k.strides == std::vector<std::uint64_t>{4096, 256, 4096 * 4096});
  CHECK(k.box == std::vector<std::uint32_t>{64, 128, 1, 1});
  CHECK(plan.boxes[2].address == at_v);
  CHECK(plan.boxes[3].address == at_o);
}

TEST_CASE("grouped heads, d = 96, causal, longest first") {
  const test::Shape grouped{{"b", 1}, {"h", 2}, {"g", 6}, {"q", 1000}, {"x", 1000}, {"d", 96}};
  const LaidOut laid("attention_sm90", "h200-sxm", grouped, DType::f16, {Mask::Kind::causal, 0, 0});
  const PlacedDiagram placed =
      laid.place({{"q", "32"}, {"g", "4"}, {"x", "80"}, {"warpgroups", "2"}, {"order", "longest_first"}});
  const LaunchPlan plan = attention_sm90_plan(placed, call_of(2, 6, 1000, 1000, 96, 96), h200);
  const AttentionArguments a = arguments_of(plan);
  CHECK(a.shape.groups.value == 2);    // ceil(6 / 4)
  CHECK(a.shape.q_tiles.value == 32);  // ceil(1000 / 32)
  CHECK(a.shape.tiles == 2 * 2 * 32);
  CHECK(plan.grid == 128);
  CHECK(reinterpret_cast<std::uint64_t>(a.ticket) == 0x60000);
  const TensorBox& q = plan.boxes[0];
  CHECK(q.sizes == std::vector<std::uint64_t>{96, 6, 1000, 2, 1});
  CHECK(q.strides == std::vector<std::uint64_t>{192, 12 * 192, 6 * 192, 16});
  CHECK(q.box == std::vector<std::uint32_t>{32, 4, 16, 1, 1});  // 96 = 3 spans of 32
  CHECK(q.swizzle == 64);
  CHECK(plan.expression.find(".bf16 = false, .mask = napkin::MaskKind::causal") != std::string::npos);
}

TEST_CASE("packed sequences: one batch of all rows") {
  const test::Shape packed{{"b", 3}, {"h", 4}, {"q", 100}, {"x", 300}, {"d", 64}};
  const LaidOut laid("attention_sm90", "h200-sxm", packed, DType::bf16, {Mask::Kind::window, 1 << 30, 5});
  AttentionCall call = call_of(4, 1, 100, 300, 64, 64);
  call.q_starts = 0x70000;
  CHECK_THROWS_AS((void)attention_sm90_plan(laid.place(tile), call, h200), Error);
  call.x_starts = 0x70100;
  call.q_rows = 150;
  call.x_rows = 400;
  const LaunchPlan plan = attention_sm90_plan(laid.place(tile), call, h200);
  CHECK(plan.boxes[0].sizes == std::vector<std::uint64_t>{64, 1, 150, 4, 1});
  CHECK(plan.boxes[1].sizes == std::vector<std::uint64_t>{64, 400, 4, 1});
  CHECK(plan.grid == 12);
  const AttentionArguments a = arguments_of(plan);
  CHECK(a.shape.b == 3);
  CHECK(a.shape.left == 400);  // the window reaches no further than the rows and columns
  CHECK(a.shape.right == 5);
}

TEST_CASE("what the kernel does not take is refused by name") {
  const LaidOut laid("attention_sm90", "h200-sxm", shape, DType::bf16);
  AttentionCall call = call_of(16, 1, 4096, 4096, 128, 128);
  call.k.address = at_k + 2;
  CHECK_THROWS_WITH_AS((void)attention_sm90_plan(laid.place(tile), call, h200),
                       "K: starts at an address that is no multiple of 16 bytes: align it to 16 bytes", Error);
  call = call_of(16, 1, 4096, 4096, 128, 128);
  call.v.row += 4;
  CHECK_THROWS_AS((void)attention_sm90_plan(laid.place(tile), call, h200), Error);
  call = call_of(16, 1, 4096, 4096, 128, 128);
  CHECK_THROWS_AS((void)attention_sm90_plan(laid.place({{"q", "64"}, {"warpgroups", "2"}}), call, h200), Error);
  CHECK_THROWS_WITH_AS(
      (void)attention_sm90_plan(laid.place({{"q", "128"}, {"x", "256"}}), call, h200),
      "attention_sm90: a block needs 328888 bytes of shared memory, more than there are: smaller tiles or fewer copies",
      Error);
  call.scale = -1;
  CHECK_THROWS_AS((void)attention_sm90_plan(laid.place(tile), call, h200), Error);
  call = call_of(16, 1, 4096, 4096, 128, 128);
  call.ticket = 0;
  CHECK_THROWS_AS((void)attention_sm90_plan(laid.place({{"q", "128"}, {"order", "longest_first"}}), call, h200), Error);
}

TEST_CASE("divisors divide") {
  for (const int by : {1, 2, 3, 5, 7, 31, 32, 33, 1000, 65535, 65536, 1 << 30, (1 << 30) + 1, 2147483647}) {
    const Divisor divisor_of = divisor(by);
    for (const std::int64_t n :
         {0L, 1L, 6L, 7L, 1023L, 123456789L, by - 1L, 1L * by, by + 1L, 2L * by - 1, 2147483647L}) {
      if (n <= 2147483647) CHECK(divided(static_cast<int>(n), divisor_of) == n / by);
    }
  }
  CHECK_THROWS_AS((void)divisor(0), Overflow);
}

TEST_CASE("the structs as the device lays them out") {
  CHECK(sizeof(Divisor) == 12);
  CHECK(sizeof(TensorMap) == 128);
  CHECK(alignof(AttentionArguments) == 64);
  CHECK(offsetof(AttentionArguments, shape) == 512);
  CHECK(offsetof(AttentionArguments, o) == 640);
}

TEST_CASE("the machine's part of a launch comes from its profile") {
  const LaunchDevice device = launch_device(load_machine("h200-sxm", "gpu"));
  CHECK(device.sms == 132);
  CHECK(device.l2 == Bytes(62914560));
}

// Slow without a cache of compiled kernels: some seconds a variant.
TEST_CASE("variants compile without spills and without serialised instructions" * doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  struct Variant {
    std::int64_t d;
    test::Knobs tile;
    Mask mask;
  };
  const std::vector<Variant> variants{
      {128, {{"q", "128"}, {"x", "176"}, {"warpgroups", "2"}}, {}},
      {128, {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"order", "longest_first"}}, {Mask::Kind::causal, 0, 0}},
      {64, {{"q", "192"}, {"x", "128"}, {"warpgroups", "3"}}, {}},
      {64, {{"q", "128"}, {"x", "112"}, {"warpgroups", "2"}}, {Mask::Kind::window, 100, 0}},
      {64, {{"q", "64"}, {"x", "128"}, {"warpgroups", "1"}, {"pingpong", "off"}}, {}},
      // The longest rings of buffers: the producer has 24 registers for any length.
      {64,
       {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "1"}, {"order", "longest_first"}},
       {Mask::Kind::causal, 0, 0}},
      {64,
       {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "3"}, {"order", "persistent"}},
       {Mask::Kind::causal, 0, 0}},
      // Registers at the limit, with the mask that needs the most.
      {64, {{"q", "192"}, {"x", "128"}, {"warpgroups", "3"}}, {Mask::Kind::window, 100, 0}},
      {256, {{"q", "128"}, {"x", "80"}, {"warpgroups", "2"}, {"pingpong", "off"}}, {}},
      {96, {{"q", "16"}, {"g", "8"}, {"x", "128"}, {"warpgroups", "2"}, {"overlap", "off"}}, {}},
  };
  for (const Variant& variant : variants) {
    const test::Shape sizes{{"h", 2}, {"g", 8}, {"q", 1024}, {"x", 1024}, {"d", variant.d}};
    const LaidOut laid("attention_sm90", "h200-sxm", sizes, DType::bf16, variant.mask);
    test::Knobs knobs = variant.tile;
    knobs.emplace_back("q_stages", "1");
    const PlacedDiagram placed = laid.place(knobs);
    const LaunchPlan launch = attention_sm90_plan(placed, call_of(2, 8, 1024, 1024, variant.d, variant.d), h200);
    CAPTURE(launch.expression);
    const Compilation out = compile(launch, *environment, Objections::report);
    CHECK(out.kernel.report.objection() == "");
    CHECK(out.kernel.report.static_shared == Bytes(0));
    const test::Exponentials exponentials = test::exponentials_of(out.kernel.cubin);
    CHECK(exponentials.steps > 4);
    CHECK(exponentials.sharing == 0);
    // With one consumer the kernel asks for more than its agents' average, and the block has the SM to itself anyway.
    if (launch.threads > 256) CHECK(out.kernel.report.registers == plan(placed).registers_launch.get());
  }
}

TEST_CASE(
    "the assembler's order is the mapping's: without overlap S follows the wait for P V at once; with every chunk's "
    "maximum that wait comes first" *
    doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  const LaidOut laid("attention_sm90", "h200-sxm", shape, DType::bf16);
  const auto placed_with = [&](const char* overlap, const char* rescale) {
    return laid.place(
        {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "2"}, {"overlap", overlap}, {"rescale", rescale}});
  };
  const auto image = [&](const char* overlap, const char* rescale) {
    const LaunchPlan launch =
        attention_sm90_plan(placed_with(overlap, rescale), call_of(16, 1, 4096, 4096, 128, 128), h200);
    return compile(launch, *environment, Objections::report).kernel.cubin;
  };
  const auto waits = [&](const char* overlap, const char* rescale) { return test::waits_of(image(overlap, rescale)); };
  const PlacedDiagram placed = placed_with("off", "rarely");
  // the mapping's count for one of eight warps
  const auto counted = [&](std::size_t operation, const std::string& name) {
    for (const PlacedWork& work : placed.operations[operation].work) {
      if (work.mapping->name == name) return work.amount / (8 * 32);
    }
    return 0.0;
  };
  for (const char* rescale : {"rarely", "always"})
    CHECK(std::abs(waits("off", rescale).until_product - counted(0, "issue")) <= 1);
  // All 64 exponentials of a thread are between the waits for S and for P V, or none.
  CHECK(waits("on", "rarely").exponentials >= 64);
  CHECK(waits("on", "always").exponentials == 0);

  // S, then in the loop O and the next S, then the last O: 8 products each.
  const std::vector<test::Batch> batches = test::batches_of(image("off", "rarely"));
  REQUIRE(batches.size() == 4);
  for (const test::Batch& batch : batches) CHECK(batch.products == 8);
  CHECK(batches[1].between == doctest::Approx(counted(0, "products")).epsilon(0.2));
  CHECK(batches[2].between == doctest::Approx(counted(1, "issue")).epsilon(0.2));
}

}  // namespace test_attention_plan
