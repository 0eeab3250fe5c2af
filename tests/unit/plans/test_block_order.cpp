// The model's order of blocks is the one that the kernels' own code computes, run on the CPU.
#include <doctest/doctest.h>

#include <cstring>

#include "kernels/plans/attention.hpp"
#include "kernels/plans/matmul.hpp"
#include "model/resource/order.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/layout.hpp"

namespace test_block_order {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

const LaunchDevice h200{132, Bytes(62914560)};

AttentionShape launched(const PlacedDiagram& placed, std::int64_t h, std::int64_t s, std::int64_t d) {
  AttentionCall call;
  call.q = call.k = call.v = call.o = TensorView{4096, h * s * d, d, h * d};
  call.ticket = 4096;
  const LaunchPlan plan = attention_plan(placed, call, h200);
  AttentionSm80Arguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out.shape;
}

template <TileOrder Order, MaskKind Mask>
void check_attention(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  napkin::Mask mask;
  if (Mask == MaskKind::causal) mask.kind = napkin::Mask::Kind::causal;
  const LaidOut laid("attention_sm80", "h200-sxm", {{"b", b}, {"h", h}, {"q", s}, {"x", s}, {"d", d}}, DType::bf16,
                     mask);
  const std::string order = Order == TileOrder::grid ? "grid" : "longest_first";
  const PlacedDiagram placed =
      laid.place({{"q", "128"}, {"x", "64"}, {"warps", "8"}, {"stages", "1"}, {"order", order}});
  const AttentionShape shape = launched(placed, h, s, d);
  const BlockSequence sequence(placed);
  REQUIRE(sequence.size() == shape.tiles);
  for (int i = 0; i < shape.tiles; ++i) {
    for (const DeviceTile& tile : {find_tile<128, 64, 1, Order, Mask, false>(shape, i),
                                   find_tile<128, 64, 1, TileOrder::told, Mask, false>(shape, i)})
      CHECK(sequence.at(i) == BlockPlace{tile.q_first / 128, tile.batch * h + tile.head});
  }
}

template <MatmulOrder Order>
void check_matmul(const std::string& order, std::int64_t a, std::int64_t c, const std::string& cluster) {
  const LaidOut laid("matmul_sm90", "h200-sxm", {{"a", a}, {"b", 512}, {"c", c}}, DType::bf16);
  const PlacedDiagram placed = laid.place({{"a", "128"},
                                           {"c", "256"},
                                           {"b", "64"},
                                           {"warpgroups", "2"},
                                           {"stages", "3"},
                                           {"cluster", cluster},
                                           {"order", order}});
  MatmulCall call;
  call.a = {4096, 512};
  call.b = call.c = {4096, c};
  const LaunchPlan plan = matmul_plan(placed, call, h200);
  MatmulArguments arguments;
  REQUIRE(plan.arguments.size() == sizeof arguments);
  std::memcpy(static_cast<void*>(&arguments), plan.arguments.data(), sizeof arguments);
  const BlockSequence sequence(placed);
  const std::int64_t blocks = std::stoll(cluster);
  REQUIRE(sequence.size() == blocks * arguments.shape.tiles);
  for (int i = 0; i < arguments.shape.tiles; ++i) {
    const Place at = find_place<Order>(arguments.shape, i);
    for (std::int64_t rank = 0; rank < blocks; ++rank)
      CHECK(sequence.at(i * blocks + rank) == BlockPlace{at.row * blocks + rank, at.column});
  }
}

}  // namespace

TEST_CASE("attention's tiles come in the order that the model acts out, sections of longest_first among them") {
  for (const std::int64_t h : {1, 3, 16, 40}) {
    CAPTURE(h);
    check_attention<TileOrder::grid, MaskKind::none>(2, h, 1000, 64);
    check_attention<TileOrder::grid, MaskKind::causal>(2, h, 1000, 64);
    check_attention<TileOrder::longest_first, MaskKind::none>(1, h, 4096, 128);
    check_attention<TileOrder::longest_first, MaskKind::causal>(1, h, 4096, 128);
    check_attention<TileOrder::longest_first, MaskKind::causal>(2, h, 2048, 256);
  }
}

namespace {
struct Sides {
  std::int64_t a, c;
};
}  // namespace

TEST_CASE("so do matmul's, in clusters or not") {
  for (const char* cluster : {"1", "2"}) {
    CAPTURE(cluster);
    for (const Sides& sides : {Sides{1000, 1000}, {4096, 2048}, {300, 8192}, {8192, 512}}) {
      CAPTURE(sides.a);
      check_matmul<MatmulOrder::grid>("grid", sides.a, sides.c, cluster);
      check_matmul<MatmulOrder::grouped>("grouped", sides.a, sides.c, cluster);
      check_matmul<MatmulOrder::hilbert>("hilbert", sides.a, sides.c, cluster);
    }
  }
}

}  // namespace test_block_order
