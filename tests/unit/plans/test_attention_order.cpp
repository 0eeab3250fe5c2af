// The order in which blocks take causal tiles leaves no SM alone with a long tile at the end.
#include <doctest/doctest.h>

#include <cstring>
#include <queue>

#include "kernels/plans/attention.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_order {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr int sms = 132, rows = 128, keys = 64;
const LaunchDevice h200{sms, Bytes(62914560)};

/// Returns the launch's arguments for h heads of s causal queries and keys.
AttentionShape launched(std::int64_t h, std::int64_t s, std::int64_t d) {
  const LaidOut laid("attention_sm80", "h200-sxm", {{"h", h}, {"q", s}, {"x", s}, {"d", d}}, DType::bf16,
                     {Mask::Kind::causal, 0, 0});
  AttentionCall call;
  const TensorView view{4096, h * s * d, d, h * d};
  call.q = call.k = call.v = call.o = view;
  call.ticket = 4096;
  const test::Knobs tile{{"q", "128"}, {"x", "64"}, {"warps", "8"}, {"stages", "1"}, {"order", "longest_first"}};
  const LaunchPlan plan = attention_plan(laid.place(tile), call, h200);
  AttentionSm80Arguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out.shape;
}

/// Returns the time at which the last SM ends over the mean: each takes the next tile when it is free, and a chunk
/// takes one unit of time.
double unbalanced(const AttentionShape& shape) {
  std::priority_queue<int, std::vector<int>, std::greater<>> free;
  for (int i = 0; i < sms; ++i) free.push(0);
  int end = 0;
  double work = 0;
  for (int i = 0; i < shape.tiles; ++i) {
    const DeviceTile tile = find_tile<rows, keys, 1, TileOrder::longest_first, MaskKind::causal, false>(shape, i);
    const int done = free.top() + tile.last - tile.first;
    free.pop();
    free.push(done);
    end = std::max(end, done);
    work += tile.last - tile.first;
  }
  return end / (work / sms);
}

}  // namespace

TEST_CASE("longest first: the last SM ends within an eighth of the mean, whatever the number of heads") {
  struct Given {
    std::int64_t h, s, d;
  };
  for (const Given& g : {Given{16, 4096, 128},
                         {17, 4096, 128},
                         {40, 4096, 128},
                         {64, 4096, 128},
                         {32, 4096, 256},
                         {128, 1024, 256},
                         {256, 1024, 128},
                         {16, 16384, 128},
                         {8, 16384, 256},
                         {32, 8192, 128}}) {
    CAPTURE(g.h);
    CAPTURE(g.s);
    CAPTURE(g.d);
    CHECK(unbalanced(launched(g.h, g.s, g.d)) <= 1.125);
  }
}

}  // namespace test_attention_order
