// Plans of each bundled kernel are written as bytes, read back, and bound to other memory.
#include <doctest/doctest.h>

#include "kernels/plans/attention_backward.hpp"
#include "kernels/plans/matmul.hpp"
#include "tests/support/layout.hpp"

namespace test_plan_content {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr LaunchDevice h200{132, Bytes(62914560)}, a100{108, Bytes(41943040)};

/// Returns a call with arrays [b, q, h, d] of 512 rows and 4 heads of 64, at addresses from `first` on.
AttentionCall call_at(std::uint64_t first) {
  const auto view = [&](std::uint64_t at) { return TensorView{first + at, 512 * 256, 64, 256}; };
  AttentionCall call;
  call.q = view(0x10000);
  call.k = view(0x20000);
  call.v = view(0x30000);
  call.o = view(0x40000);
  call.log_sum_exp = first + 0x50000;
  call.q_starts = first + 0x60000;
  call.x_starts = first + 0x70000;
  call.q_rows = call.x_rows = 700;
  call.ticket = first + 0x80000;
  call.cycles = first + 0x90000;
  return call;
}

LaunchPlan attention_at(const char* kernel, std::uint64_t first) {
  const bool old = std::string(kernel) == "attention_sm80";
  const LaidOut laid(kernel, old ? "a100-sxm-80" : "h200-sxm", {{"b", 2}, {"h", 4}, {"q", 512}, {"x", 512}, {"d", 64}},
                     DType::bf16);
  const test::Knobs knobs =
      old ? test::Knobs{{"q", "128"}, {"x", "64"}, {"warps", "4"}, {"stages", "1"}}
          : test::Knobs{{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "2"}, {"q_stages", "1"}};
  return attention_plan(laid.place(knobs), call_at(first), old ? a100 : h200);
}

AttentionBackwardCall gradients_at(std::uint64_t first) {
  const AttentionCall forward = call_at(first);
  AttentionBackwardCall call;
  call.q = call.o = call.d_o = call.dq = forward.q;
  call.k = call.v = call.dk = call.dv = forward.k;
  std::uint64_t at = first;
  for (TensorView* view : {&call.q, &call.k, &call.v, &call.o, &call.d_o, &call.dq, &call.dk, &call.dv})
    view->address = at += 0x10000;
  call.log_sum_exp = forward.log_sum_exp;
  call.q_starts = forward.q_starts;
  call.x_starts = forward.x_starts;
  call.q_rows = call.x_rows = 700;
  call.scratch = first + 0x100000;
  call.cycles = forward.cycles;
  return call;
}

/// Returns all three plans as bytes.
std::string content_of_backward(const AttentionBackwardPlans& plans) {
  std::string out;
  for (const LaunchPlan* plan : plans.all()) out += content_of(*plan);
  return out;
}

AttentionBackwardPlans backward_at(std::uint64_t first) {
  const LaidOut laid("attention_backward_sm90", "h200-sxm", {{"b", 2}, {"h", 4}, {"q", 512}, {"x", 512}, {"d", 64}},
                     DType::bf16);
  const test::Knobs knobs{{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}};
  return attention_backward_plans(laid.place(knobs), gradients_at(first));
}

MatmulCall product_at(std::uint64_t first) {
  return {{first + 0x10000, 256}, {first + 0x20000, 512}, {first + 0x30000, 512}, first + 0x40000};
}

LaunchPlan matmul_at(std::uint64_t first) {
  const LaidOut laid("matmul_sm90", "h200-sxm", {{"a", 512}, {"b", 256}, {"c", 512}}, DType::bf16);
  const test::Knobs knobs{{"a", "128"},        {"c", "256"},    {"b", "64"},
                          {"warpgroups", "2"}, {"stages", "3"}, {"cluster", "1"}};
  return matmul_plan(laid.place(knobs), product_at(first), h200);
}

}  // namespace

TEST_CASE("a plan bound to other memory is the plan made with it") {
  constexpr std::uint64_t here = 0x7000000, there = 0x9000000;
  for (const char* kernel : {"attention_sm90", "attention_sm80"}) {
    CAPTURE(kernel);
    LaunchPlan plan = attention_at(kernel, here);
    CHECK(content_of(plan) != content_of(attention_at(kernel, there)));
    bind(plan, call_at(there));
    CHECK(content_of(plan) == content_of(attention_at(kernel, there)));
    AttentionCall crooked = call_at(there);
    crooked.v.address += 8;
    CHECK_THROWS_WITH_AS(bind(plan, crooked),
                         "V: starts at an address that is no multiple of 16 bytes: align it to 16 bytes", Error);
    LaunchPlan of_matmul = matmul_at(here);
    CHECK_THROWS_AS(bind(of_matmul, call_at(here)), Error);
  }
  LaunchPlan plan = matmul_at(here);
  bind(plan, product_at(there));
  CHECK(content_of(plan) == content_of(matmul_at(there)));
  AttentionBackwardPlans plans = backward_at(here);
  std::vector<LaunchPlan> launches{plans.delta, plans.gradients, plans.convert};
  bind_backward(launches, gradients_at(there));
  plans = {launches[0], launches[1], launches[2]};
  CHECK(content_of_backward(plans) == content_of_backward(backward_at(there)));
  CHECK(launches[0].workspace > 0);
  CHECK(launches[0].workspace == launches[2].workspace);
  AttentionBackwardCall bent = gradients_at(there);
  bent.d_o.address += 8;
  CHECK_THROWS_WITH_AS(bind_backward(launches, bent), doctest::Contains("dO: starts at an address"), Error);
  CHECK_THROWS_AS(bind_backward(std::span(&plan, 1), gradients_at(here)), Error);
  MatmulCall crooked = product_at(there);
  crooked.c.address += 8;
  CHECK_THROWS_AS(bind(plan, crooked), Error);
}

TEST_CASE("a plan comes back from its bytes; other bytes are none") {
  const LaunchPlan plan = attention_at("attention_sm90", 0x7000000);
  const std::string content = content_of(plan);
  const auto read = read_plan(content);
  REQUIRE(read);
  CHECK(content_of(*read) == content);
  CHECK(read->boxes.size() == 4);
  CHECK(read->arguments == plan.arguments);
  for (std::size_t length = 0; length < content.size(); ++length)
    CHECK_FALSE(read_plan(std::string_view(content).substr(0, length)));
  CHECK_FALSE(read_plan(content + "0:"));
  for (std::size_t at = 0; at < content.size(); ++at) {  // no changed byte makes the reader leave the bounds
    std::string other = content;
    other[at] = static_cast<char>(other[at] ^ 0x15);
    static_cast<void>(read_plan(other));
  }
}

}  // namespace test_plan_content
