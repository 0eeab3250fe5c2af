// Lengths of packed sequences: classes of equal lengths, their representatives, and diagrams without lengths.
#include "model/diagram/packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/diagram/library.hpp"

namespace test_packing {

using namespace napkin;
using namespace napkin::internal;

namespace {

Problem problem_of(const Diagram& diagram, const std::vector<SequenceLengths>& sequences) {
  const SequenceLengths longest = longest_of(sequences, "--lengths");
  Problem out;
  out.sizes = resolve_sizes(
      diagram, {{"b", std::ssize(sequences)}, {"h", 3}, {"q", longest.q}, {"x", longest.x}, {"d", 64}}, "--shape");
  out.packing = packing_axes(diagram, "--lengths");
  out.packing.sequences = sequences;
  return out;
}

}  // namespace

TEST_CASE("sequences of one length stand together, in an order that the batch's does not change") {
  const Diagram attention = load_diagram("attention");
  std::vector<SequenceLengths> batch{{512, 512}, {1, 4096}, {0, 7}, {512, 512}, {9, 0}, {1, 4096}, {1, 4096}};
  const Problem problem = problem_of(attention, batch);
  const auto sorted = by_length(batch);
  REQUIRE(sorted.size() == 3);
  CHECK(sorted[0].lengths == SequenceLengths{1, 4096});
  CHECK(sorted[0].which == std::vector<std::int64_t>{1, 5, 6});
  CHECK(sorted[2].which == std::vector<std::int64_t>{0, 3});
  const Problem one = problem_of(problem, sorted[0]);
  CHECK(one.sizes[static_cast<std::size_t>(attention.axis("b"))] == Count(3));
  CHECK(one.sizes[static_cast<std::size_t>(attention.axis("q"))] == Count(1));
  CHECK(one.sizes[static_cast<std::size_t>(attention.axis("x"))] == Count(4096));
  CHECK(one.sizes[static_cast<std::size_t>(attention.axis("h"))] == Count(3));
  CHECK(one.packing.sequences.empty());
  std::sort(batch.begin(), batch.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const auto other = by_length(batch);
  REQUIRE(other.size() == sorted.size());
  for (std::size_t i = 0; i < other.size(); ++i) CHECK(other[i].lengths == sorted[i].lengths);
}

TEST_CASE("the longest lengths are each axis's own; something must be computed") {
  CHECK(longest_of({{512, 7}, {1, 4096}, {0, 0}}, "--lengths") == SequenceLengths{512, 4096});
  CHECK_THROWS_WITH_AS((void)longest_of({}, "--lengths"), doctest::Contains("no sequence"), Error);
  CHECK_THROWS_WITH_AS((void)longest_of({{3, 0}, {0, 3}}, "--lengths"), doctest::Contains("queries and keys"), Error);
  CHECK_THROWS_WITH_AS((void)longest_of({{3, 3}, {3, -1}}, "--lengths"), doctest::Contains("-1"), Error);
}

TEST_CASE("diagrams whose sequences lengths can be of: b everywhere, and a mask") {
  const Packing packing = packing_axes(load_diagram("attention_backward"), "--lengths");
  CHECK(packing.batch == load_diagram("attention_backward").axis("b"));
  CHECK(packing.columns == load_diagram("attention_backward").axis("x"));
  CHECK_THROWS_WITH_AS((void)packing_axes(load_diagram("matmul"), "--lengths"),
                       doctest::Contains("no operation with a mask"), Error);
  CHECK_THROWS_WITH_AS((void)packing_axes(load_diagram("softmax_contraction"), "--lengths"),
                       doctest::Contains("no axis b"), Error);
  Diagram shared = load_diagram("attention");
  Array& keys = shared.arrays[static_cast<std::size_t>(shared.array("K"))];
  std::erase(keys.axes, shared.axis("b"));
  CHECK_THROWS_WITH_AS((void)packing_axes(shared, "--lengths"), doctest::Contains("share K"), Error);
}

TEST_CASE("coarser lengths: as many sequences, at most so many lengths, about the same work") {
  std::vector<SequenceLengths> batch{{16384, 16384}, {0, 9}};
  for (std::int64_t i = 1; i < 200; ++i) batch.push_back({i * 37 % 4096 + 1, i * 911 % 8192});
  for (const std::size_t most : {1U, 5U, 12U}) {
    const std::vector<SequenceLengths> coarse = coarsened(batch, most);
    REQUIRE(coarse.size() == batch.size());
    CHECK(by_length(coarse).size() <= most);
    CHECK(coarse[1] == batch[1]);
    double pairs = 0, before = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      pairs += static_cast<double>(coarse[i].q * coarse[i].x);
      before += static_cast<double>(batch[i].q * batch[i].x);
    }
    if (most > 1) CHECK(pairs == doctest::Approx(before).epsilon(0.3));
    if (most == 12) CHECK(coarse[0] == batch[0]);  // the longest has a share of its own
  }
  const std::vector<SequenceLengths> few{{5, 5}, {7, 7}, {5, 5}};
  CHECK(coarsened(few, 12) == few);
}

TEST_CASE("lengths as text") {
  CHECK(text_of(std::vector<SequenceLengths>{{512, 512}, {1, 4096}, {1, 4096}, {0, 0}, {1, 4096}}) ==
        "512,2*1x4096,0,1x4096");
}

}  // namespace test_packing
