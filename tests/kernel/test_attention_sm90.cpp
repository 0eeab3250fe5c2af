// attention_sm90 on the GPU against float64 on the CPU: awkward shapes, masks, strides, packed sequences.
#include <doctest/doctest.h>

#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/gpu.hpp"

namespace test_attention_sm90 {

using namespace napkin;
using namespace napkin::internal;

namespace {

const test::Knobs wide{{"warpgroups", "2"}, {"q", "128"}, {"x", "128"}, {"order", "persistent"}};
const Mask causal{Mask::Kind::causal, 0, 0};

AttentionLayout layout_of(const AttentionSizes& sizes, const Mask& mask = {}, DType type = DType::bf16) {
  AttentionLayout layout;
  layout.sizes = sizes;
  layout.mask = mask;
  layout.type = type;
  return layout;
}

void hold(const AttentionLayout& layout, const test::Knobs& tile, std::int64_t rows = 400) {
  Runtime* runtime = test::gpu("sm_90");
  if (runtime == nullptr) return;
  const test::AttentionProblem problem(*runtime, "h200-sxm", layout, tile);
  CAPTURE(problem.launch().plan().expression);
  CAPTURE(layout.sizes.q);
  CAPTURE(layout.sizes.x);
  CAPTURE(text_of(layout.mask));
  const Comparison c = problem.check(rows);
  CHECK(c.rows > 0);
  CHECK(c.unwritten == 0);
  CHECK(c.strayed == 0);
  CHECK(c.max_error <= 2 * c.reference_error + 1e-5);
  CHECK(c.lse_error <= 1e-3);
}

test::Knobs with(test::Knobs tile, const test::Knobs& more) {
  for (const auto& [name, value] : more) {
    bool known = false;
    for (auto& one : tile) {
      if (one.first == name) {
        one.second = value;
        known = true;
      }
    }
    if (!known) tile.emplace_back(name, value);
  }
  return tile;
}

}  // namespace

TEST_CASE("rows that fill no tile") {
  for (const std::int64_t q : {1, 7, 65, 1000, 4097}) {
    for (const std::int64_t x : {1, 7, 65, 1000, 4097}) hold(layout_of({1, 2, 1, q, x, 128, 128}), wide);
  }
}

TEST_CASE("causal, bottom-right aligned, with rows that see nothing") {
  for (const std::int64_t q : {1, 7, 65, 1000, 4097}) {
    for (const std::int64_t x : {1, 7, 65, 1000, 4097}) {
      hold(layout_of({1, 2, 1, q, x, 64, 64}, causal), with(wide, {{"order", "longest_first"}}));
    }
  }
}

TEST_CASE("windows") {
  for (const auto& [left, right] : {std::pair{0, 0}, {5, 0}, {100, 0}, {0, 30}, {127, 129}, {5000, 5000}}) {
    hold(layout_of({1, 2, 1, 1000, 1000, 128, 128}, {Mask::Kind::window, left, right}), wide);
    hold(layout_of({1, 2, 1, 300, 1000, 128, 128}, {Mask::Kind::window, left, right}), wide);
    hold(layout_of({1, 2, 1, 1000, 300, 128, 128}, {Mask::Kind::window, left, right}), wide);
  }
}

TEST_CASE("head sizes, types and warpgroups") {
  for (const DType type : {DType::bf16, DType::f16}) {
    hold(layout_of({1, 2, 1, 333, 777, 64, 64}, {}, type), with(wide, {{"warpgroups", "3"}, {"q", "192"}}));
    hold(layout_of({1, 2, 1, 333, 777, 96, 96}, causal, type),
         with(wide, {{"warpgroups", "3"}, {"q", "192"}, {"p_in", "shared"}}));
    hold(layout_of({1, 2, 1, 333, 777, 128, 128}, {}, type), with(wide, {{"x", "176"}, {"q_stages", "1"}}));
    hold(layout_of({1, 2, 1, 333, 777, 192, 128}, causal, type), with(wide, {{"x", "96"}}));
    hold(layout_of({1, 2, 1, 333, 777, 256, 256}, {}, type),
         with(wide, {{"x", "80"}, {"q_stages", "1"}, {"pingpong", "off"}}));
    hold(layout_of({1, 2, 1, 333, 777, 64, 64}, {}, type),
         with(wide, {{"warpgroups", "1"}, {"q", "64"}, {"pingpong", "off"}}));
  }
}

TEST_CASE("knobs that change the order of work and not the result") {
  for (const char* overlap : {"on", "off"}) {
    for (const char* pingpong : {"on", "off"}) {
      for (const char* order : {"grid", "persistent", "longest_first"}) {
        hold(layout_of({2, 3, 1, 500, 900, 128, 128}, causal),
             with(wide, {{"overlap", overlap}, {"pingpong", pingpong}, {"order", order}}), 100);
      }
    }
  }
  hold(layout_of({1, 2, 1, 512, 900, 128, 128}), with(wide, {{"cluster", "2"}}));
  hold(layout_of({1, 2, 1, 500, 900, 64, 64}), with(wide, {{"stages", "3"}}));
  hold(layout_of({1, 2, 1, 500, 900, 64, 64}), with(wide, {{"stages", "1"}}));
}

TEST_CASE("query heads that share a key head, packed into a tile and not") {
  hold(layout_of({2, 2, 8, 65, 300, 128, 128}, causal), with(wide, {{"q", "16"}, {"g", "8"}}));
  hold(layout_of({2, 2, 8, 65, 300, 128, 128}, causal), wide);
  hold(layout_of({1, 1, 6, 100, 300, 64, 64}), with(wide, {{"q", "32"}, {"g", "4"}}));
  hold(layout_of({4, 1, 64, 1, 1000, 128, 128}), with(wide, {{"q", "2"}, {"g", "64"}}));
}

TEST_CASE("strided views: nothing between the rows is touched") {
  for (const bool heads_first : {false, true}) {
    AttentionLayout layout = layout_of({2, 3, 2, 200, 300, 128, 128}, causal);
    layout.heads_first = heads_first;
    layout.gap = 24;
    hold(layout, wide);
    hold(layout, with(wide, {{"q", "64"}, {"g", "2"}}));
  }
}

TEST_CASE("packed sequences of different lengths, empty ones among them") {
  for (const Mask& mask : {Mask{}, causal, Mask{Mask::Kind::window, 50, 3}}) {
    AttentionLayout layout = layout_of({5, 2, 1, 300, 500, 128, 128}, mask);
    layout.q_lengths = {100, 0, 300, 1, 129};
    layout.x_lengths = {100, 7, 500, 1, 0};
    hold(layout, wide);
    hold(layout, with(wide, {{"order", "longest_first"}}));
  }
}

TEST_CASE("without the log-sum-exp") {
  AttentionLayout layout = layout_of({1, 2, 1, 200, 300, 128, 128});
  layout.log_sum_exp = false;
  hold(layout, wide);
}

}  // namespace test_attention_sm90
