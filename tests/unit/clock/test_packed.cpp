// The assignment of packed sequences to nodes, compared with a simple simulation of the kernel's grid; batches of one
// length; bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/clock/launch/launch.hpp"
#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/time_model.hpp"
#include "model/resource/order.hpp"
#include "model/resource/plan.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/packed_layout.hpp"
#include "tests/support/predicted_time.hpp"

namespace test_packed {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

constexpr Mask causal{Mask::Kind::causal, 0, 0};
constexpr std::int64_t rows_a_tile = 128, chunk = 128, h = 4, nodes = 132;
constexpr std::int64_t head_bytes = 2 * (128 + 128);  // bytes of a key: K and V

Knobs tile_of(const std::string& order) { return {{"q", "128"}, {"x", "128"}, {"order", order}, {"cluster", "1"}}; }

std::int64_t tiles_of(std::int64_t queries) { return (queries + rows_a_tile - 1) / rows_a_tile; }

/// Counts the chunks that some row of a sequence's tile sees, pair by pair.
int chunks_seen(const SequenceLengths& one, std::int64_t row, bool masked) {
  int seen = 0;
  for (std::int64_t first = 0; first < one.x; first += chunk) {
    bool any = false;
    for (std::int64_t i = row * rows_a_tile; i < std::min((row + 1) * rows_a_tile, one.q) && !any; ++i) {
      for (std::int64_t j = first; j < std::min(first + chunk, one.x) && !any; ++j)
        any = !masked || j <= i + one.x - one.q;
    }
    seen += any ? 1 : 0;
  }
  return seen;
}

/// The sequence and tile of the launch's tile of a number, by the lines of kernels/attention/common/tiles.cuh.
struct Place {
  std::int64_t sequence, row;
};
Place place_of(std::int64_t number, std::int64_t planes, std::int64_t most, std::int64_t section,
               const std::string& order) {
  if (order != "longest_first") return {number / most / h, number % most};
  const std::int64_t first = number / (section * most) * section, wide = std::min(section, planes - first),
                     within = number - first * most;
  return {(first + within % wide) / h, most - 1 - within / wide};
}

/// The tiles of one sequence: their iterations; clocks of one beyond these, and of a node's first one beyond that.
struct TileClocks {
  std::vector<int> iterations;
  double own = 0, start = 0;
};

/// The busiest node's clocks, tile by tile of the launch.
class Twin {
 public:
  Twin(const std::vector<SequenceLengths>& batch, bool masked, const std::string& order)
      : batch_(batch), masked_(masked), order_(order) {
    std::int64_t longest = 0, keys = 0;
    for (const SequenceLengths& one : batch) {
      longest = std::max(longest, one.q);
      keys = std::max(keys, one.x);
    }
    most_ = tiles_of(longest);
    planes_ = static_cast<std::int64_t>(batch.size()) * h;
    section_ = section_planes(Count(planes_), Count(keys * head_bytes), Bytes(Count(60 << 20)), masked).get();
  }

  double run(const EventGraph& graph, const Period& period) {
    const double empty = order_ == "grid" ? 230 : order_ == "persistent" ? 0 : 279 + 190;
    std::vector<double> busy(nodes, 0.0);
    std::vector<bool> begun(nodes, false);
    for (std::int64_t i = 0; i < planes_ * most_; ++i) {
      const auto node = order_ == "persistent" ? i % nodes : std::min_element(busy.begin(), busy.end()) - busy.begin();
      const auto [sequence, row] = place_of(i, planes_, most_, section_, order_);
      const SequenceLengths& one = batch_[static_cast<std::size_t>(sequence)];
      if (row >= tiles_of(one.q)) {
        busy[static_cast<std::size_t>(node)] += empty;
        continue;
      }
      const TileClocks& clocks = clocks_of(one, graph, period);
      busy[static_cast<std::size_t>(node)] += clocks.iterations[static_cast<std::size_t>(row)] * period.clocks +
                                              clocks.own + (begun[static_cast<std::size_t>(node)] ? 0 : clocks.start);
      begun[static_cast<std::size_t>(node)] = true;
    }
    return *std::max_element(busy.begin(), busy.end());
  }

 private:
  /// Returns the clocks of a tile of the mean length of its sequence's tiles; an iteration more or less changes them by
  /// the period.
  const TileClocks& clocks_of(const SequenceLengths& one, const EventGraph& graph, const Period& period) {
    const auto [known, added] = known_.emplace(std::pair(one.q, one.x), TileClocks{});
    if (!added) return known->second;
    const std::int64_t keys = std::max<std::int64_t>(one.x, 1), tiles = tiles_of(one.q);
    const LaidOut alone("attention_sm90", "h200-sxm", {{"h", 1}, {"q", one.q}, {"x", keys}, {"d", 128}}, DType::bf16,
                        masked_ ? causal : Mask{});
    double mean = 0;
    for (std::int64_t row = 0; row < tiles; ++row) {
      mean += chunks_seen({one.q, keys}, row, masked_) / static_cast<double>(tiles);
      known->second.iterations.push_back(chunks_seen(one, row, masked_));
    }
    BlockClocks block = block_clocks(graph, period, mean, cut_chunks(alone.place(tile_of(order_))));
    block.first += 680;
    const double next = order_ == "grid" ? block.first + 450 : block.next;
    known->second.own = next - mean * period.clocks;
    if (one.x == 0) known->second.own = std::max(known->second.own, 0.0);
    known->second.start = block.first - next;
    return known->second;
  }

  const std::vector<SequenceLengths>& batch_;
  bool masked_;
  std::string order_;
  std::int64_t most_ = 1, planes_ = 1, section_ = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, TileClocks> known_;
};

std::vector<SequenceLengths> any_batch(std::mt19937& random) {
  const std::int64_t lengths[] = {0, 1, 64, 128, 200, 513, 1024, 2500};
  std::vector<SequenceLengths> out{{300, 400}};
  const std::size_t n = 2 + random() % 7;
  while (out.size() < n) {
    const std::int64_t q = lengths[random() % std::size(lengths)];
    out.push_back({q, random() % 2 == 0 ? q : lengths[random() % std::size(lengths)]});
  }
  return out;
}

/// Checks in every order that the launch's busiest node has the clocks that the twin finds.
void check_busiest_node(const std::vector<SequenceLengths>& batch, bool masked, double epsilon) {
  const auto laid = laid_out_packed("attention_sm90", {{"h", h}, {"d", 128}}, batch, masked ? causal : Mask{});
  for (const std::string order : {"grid", "persistent", "longest_first"}) {
    CAPTURE(text_of(batch));
    CAPTURE(order);
    CAPTURE(masked);
    const PlacedDiagram placed = laid->place(tile_of(order));
    const EventGraph graph = event_graph(placed);
    const Period p = period(graph);
    CHECK(launch_clocks(placed, graph, p).busiest ==
          doctest::Approx(Twin(batch, masked, order).run(graph, p)).epsilon(epsilon));
  }
}

}  // namespace

TEST_CASE("packed tiles go onto nodes in the kernel's order, each with its own rows, empty ones too") {
  std::mt19937 random(5);
  for (int round = 0; round < rounds(6); ++round) {
    const std::vector<SequenceLengths> batch = any_batch(random);
    for (const bool masked : {false, true}) {
      check_busiest_node(batch, masked, 1e-15);
    }
  }
}

TEST_CASE("the middle of many equal planes is spread evenly: within a thousandth of acting all tiles out") {
  std::vector<SequenceLengths> batch(3000, {100, 512});
  batch.resize(4500, {513, 513});
  for (const bool masked : {false, true}) check_busiest_node(batch, masked, 1e-3);
}

TEST_CASE("a batch of one length is that batch; taken apart sequence by sequence too") {
  for (const bool masked : {false, true}) {
    for (const std::string order : {"grid", "persistent", "longest_first"}) {
      CAPTURE(order);
      CAPTURE(masked);
      const Mask mask = masked ? causal : Mask{};
      const LaidOut whole("attention_sm90", "h200-sxm", {{"b", 3}, {"h", 4}, {"q", 1000}, {"x", 1200}, {"d", 128}},
                          DType::bf16, mask);
      const auto laid =
          laid_out_packed("attention_sm90", {{"h", 4}, {"d", 128}}, {{1000, 1200}, {1000, 1200}, {1000, 1200}}, mask);
      const PlacedDiagram expected = whole.place(tile_of(order));
      PlacedDiagram placed = laid->place(tile_of(order));
      CHECK(placed.packed.empty());
      CHECK(predicted_time(placed, Count(1)) == predicted_time(expected, Count(1)));
      placed.packed.push_back({expected, std::make_shared<const Problem>(whole.problem), false});
      CHECK(predicted_time(placed, Count(1)).value ==
            doctest::Approx(predicted_time(expected, Count(1)).value).epsilon(1e-9));
      CHECK(work(placed).executed_flops == work(expected).executed_flops);
      CHECK(compulsory_bytes(placed) == compulsory_bytes(expected));
      CHECK(work(placed).flops == work(expected).flops);
    }
  }
}

TEST_CASE("bounds of a packed batch's time are none above it; its order changes time alone") {
  std::mt19937 random(8);
  for (int round = 0; round < rounds(8); ++round) {
    std::vector<SequenceLengths> batch = any_batch(random);
    CAPTURE(text_of(batch));
    const auto laid =
        laid_out_packed("attention_sm90", {{"h", 4}, {"d", 128}}, batch, random() % 2 == 0 ? causal : Mask{});
    const PlacedDiagram placed = laid->place(tile_of("longest_first"));
    const double time = predicted_time(placed, Count(1)).value;
    const EventGraph own = event_graph(placed);
    Period explained = period(own);
    const LaunchShape shape = launch_shape(placed);
    const double cycles = cycles_at_least(block_order(placed), shape, block_ends(placed), {}, explained, Count(1));
    CHECK(cycles <= launch_clocks(placed, own, explained).busiest * (1 + 1e-9));
    CHECK(time > 0);

    std::shuffle(batch.begin(), batch.end(), random);
    const auto turned = laid_out_packed("attention_sm90", {{"h", 4}, {"d", 128}}, batch, laid->problem.mask);
    const PlacedDiagram other = turned->place(tile_of("longest_first"));
    const EventGraph graph = event_graph(placed);
    CHECK(compulsory_bytes(other) == compulsory_bytes(placed));
    CHECK(energy_of(other, graph)->core == energy_of(placed, graph)->core);
    CHECK(work(other).flops == work(placed).flops);
    for (std::size_t l = 0; l < placed.levels.size(); ++l) {
      CHECK(transfers(other)[l].transfer() == transfers(placed)[l].transfer());
      CHECK(transfers(other)[l].delivered == transfers(placed)[l].delivered);
    }
  }
}

TEST_CASE("a tile is placed for every length anew when knobs turn") {
  const auto laid = laid_out_packed("attention_sm90", {{"h", 4}, {"d", 128}}, {{512, 512}, {1, 4096}, {9, 0}}, causal);
  PlacedDiagram placed = laid->place(tile_of("grid"));
  REQUIRE(placed.packed.size() == 3);
  laid->placer->place(laid->tile({{"q", "64"}, {"warpgroups", "1"}, {"x", "96"}, {"pingpong", "off"}}), placed);
  for (const PackedPart& part : placed.packed) CHECK(part.placed.block().chunk == Count(96));
  const PlacedDiagram fresh = laid->place({{"q", "64"}, {"warpgroups", "1"}, {"x", "96"}, {"pingpong", "off"}});
  CHECK(predicted_time(placed, Count(1)) == predicted_time(fresh, Count(1)));
}

}  // namespace test_packed
