// Launches of attention_sm80: plans worked out by hand, the tiles that it visits compared with the model's, its
// variants compiled.
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <tuple>

#include "kernels/attention/sm80/arguments_sm80.cuh"
#include "kernels/plans/attention.hpp"
#include "kernels/runtime/run.hpp"
#include "model/resource/plan.hpp"
#include "tests/support/compiling.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_sm80_plan {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr std::uint64_t at_q = 0x10000, at_k = 0x20000, at_v = 0x30000, at_o = 0x40000, at_lse = 0x50000;
constexpr LaunchDevice a100{108, Bytes(41943040)};
const Mask causal{Mask::Kind::causal, 0, 0};
const test::Knobs tile{{"q", "128"}, {"x", "64"}, {"warps", "4"}, {"stages", "1"}};

AttentionCall call_of(std::int64_t h, std::int64_t g, std::int64_t q, std::int64_t x, std::int64_t d, std::int64_t dv) {
  const auto dense = [](std::uint64_t address, std::int64_t rows, std::int64_t heads, std::int64_t columns) {
    return TensorView{address, rows * heads * columns, columns, heads * columns};
  };
  AttentionCall call;
  call.q = dense(at_q, q, h * g, d);
  call.k = dense(at_k, x, h, d);
  call.v = dense(at_v, x, h, dv);
  call.o = dense(at_o, q, h * g, dv);
  call.log_sum_exp = at_lse;
  return call;
}

AttentionSm80Arguments arguments_of(const LaunchPlan& plan) {
  AttentionSm80Arguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out;
}

/// Counts the chunks visited by all tiles of the launch; each tile must occur once.
template <MaskKind Kind>
std::int64_t chunks_visited(const AttentionShape& shape) {
  std::set<std::tuple<int, int, int, int>> seen;
  std::int64_t chunks = 0;
  for (int i = 0; i < shape.tiles; ++i) {
    const DeviceTile at = find_tile<64, 48, 1, TileOrder::told, Kind, false>(shape, i);
    CHECK(at.q_first < shape.q);
    seen.emplace(at.batch, at.head, at.packed_head, at.q_first);
    chunks += at.last - at.first;
  }
  CHECK(static_cast<int>(seen.size()) == shape.tiles);
  return chunks;
}

}  // namespace

TEST_CASE("the plan of one launch on Ampere, worked out by hand") {
  const test::Shape shape{{"b", 2}, {"h", 4}, {"g", 2}, {"q", 1000}, {"x", 3000}, {"d", 128}};
  const LaidOut laid("attention_sm80", "a100-sxm-80", shape, DType::bf16, causal);
  const PlacedDiagram placed = laid.place(tile);
  const LaunchPlan launch = attention_sm80_plan(placed, call_of(4, 2, 1000, 3000, 128, 128), a100);
  CHECK(launch.source == "kernels/attention/sm80/attention_sm80.cuh");
  CHECK(launch.architecture == "sm_80");
  CHECK(launch.grid == 2 * 4 * 2 * 8);
  CHECK(launch.threads == 128);
  CHECK(launch.cluster == 1);
  CHECK(launch.boxes.empty());
  CHECK(launch.shared == (128 + 64 + 64) * 128 * 2);
  CHECK(launch.expression ==
        "napkin::attention_sm80<napkin::AttentionSm80Config{.q = 128, .x = 64, .warps = 4, .stages = 1, .q_registers = "
        "false, .swizzle = true, "
        ".rescale_rarely = true, .d = 128, .dv = 128, .bf16 = true, .mask = napkin::MaskKind::causal, "
        ".packed = false, .padded = false, .cycles = false, .dump = false, .q_offset = 0, .k_offset = 32768, .v_offset "
        "= 49152, "
        ".o_offset = 0, .blocks = " +
            std::to_string(plan(placed).blocks_per_sm.get()) + "}>");
  const AttentionSm80Arguments a = arguments_of(launch);
  CHECK(reinterpret_cast<std::uint64_t>(a.q) == at_q);
  CHECK(reinterpret_cast<std::uint64_t>(a.k) == at_k);
  CHECK(reinterpret_cast<std::uint64_t>(a.v) == at_v);
  CHECK(reinterpret_cast<std::uint64_t>(a.o) == at_o);
  CHECK(reinterpret_cast<std::uint64_t>(a.lse) == at_lse);
  CHECK(a.q_strides.row == 8 * 128);
  CHECK(a.q_strides.head == 128);
  CHECK(a.q_strides.batch == 1000 * 8 * 128);
  CHECK(a.k_strides.row == 4 * 128);
  CHECK(a.k_strides.batch == 3000 * 4 * 128);
  CHECK(a.shape.groups.value == 2);
  CHECK(a.shape.h.value == 4);
  CHECK(a.shape.q_tiles.value == 8);
  CHECK(a.scale == doctest::Approx(0.08838834764831845));
  CHECK(a.cycles == nullptr);
}

TEST_CASE("Q in registers shares V's place, and O too") {
  const LaidOut laid("attention_sm80", "a100-sxm-80", {{"q", 512}, {"x", 512}, {"d", 64}}, DType::f16);
  const LaunchPlan launch =
      attention_sm80_plan(laid.place({{"q", "64"}, {"x", "64"}, {"stages", "2"}, {"q_in", "registers"}}),
                          call_of(1, 1, 512, 512, 64, 64), a100);
  CHECK(launch.shared == 2 * 2 * 64 * 64 * 2);
  CHECK(launch.expression.find(".q_registers = true") != std::string::npos);
  CHECK(launch.expression.find(".q_offset = 16384, .k_offset = 0, .v_offset = 16384, .o_offset = 16384") !=
        std::string::npos);
}

TEST_CASE("the architecture is the machine's") {
  const LaidOut laid("attention_sm80", "h200-sxm", {{"q", 512}, {"x", 512}, {"d", 64}}, DType::f16);
  CHECK(attention_sm80_plan(laid.place(tile), call_of(1, 1, 512, 512, 64, 64), a100).architecture == "sm_90");
}

TEST_CASE("packed sequences on Ampere have no batch") {
  const LaidOut laid("attention_sm80", "a100-sxm-80", {{"b", 3}, {"h", 4}, {"q", 100}, {"x", 300}, {"d", 64}},
                     DType::bf16);
  AttentionCall call = call_of(4, 1, 100, 300, 64, 64);
  call.q_starts = 0x70000;
  CHECK_THROWS_AS((void)attention_sm80_plan(laid.place(tile), call, a100), Error);
  call.x_starts = 0x70100;
  call.q_rows = 150;
  call.x_rows = 400;
  const LaunchPlan launch = attention_sm80_plan(laid.place(tile), call, a100);
  const AttentionSm80Arguments a = arguments_of(launch);
  CHECK(a.q_strides.batch == 0);
  CHECK(a.shape.b == 3);
  CHECK(reinterpret_cast<std::uint64_t>(a.shape.x_starts) == 0x70100);
  CHECK(launch.expression.find(".packed = true") != std::string::npos);
}

TEST_CASE("what the Ampere kernel does not take is refused by name") {
  const LaidOut laid("attention_sm80", "a100-sxm-80", {{"h", 2}, {"q", 512}, {"x", 512}, {"d", 64}}, DType::bf16);
  AttentionCall call = call_of(2, 1, 512, 512, 64, 64);
  call.k.address += 8;
  CHECK_THROWS_WITH_AS((void)attention_sm80_plan(laid.place(tile), call, a100),
                       "K: starts at an address that is no multiple of 16 bytes: align it to 16 bytes", Error);
  call = call_of(2, 1, 512, 512, 64, 64);
  call.v.row = 132;
  CHECK_THROWS_WITH_AS((void)attention_sm80_plan(laid.place(tile), call, a100),
                       "V: has a stride of 132 elements: a multiple of 8 elements", Error);
  call = call_of(2, 1, 512, 512, 64, 64);
  CHECK_THROWS_AS((void)attention_sm80_plan(laid.place({{"q", "32"}, {"warps", "4"}}), call, a100), Error);
  CHECK_THROWS_AS((void)attention_sm80_plan(laid.place({{"x", "256"}, {"stages", "3"}}), call, a100), Error);
}

TEST_CASE("the kernel visits the chunks that the model counts, each tile once") {
  for (const Mask& mask : {Mask{}, causal, Mask{Mask::Kind::window, 100, 30}}) {
    for (const auto& sizes : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 7}, {65, 1000}, {1000, 65}, {1000, 1000}, {130, 4097}}) {
      const std::int64_t q = sizes.first, x = sizes.second;
      const LaidOut laid("attention_sm80", "a100-sxm-80", {{"b", 2}, {"h", 3}, {"g", 2}, {"q", q}, {"x", x}, {"d", 64}},
                         DType::bf16, mask);
      CAPTURE(q);
      CAPTURE(x);
      CAPTURE(text_of(mask));
      for (const char* order : {"grid", "longest_first"}) {
        const PlacedDiagram placed = laid.place({{"q", "64"}, {"x", "48"}, {"warps", "4"}, {"order", order}});
        const AttentionShape shape =
            arguments_of(attention_sm80_plan(placed, call_of(3, 2, q, x, 64, 64), LaunchDevice{108, Bytes(1 << 20)}))
                .shape;
        const auto visited = [&] {
          if (mask.kind == Mask::Kind::none) return chunks_visited<MaskKind::none>(shape);
          if (mask.kind == Mask::Kind::causal) return chunks_visited<MaskKind::causal>(shape);
          return chunks_visited<MaskKind::window>(shape);
        };
        std::int64_t expected = (placed.walk.total.chunks * Count(2 * 3 * 2)).get();
        if (mask.kind == Mask::Kind::none)
          expected *= shape.q_tiles.value;  // without a mask every group walks the same way
        CHECK(visited() == expected);
      }
    }
  }
}

TEST_CASE("the Ampere structs as the device lays them out") {
  CHECK(offsetof(AttentionSm80Arguments, q_strides) == 32);
  CHECK(offsetof(AttentionSm80Arguments, shape) == 128);
  CHECK(offsetof(AttentionSm80Arguments, lse) == 256);
  CHECK(offsetof(AttentionSm80Arguments, cycles) == 272);
}

// Slow without a cache of compiled kernels: some seconds a variant.
TEST_CASE("Ampere variants compile without spills" * doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  struct Variant {
    std::int64_t d;
    test::Knobs tile;
    Mask mask;
  };
  const std::vector<Variant> variants{
      {128, {{"q", "128"}, {"x", "64"}, {"warps", "8"}}, {}},
      {64, {{"q", "128"}, {"x", "64"}, {"warps", "4"}, {"stages", "2"}}, causal},
      {64, {{"q", "64"}, {"x", "64"}, {"warps", "4"}, {"q_in", "registers"}, {"order", "longest_first"}}, causal},
      {96,
       {{"q", "64"}, {"x", "48"}, {"warps", "4"}, {"swizzle", "off"}, {"rescale", "always"}},
       {Mask::Kind::window, 100, 0}},
      {64, {{"q", "96"}, {"x", "32"}, {"warps", "2"}, {"swizzle", "off"}, {"rescale", "always"}}, causal},
      {128, {{"q", "128"}, {"x", "64"}, {"warps", "4"}}, causal},
      {256, {{"q", "64"}, {"x", "32"}, {"warps", "4"}}, {}},
  };
  for (const Variant& variant : variants) {
    const LaidOut laid("attention_sm80", "a100-sxm-80",
                       {{"h", 2}, {"g", 8}, {"q", 1024}, {"x", 1024}, {"d", variant.d}}, DType::bf16, variant.mask);
    const PlacedDiagram placed = laid.place(variant.tile);
    const LaunchPlan launch = attention_sm80_plan(placed, call_of(2, 8, 1024, 1024, variant.d, variant.d), a100);
    CAPTURE(launch.expression);
    const Compilation out = compile(launch, *environment, Objections::report);
    CHECK(out.kernel.report.objection() == "");
    CHECK(out.kernel.report.static_shared == Bytes(0));
    // As many blocks fit an SM as the plan assumes.
    CHECK(occupancy(placed, out.kernel.report.registers, Bytes(launch.shared)).blocks >= plan(placed).blocks_per_sm);
  }
}

}  // namespace test_attention_sm80_plan
