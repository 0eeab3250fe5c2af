// The model's tiles of a packed launch compared one by one with the kernel's own arithmetic; its variant.
#include <doctest/doctest.h>

#include <cstring>

#include "kernels/reference/attention_trial.hpp"
#include "kernels/reference/bundled.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/resource/order.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/packed_layout.hpp"

namespace test_packed_order {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr int rows = 128, keys = 96;
const LaunchDevice h200{132, Bytes(62914560)};
const std::vector<SequenceLengths> batch{{700, 700}, {0, 0},   {1, 3000},  {2500, 2000},
                                         {300, 0},   {0, 900}, {129, 129}, {700, 700}};

/// The launch's arguments, with the sequences' first rows in host memory.
class Launched {
 public:
  explicit Launched(const PlacedDiagram& placed) {
    for (const SequenceLengths& one : batch) {
      q_.push_back(q_.back() + static_cast<int>(one.q));
      x_.push_back(x_.back() + static_cast<int>(one.x));
    }
    AttentionCall call = call_without_arrays(placed, false);
    call.q_starts = reinterpret_cast<std::uint64_t>(q_.data());
    call.x_starts = reinterpret_cast<std::uint64_t>(x_.data());
    const LaunchPlan plan = attention_plan(placed, call, h200);
    AttentionArguments out;
    REQUIRE(plan.arguments.size() == sizeof out);
    std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
    shape = out.shape;
  }
  AttentionShape shape{};

 private:
  std::vector<int> q_{0}, x_{0};
};

template <TileOrder Order, MaskKind Masked>
void hold(const std::string& order, const Mask& mask) {
  CAPTURE(order);
  CAPTURE(text_of(mask));
  const auto laid = test::laid_out_packed("attention_sm90", {{"h", 5}, {"d", 128}}, batch, mask);
  const PlacedDiagram placed = laid->place({{"q", "128"}, {"x", "96"}, {"cluster", "1"}, {"order", order}});
  const Launched launched(placed);
  const BlockSequence sequence(placed);
  const PackedBlocks blocks(placed, sequence);
  REQUIRE(sequence.size() == launched.shape.tiles);
  double begun = 0, iterations = 0;
  std::vector<double> of_part(placed.packed.size(), 0.0);
  for (int i = 0; i < launched.shape.tiles; ++i) {
    const DeviceTile tile = find_tile<rows, keys, 1, Order, Masked, true>(launched.shape, i);
    const int part = blocks.part_of(sequence.at(i));
    CHECK((part < 0) == (tile.q_first >= tile.queries));
    CHECK(sequence.at(i).row == tile.q_first / rows);
    CHECK(sequence.at(i).plane == tile.batch * 5 + tile.head);
    if (part < 0) {
      CHECK(tile.first == tile.last);
      continue;
    }
    const PackedPart& own = placed.packed[static_cast<std::size_t>(part)];
    CHECK(own.problem->sizes[static_cast<std::size_t>(laid->problem.packing.rows)] == Count(tile.queries));
    CHECK(own.blank == (tile.keys == 0));
    begun += 1;
    iterations += tile.last - tile.first;
    of_part[static_cast<std::size_t>(part)] += tile.last - tile.first;
  }
  const Schedule who = schedule(placed);
  CHECK(who.total_blocks == begun);
  CHECK(who.total_iterations == iterations);
  for (std::size_t p = 0; p < of_part.size(); ++p)
    CHECK(of_part[p] == (placed.packed[p].blank ? 0 : schedule(placed.packed[p].placed).total_iterations));
}

}  // namespace

TEST_CASE("each tile of a packed launch: its sequence, whether it has rows, how many chunks it visits") {
  const Mask causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 300, 20};
  hold<TileOrder::grid, MaskKind::none>("grid", {});
  hold<TileOrder::persistent, MaskKind::causal>("persistent", causal);
  hold<TileOrder::longest_first, MaskKind::none>("longest_first", {});
  hold<TileOrder::longest_first, MaskKind::causal>("longest_first", causal);
  hold<TileOrder::longest_first, MaskKind::window>("longest_first", window);
}

TEST_CASE("a packed question's variant is the packed one, its trial has its lengths") {
  for (const char* kernel : {"attention_sm90", "attention_sm80"}) {
    const auto laid = test::laid_out_packed(kernel, {{"h", 2}, {"d", 128}}, batch);
    const PlacedDiagram placed = laid->place({{"x", "64"}});
    CHECK(find_bundled(kernel)->variant(placed, true, h200).expression.find(".packed = true") != std::string::npos);
    const AttentionLayout layout = attention_layout(placed, 1);
    REQUIRE(layout.q_lengths.size() == batch.size());
    CHECK(layout.sizes.q == 2500);
    CHECK(layout.sizes.x == 3000);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CHECK(layout.q_lengths[i] == batch[i].q);
      CHECK(layout.x_lengths[i] == batch[i].x);
    }
  }
  // Rows are numbered by an int on the device.
  const auto large =
      test::laid_out_packed("attention_sm90", {{"h", 2}, {"d", 128}}, {{1, 2000000000}, {1, 2000000000}});
  CHECK_THROWS_WITH_AS((void)attention_layout(large->place({}), 1), doctest::Contains("keys of all sequences"),
                       Overflow);
}

}  // namespace test_packed_order
