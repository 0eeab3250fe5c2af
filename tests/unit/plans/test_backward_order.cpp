// The order of the backward pass's blocks of keys under a causal mask: with few heads the longest do not begin last.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <queue>
#include <vector>

#include "kernels/attention/backward/arguments.cuh"
#include "kernels/plans/attention_backward.hpp"
#include "tests/support/layout.hpp"

namespace test_backward_order {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr int sms = 132, rows = 64, keys = 128;

struct Given {
  std::int64_t b, h, g, s, d;
};

/// Returns the launch's shape for causal sequences of s queries and keys.
AttentionBackwardShape launched(const Given& given) {
  const LaidOut laid("attention_backward_sm90", "h200-sxm",
                     {{"b", given.b}, {"h", given.h}, {"g", given.g}, {"q", given.s}, {"x", given.s}, {"d", given.d}},
                     DType::bf16, {Mask::Kind::causal, 0, 0});
  AttentionBackwardCall call;
  const TensorView view{4096, given.h * given.g * given.s * given.d, given.d, given.h * given.g * given.d};
  call.q = call.k = call.v = call.o = call.d_o = call.dq = call.dk = call.dv = view;
  call.log_sum_exp = call.scratch = 4096;
  call.at_once = sms;
  const LaunchPlan plan =
      attention_backward_plans(laid.place({{"q", "64"}, {"x", "128"}, {"warpgroups", "2"}}), call).gradients;
  AttentionBackwardArguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out.shape;
}

/// Returns the time at which the last SM ends over the mean: each takes the next block when it is free. A block of keys
/// walks the tiles of queries that see it, of all query heads of its group.
double unbalanced(const AttentionBackwardShape& shape) {
  std::priority_queue<int, std::vector<int>, std::greater<>> free;
  for (int i = 0; i < sms; ++i) free.push(0);
  int end = 0;
  double work = 0;
  for (int index = 0; index < shape.tiles; ++index) {
    const int number = index % shape.section.value / shape.together.value;
    const int walked = shape.g * (shape.q_grid.value - number * keys / rows);
    const int done = free.top() + walked;
    free.pop();
    free.push(done);
    end = std::max(end, done);
    work += walked;
  }
  return end / (work / sms);
}

}  // namespace

TEST_CASE("gradients under a causal mask: the last SM ends within 2 % of the mean, of grouped heads too") {
  for (const Given& given : {Given{2, 4, 8, 8192, 96}, Given{2, 8, 4, 8192, 128}, Given{2, 16, 1, 8192, 128},
                             Given{1, 16, 1, 16384, 128}, Given{1, 4, 8, 16384, 128}}) {
    CAPTURE(given.h);
    CAPTURE(given.g);
    CAPTURE(given.s);
    const AttentionBackwardShape shape = launched(given);
    CHECK(given.b * given.h % shape.together.value == 0);
    CHECK(unbalanced(shape) <= 1.02);
  }
}

}  // namespace test_backward_order
