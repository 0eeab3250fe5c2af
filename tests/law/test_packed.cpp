// Transfers and work of packed sequences, compared with the interpreter's counts sequence by sequence and with the sum
// of separate questions; the search over their tiles.
#include <doctest/doctest.h>

#include <random>

#include "model/interpret/check.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"
#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/packed_layout.hpp"
#include "tests/support/setup.hpp"

namespace test_packed {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const std::vector<std::vector<SequenceLengths>> batches{
    {{512, 512}, {4096, 4096}, {1, 1}, {0, 0}, {700, 700}},
    {{1, 4096}, {1, 512}, {1, 1}, {0, 4096}, {1, 4096}},
    {{129, 0}, {64, 1000}, {1000, 64}, {65, 65}, {65, 65}},
};
const std::vector<Mask> masks{{}, {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 100, 3}};

}  // namespace

TEST_CASE("on the abstract machine a packed batch moves what the interpreter counts of its sequences, one by one") {
  const Diagram& diagram = built_in_diagram("attention");
  const Streamed streamed = derive(diagram);
  const Machine machine = abstract_machine(std::int64_t{1} << 40);
  const Mapping mapping = ideal_mapping(streamed, machine);
  const std::vector<SequenceLengths> batch{{7, 7}, {1, 13}, {0, 5}, {10, 3}, {7, 7}, {4, 0}};
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 2, 1}}) {
    CAPTURE(text_of(mask));
    Problem problem{resolve_sizes(diagram, {{"b", 6}, {"h", 2}, {"q", 10}, {"x", 13}, {"d", 4}}, "shape"), mask,
                    DType::value};
    problem.packing = packing_axes(diagram, "lengths");
    problem.packing.sequences = batch;
    const auto group_of = [](const std::string& axis) {
      return axis == "q" ? 3 : axis == "x" ? 2 : axis == "d" || axis == "dv" ? 4 : 1;
    };
    Tile tile;
    for (const Knob& knob : mapping.knobs) tile.values.push_back(group_of(knob.name));
    const PlacedDiagram placed = Placer(streamed, mapping, machine, problem).place(tile);
    Count loaded, stored;
    for (const SequenceLengths& one : batch) {
      if (one.q == 0) continue;
      Problem alone{problem.sizes, mask, DType::value};
      alone.sizes[static_cast<std::size_t>(diagram.axis("b"))] = 1;
      alone.sizes[static_cast<std::size_t>(diagram.axis("q"))] = Count(one.q);
      alone.sizes[static_cast<std::size_t>(diagram.axis("x"))] = Count(std::max<std::int64_t>(one.x, 1));
      Partition partition{alone.sizes, 2};
      for (std::size_t a = 0; a < alone.sizes.size(); ++a) {
        const std::string& axis = diagram.axes[a].name;
        if (axis != "x") partition.group[a] = std::min(alone.sizes[a], Count(group_of(axis)));
      }
      partition.chunk = std::min(partition.chunk, alone.sizes[static_cast<std::size_t>(diagram.axis("x"))]);
      const LevelCounts counts =
          run_streamed(streamed, alone, partition, random_inputs(diagram, alone.sizes, 1)).counts.levels.front();
      loaded += one.x > 0 ? counts.loaded() : Count(0);
      stored += counts.stored();
    }
    CHECK(transfers(placed).front().load.value == loaded);
    CHECK(transfers(placed).front().store.value == stored);
  }
}

TEST_CASE("bytes and work are those of the sequences asked for one by one") {
  const test::Knobs tile{{"q", "128"}, {"x", "96"}, {"cluster", "1"}};
  for (const std::vector<SequenceLengths>& batch : batches) {
    for (const Mask& mask : masks) {
      CAPTURE(text_of(batch));
      CAPTURE(text_of(mask));
      const auto laid = laid_out_packed("attention_sm90", {{"h", 3}, {"g", 2}, {"d", 96}}, batch, mask);
      const PlacedDiagram placed = laid->place(tile);
      const std::vector<LevelTransfer> found = transfers(placed);
      std::vector<LevelTransfer> sums(found.size());
      Work all;
      for (const SequenceLengths& one : batch) {
        if (one.q == 0) continue;
        const LaidOut alone("attention_sm90", "h200-sxm",
                            {{"h", 3}, {"g", 2}, {"q", one.q}, {"x", std::max<std::int64_t>(one.x, 1)}, {"d", 96}},
                            DType::bf16, mask);
        const PlacedDiagram own = alone.place(tile);
        const std::vector<LevelTransfer> moved = transfers(own);
        for (std::size_t l = 0; l < sums.size(); ++l) {
          sums[l].store += moved[l].store;
          sums[l].groups += moved[l].groups;
          if (one.x == 0) continue;
          sums[l].load += moved[l].load;
          sums[l].delivered += moved[l].delivered;
        }
        if (one.x == 0) continue;
        all.flops += work(own).flops;
        all.executed_flops += work(own).executed_flops;
        all.exponentials += work(own).exponentials;
      }
      for (std::size_t l = 0; l < sums.size(); ++l) {
        CAPTURE(l);
        CHECK(found[l].load == sums[l].load);
        CHECK(found[l].store == sums[l].store);
        CHECK(found[l].delivered == sums[l].delivered);
        CHECK(found[l].groups == (l == 0 ? Count(1) : sums[l].groups));  // there is a single L2
      }
      CHECK(work(placed).flops == all.flops);
      CHECK(work(placed).executed_flops == all.executed_flops);
      CHECK(work(placed).exponentials == all.exponentials);
    }
  }
}

TEST_CASE("sequences without keys have no gradients of keys to store") {
  const std::string kernel = "attention_backward";
  const Diagram& diagram = built_in_diagram(kernel);
  const Streamed streamed = derive(diagram);
  const Machine machine = abstract_machine(std::int64_t{1} << 40);
  const Mapping mapping = ideal_mapping(streamed, machine);
  Problem problem{resolve_sizes(diagram, {{"b", 2}, {"q", 10}, {"x", 6}, {"d", 4}}, "shape"), {}, DType::value};
  Tile tile;
  for (const Knob& knob : mapping.knobs) tile.values.push_back(knob.name == "b" ? 1 : 10);
  const auto stored = [&](const std::vector<SequenceLengths>& batch) {
    problem.packing = packing_axes(diagram, "lengths");
    problem.packing.sequences = batch;
    return transfers(Placer(streamed, mapping, machine, problem).place(tile)).front().store.value;
  };
  CHECK(stored({{10, 6}, {10, 0}}) == stored({{10, 6}, {0, 0}}) + Count(10 * 4));  // dQ alone
}

TEST_CASE("an L2 that keeps everything reads each sequence once, one that keeps nothing as often as tiles ask") {
  for (const std::vector<SequenceLengths>& batch : batches) {
    for (const char* order : {"grid", "persistent", "longest_first"}) {
      CAPTURE(text_of(batch));
      CAPTURE(order);
      const auto laid = laid_out_packed("attention_sm90", {{"h", 3}, {"d", 64}}, batch);
      const PlacedDiagram placed = laid->place({{"q", "128"}, {"x", "64"}, {"cluster", "1"}, {"order", order}});
      const std::vector<LevelTransfer> moved = transfers(placed);
      const Reread kept = reread(placed, {1e15, 1, 0}, Count(1));
      CHECK(kept.bytes == 0);
      CHECK(kept.first == doctest::Approx(static_cast<double>(moved.front().load.value.get())));
      const Reread lost = reread(placed, {1, 1, 0}, Count(1));
      const LevelTransfer& shared = *std::find_if(
          moved.begin(), moved.end(), [&](const LevelTransfer& l) { return l.level == placed.block().level; });
      CHECK(lost.first + lost.bytes == doctest::Approx(static_cast<double>(shared.load.value.get())));
    }
  }
}

TEST_CASE("a Selector's answer for packed batches is that of timing every tile, also for many lengths") {
  std::mt19937 random(9);
  std::vector<SequenceLengths> many;
  for (int i = 0; i < 40; ++i)
    many.push_back({static_cast<std::int64_t>(random() % 4096), static_cast<std::int64_t>(random() % 4096)});
  std::vector<std::vector<SequenceLengths>> all(batches.begin(), batches.end());
  all.insert(all.begin(), many);
  int left = rounds(4);
  for (const std::vector<SequenceLengths>& batch : all) {
    for (const Mask::Kind mask : {Mask::Kind::causal, Mask::Kind::none}) {
      if (left-- <= 0) return;
      CAPTURE(text_of(batch));
      const auto laid = laid_out_packed("attention_sm90", {{"h", 8}, {"d", 128}}, batch, {mask, 0, 0});
      Mapping thin = laid->mapping;
      for (const char* knob : {"x", "stages"}) {
        auto& domain = thin.knobs[static_cast<std::size_t>(*thin.find_knob(knob))].domain;
        domain.resize(std::min<std::size_t>(domain.size(), 9));
      }
      const Setup setup{test::lent(laid->streamed), test::lent(thin), test::lent(laid->machine), laid->problem, {}};
      Tables tables;
      const Selection fast = Selector(setup, tables).rank(3);
      const Selection full = selection_of(setup, select_exhaustively(setup), 3);
      REQUIRE(fast.ranked.size() == full.ranked.size());
      for (std::size_t i = 0; i < full.ranked.size(); ++i) {
        CHECK(fast.ranked[i].tile == full.ranked[i].tile);
        CHECK(fast.ranked[i].prediction.time == full.ranked[i].prediction.time);
      }
    }
  }
}

}  // namespace test_packed
