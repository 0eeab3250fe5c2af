// Launches of matmul_sm90: plans worked out by hand, the order of its tiles run on the CPU, its variants compiled.
#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "kernels/plans/matmul.hpp"
#include "kernels/runtime/run.hpp"
#include "model/resource/resources.hpp"
#include "tests/support/compiling.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/layout.hpp"

namespace test_matmul_plan {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr std::uint64_t at_a = 0x10000, at_b = 0x20000, at_c = 0x30000;
constexpr LaunchDevice h200{132, Bytes(62914560)};
const test::Knobs tile{{"a", "128"},    {"c", "256"},     {"b", "64"},         {"warpgroups", "2"},
                       {"stages", "3"}, {"cluster", "2"}, {"order", "hilbert"}};

test::Shape shape_of(std::int64_t a, std::int64_t b, std::int64_t c) { return {{"a", a}, {"b", b}, {"c", c}}; }

/// Returns a call whose rows begin at multiples of 16 bytes.
MatmulCall call_of(std::int64_t b, std::int64_t c) {
  const auto pitch = [](std::int64_t n) { return (n + 7) / 8 * 8; };
  return {{at_a, pitch(b)}, {at_b, pitch(c)}, {at_c, pitch(c)}, 0};
}

LaunchPlan plan_of(const test::Shape& shape, const test::Knobs& knobs, DType type = DType::bf16) {
  const LaidOut laid("matmul_sm90", "h200-sxm", shape, type);
  return matmul_plan(laid.place(knobs), call_of(shape[1].second, shape[2].second), h200);
}

MatmulArguments arguments_of(const LaunchPlan& plan) {
  MatmulArguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out;
}

test::Knobs with(test::Knobs knobs, const std::string& name, const std::string& value) {
  for (auto& [knob, was] : knobs) {
    if (knob == name) was = value;
  }
  return knobs;
}

template <MatmulOrder Order>
void visits_each_once(const MatmulShape& shape) {
  std::set<std::pair<int, int>> seen;
  for (int i = 0; i < shape.tiles; ++i) {
    const Place at = find_place<Order>(shape, i);
    REQUIRE(at.row >= 0);
    REQUIRE(at.row < shape.rows.value);
    REQUIRE(at.column >= 0);
    REQUIRE(at.column < shape.columns);
    seen.emplace(at.row, at.column);
  }
  CHECK(static_cast<int>(seen.size()) == shape.rows.value * shape.columns);
}

}  // namespace

TEST_CASE("the plan of one product, worked out by hand") {
  const LaunchPlan plan = plan_of(shape_of(8192, 8192, 8192), tile);
  CHECK(plan.source == "kernels/matmul/matmul_sm90.cuh");
  CHECK(plan.architecture == "sm_90a");
  CHECK(plan.grid == 132);
  CHECK(plan.threads == 384);
  CHECK(plan.cluster == 2);
  // A 3 x 16 KiB, B 3 x 32 KiB, two warpgroups' two parts of 64 x 64, then the barriers.
  CHECK(plan.expression ==
        "napkin::matmul_sm90<napkin::MatmulConfig{.a = 128, .c = 256, .b = 64, .warpgroups = 2, .stages = 3, .cluster "
        "= 2, "
        ".order = napkin::MatmulOrder::hilbert, .bf16 = true, .ragged = false, .cycles = false, .a_offset = 0, "
        ".b_offset = 49152, "
        ".c_offset = 147456, .barriers_offset = 180224, .producer_registers = 24, .consumer_registers = 240}>");
  CHECK(plan.shared == 1024 + 180224 + 8 * 2 * 2 * 3);
  const MatmulArguments a = arguments_of(plan);
  CHECK(a.shape.tiles == 32 * 32);
  CHECK(a.shape.chunks == 128);
  CHECK(a.shape.rows.value == 32);
  CHECK(a.shape.columns == 32);
  CHECK(a.shape.side == 32);
  CHECK(a.shape.group.value == 8);  // sqrt(66 clusters x 256 / 256)
  CHECK(a.shape.group_tiles.value == 256);
  CHECK(a.shape.last_group.value == 8);
  CHECK(reinterpret_cast<std::uint64_t>(a.c) == at_c);
  CHECK(a.c_row == 8192);
  CHECK(a.c_rows == 8192);
  CHECK(a.c_columns == 8192);
  CHECK(a.cycles == nullptr);
}

TEST_CASE("the plan of a product in parts, worked out by hand") {
  const LaidOut laid("matmul_sm90", "h200-sxm", shape_of(16, 4000, 4096), DType::bf16);
  const test::Knobs knobs{{"a", "64"},     {"c", "128"},     {"b", "64"},    {"warpgroups", "1"},
                          {"stages", "4"}, {"cluster", "1"}, {"split", "4"}, {"order", "grid"}};
  const PlacedDiagram placed = laid.place(knobs);
  const LaunchScratch scratch = matmul_scratch(placed);
  CHECK(scratch.counters == Count(32 * 4));                    // tiles, warps
  CHECK(scratch.bytes.value == Count(32 * 4 * 64 * 128 * 4));  // tiles, parts, f32
  MatmulCall call = call_of(4000, 4096);
  CHECK_THROWS_WITH_AS(
      (void)matmul_plan(placed, call, h200),
      "kernels/matmul/matmul_sm90.cuh: leaves parts of the result in device memory: sums and counters of "
      "matmul_scratch()",
      Error);
  call.arrived = 0x40000;
  call.sums = 0x50000;
  const LaunchPlan plan = matmul_plan(placed, call, h200);
  CHECK(plan.grid == 128);
  CHECK(plan.counters == scratch.counters);
  CHECK(plan.scratch == scratch.bytes);
  CHECK(
      plan.expression.ends_with(".c_offset = 0, .barriers_offset = 98304, .producer_registers = 56, "
                                ".consumer_registers = 240, .split = true}>"));
  const MatmulArguments a = arguments_of(plan);
  CHECK(a.shape.tiles == 128);
  CHECK(a.shape.chunks == 63);
  CHECK(a.parts.tiles.value == 32);
  CHECK(a.parts.count == 4);
  CHECK(a.parts.chunks == 16);
  CHECK(reinterpret_cast<std::uint64_t>(a.parts.sums) == 0x50000);
  CHECK(reinterpret_cast<std::uint64_t>(a.parts.arrived) == 0x40000);
  CHECK(matmul_scratch(laid.place(with(knobs, "split", "1"))).counters == Count(0));
  CHECK_THROWS_AS((void)matmul_plan(laid.place(with(knobs, "order", "hilbert")), call, h200), Error);
}

TEST_CASE("the boxes of a product of e4m3: pairs, B with its contracted axis inside") {
  const LaidOut laid("matmul_fp8_sm90", "h200-sxm", shape_of(1000, 528, 1001), DType::e4m3);
  const test::Knobs knobs{{"a", "128"},    {"c", "96"},      {"b", "128"},      {"warpgroups", "2"},
                          {"stages", "3"}, {"cluster", "2"}, {"order", "grid"}, {"accumulate", "chunk"}};
  MatmulCall call{{at_a, 528}, {at_b, 528}, {at_c, 1008}, 0};
  const LaunchPlan plan = matmul_plan(laid.place(knobs), call, h200);
  CHECK(plan.source == "kernels/matmul/matmul_fp8_sm90.cuh");
  CHECK(plan.expression.starts_with("napkin::matmul_fp8_sm90<napkin::MatmulConfig{.a = 128, .c = 96, .b = 64,"));
  CHECK(plan.expression.ends_with(".fp8 = true, .merges = true}>"));
  const TensorBox &a = plan.boxes[0], &b = plan.boxes[1], &c = plan.boxes[2];
  CHECK(a.sizes == std::vector<std::uint64_t>{264, 1000});
  CHECK(a.strides == std::vector<std::uint64_t>{528});
  CHECK(a.box == std::vector<std::uint32_t>{64, 128});
  CHECK(b.sizes == std::vector<std::uint64_t>{264, 1001});
  CHECK(b.strides == std::vector<std::uint64_t>{528});
  CHECK(b.box == std::vector<std::uint32_t>{64, 48});  // each block of a cluster loads its share of B's rows
  CHECK(c.strides == std::vector<std::uint64_t>{2016});
  CHECK(arguments_of(plan).shape.chunks == 5);
  call.b.row = 520;
  CHECK_THROWS_WITH_AS((void)matmul_plan(laid.place(knobs), call, h200),
                       "B: has a stride of 520 elements: a multiple of 16 elements", Error);
}

TEST_CASE("the boxes of a product") {
  const LaunchPlan plan = plan_of(shape_of(1000, 520, 1001), tile);
  REQUIRE(plan.boxes.size() == 3);
  const TensorBox &a = plan.boxes[0], &b = plan.boxes[1], &c = plan.boxes[2];
  CHECK(a.offset == 0);
  CHECK(b.offset == 128);
  CHECK(c.offset == 256);
  CHECK(a.address == at_a);
  CHECK(a.sizes == std::vector<std::uint64_t>{520, 1000});
  CHECK(a.strides == std::vector<std::uint64_t>{1040});
  CHECK(a.box == std::vector<std::uint32_t>{64, 128});
  CHECK(a.swizzle == 128);
  CHECK(b.sizes == std::vector<std::uint64_t>{1001, 520});
  CHECK(b.strides == std::vector<std::uint64_t>{2016});
  CHECK(b.box == std::vector<std::uint32_t>{64, 32});  // each block of a cluster loads its share of B's rows
  CHECK(c.sizes == std::vector<std::uint64_t>{1001, 1000});
  CHECK(c.box == std::vector<std::uint32_t>{64, 16});
  CHECK(plan.expression.find(".ragged = true") != std::string::npos);
  CHECK(plan_of(shape_of(1000, 520, 1008), tile).expression.find(".ragged = false") != std::string::npos);
  const TensorBox narrow = plan_of(shape_of(1000, 520, 1008), with(tile, "c", "80")).boxes[1];
  CHECK(narrow.box == std::vector<std::uint32_t>{16, 32});
  CHECK(narrow.swizzle == 32);
}

TEST_CASE("every order visits every tile once") {
  for (const std::int64_t a : {1, 257, 2048, 5000}) {
    for (const std::int64_t c : {8, 1001, 3000}) {
      for (const char* cluster : {"1", "2"}) {
        CAPTURE(a);
        CAPTURE(c);
        const MatmulShape shape =
            arguments_of(plan_of(shape_of(a, 64, c), with(with(tile, "c", "64"), "cluster", cluster))).shape;
        visits_each_once<MatmulOrder::hilbert>(shape);
        visits_each_once<MatmulOrder::grouped>(shape);
        visits_each_once<MatmulOrder::grid>(shape);
      }
    }
  }
}

TEST_CASE("blocks of a product: one a tile, or as many as there are SMs") {
  CHECK(plan_of(shape_of(8192, 64, 8192), with(tile, "order", "grid")).grid == 2 * 32 * 32);
  CHECK(plan_of(shape_of(8192, 64, 8192), with(tile, "cluster", "1")).grid == 132);
  CHECK(plan_of(shape_of(300, 64, 300), tile).grid == 2 * 2 * 2);
}

TEST_CASE("what the product's kernel does not take is refused by name") {
  const LaidOut laid("matmul_sm90", "h200-sxm", shape_of(64, 64, 1001), DType::bf16);
  MatmulCall call = call_of(64, 1001);
  call.b.row = 1001;
  CHECK_THROWS_WITH_AS((void)matmul_plan(laid.place(tile), call, h200),
                       "B: has a stride of 1001 elements: a multiple of 8 elements, below 2^39", Error);
  CHECK_THROWS_WITH_AS((void)plan_of(shape_of(64, 1001, 64), tile),
                       "matmul_sm90: b is 1001: rows of A are copied 16 bytes at a time, and what lies beyond b would "
                       "be multiplied too: a multiple of "
                       "8, the rest zeros",
                       Error);
  CHECK_THROWS_AS((void)plan_of(shape_of(64, 64, 64), with(tile, "a", "64")), Error);
  CHECK_THROWS_AS((void)plan_of(shape_of(64, 64, 64), with(tile, "stages", "8")), Error);
  const LaidOut attention("attention_sm90", "h200-sxm", {{"q", 64}, {"x", 64}, {"d", 64}}, DType::bf16);
  CHECK_THROWS_AS((void)matmul_plan(attention.place({}), call, h200), Error);
}

TEST_CASE("the product's structs as the device lays them out") {
  CHECK(alignof(MatmulArguments) == 64);
  CHECK(offsetof(MatmulArguments, shape) == 384);
  CHECK(offsetof(MatmulArguments, c) == 448);
  CHECK(offsetof(MatmulArguments, c_rows) == 464);
  CHECK(offsetof(MatmulArguments, cycles) == 472);
  CHECK(offsetof(MatmulArguments, parts) == 480);
  CHECK(offsetof(MatmulArguments, a_scale) == 520);
}

// Slow without a cache of compiled kernels: some seconds a variant.
TEST_CASE("products compile without spills and without serialised instructions" * doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  struct Variant {
    std::int64_t c;
    test::Knobs tile;
  };
  const std::vector<Variant> variants{
      {4096, tile},
      {1001, tile},
      {1001,
       {{"a", "256"}, {"c", "128"}, {"warpgroups", "2"}, {"stages", "3"}, {"cluster", "1"}, {"order", "grouped"}}},
      {4096, {{"a", "192"}, {"c", "160"}, {"warpgroups", "3"}, {"stages", "3"}, {"cluster", "2"}, {"order", "grid"}}},
      {1001, {{"a", "64"}, {"c", "80"}, {"b", "32"}, {"warpgroups", "1"}, {"stages", "2"}, {"cluster", "1"}}},
  };
  for (const Variant& variant : variants) {
    const LaunchPlan launch = plan_of(shape_of(4096, 4096, variant.c), variant.tile, DType::f16);
    CAPTURE(launch.expression);
    const Compilation out = compile(launch, *environment, Objections::report);
    CHECK(out.kernel.report.objection() == "");
    CHECK(out.kernel.report.static_shared == Bytes(0));
    if (launch.threads > 256) CHECK(out.kernel.report.registers == 65536 / launch.threads / 8 * 8);
  }
}

}  // namespace test_matmul_plan
