// Transfers into and out of each memory of a cube core and its vector cores, counted block by block and chunk by chunk,
// equal the transfer rule's, including buffers in the L2 in both directions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/resource/resources.hpp"
#include "tests/support/layout.hpp"

namespace test_cores_traffic {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

struct Moved {
  std::int64_t load = 0, store = 0;
};

struct Case {
  std::int64_t h, q, x, d, tile_q, tile_x;
  bool causal;
};

/// Counts the forward pass's transfers by the kernel's published description, with sixteen-bit inputs.
std::map<std::string, Moved> counted(const Case& c) {
  std::map<std::string, Moved> out;
  for (std::int64_t head = 0; head < c.h; ++head) {
    for (std::int64_t first = 0; first < c.q; first += c.tile_q) {
      const std::int64_t rows = std::min(c.tile_q, c.q - first), last = first + rows - 1;
      out["l1"].load += rows * c.d * 2;   // Q
      out["ub"].store += rows * c.d * 2;  // O
      for (std::int64_t chunk = 0; chunk < c.x; chunk += c.tile_x) {
        if (c.causal && chunk > last + c.x - c.q) continue;
        const std::int64_t keys = std::min(c.tile_x, c.x - chunk);
        out["l1"].load += 2 * keys * c.d * 2 + rows * keys * 2;  // K, V, P
        out["l0a"].load += rows * c.d * 2 + rows * keys * 2;     // Q, P
        out["l0b"].load += 2 * keys * c.d * 2;                   // K, V
        out["l0c"].store += rows * keys * 4 + rows * c.d * 4;    // S and the part of O
        out["ub"].load += rows * keys * 4 + rows * c.d * 4;
        out["ub"].store += rows * keys * 2;  // P
      }
    }
  }
  return out;
}

/// Checks the transfer rule against the counts for each memory except the L2.
void check_transfers(const PlacedDiagram& placed, const std::map<std::string, Moved>& expected) {
  for (const LevelTransfer& t : transfers(placed)) {
    const std::string& name = placed.machine->levels[static_cast<std::size_t>(t.level)].name;
    CAPTURE(name);
    if (name == "l2") continue;
    const auto found = expected.find(name);
    REQUIRE(found != expected.end());
    CHECK(t.load.value.get() == found->second.load);
    CHECK(t.store.value.get() == found->second.store);
  }
}

}  // namespace

TEST_CASE("forward on cores: the transfer rule is what blocks pass, one after the other") {
  for (const Case& c :
       {Case{1, 128, 512, 128, 128, 128, false}, Case{3, 65, 130, 64, 32, 48, false}, Case{2, 7, 65, 64, 16, 16, false},
        Case{2, 130, 130, 64, 32, 48, true}, Case{1, 65, 200, 128, 64, 64, true}, Case{1, 1, 1, 64, 64, 128, false}}) {
    CAPTURE(c.q);
    CAPTURE(c.x);
    const Mask mask{c.causal ? Mask::Kind::causal : Mask::Kind::none, 0, 0};
    const Shape shape{{"h", c.h}, {"q", c.q}, {"x", c.x}, {"d", c.d}};
    const LaidOut laid("ascend_forward", "ascend-910b2", shape, DType::f16, mask);
    const PlacedDiagram placed = laid.place(
        {{"q", std::to_string(c.tile_q)}, {"x", std::to_string(c.tile_x)}, {"cube_x", "16"}, {"preload", "1"}});
    const std::map<std::string, Moved> expected = counted(c);
    check_transfers(placed, expected);
  }
}

TEST_CASE(
    "forward on cores with the keys dealt out: each part has its own Q, and leaves in 32 bits with its log-sum-exp") {
  for (const auto& [q, x, split] :
       std::vector<std::array<std::int64_t, 3>>{{128, 1024, 2}, {65, 700, 3}, {130, 2048, 8}, {1, 512, 4}}) {
    const std::int64_t queries = q, keys = x;
    CAPTURE(queries);
    CAPTURE(keys);
    const Shape shape{{"h", 2}, {"q", q}, {"x", x}, {"d", 128}};
    const LaidOut laid("ascend_forward_split", "ascend-910b2", shape, DType::f16);
    const PlacedDiagram placed =
        laid.place({{"q", "64"}, {"x", "128"}, {"cube_x", "128"}, {"split", std::to_string(split)}, {"preload", "1"}});
    const std::int64_t chunks = (x + 127) / 128, part = (x + split - 1) / split, of_part = (part + 127) / 128;
    const std::int64_t parts = (chunks + of_part - 1) / of_part, rows = 2 * q;
    for (const LevelTransfer& t : transfers(placed)) {
      const std::string& name = placed.machine->levels[static_cast<std::size_t>(t.level)].name;
      CAPTURE(name);
      const std::int64_t row_blocks = (q + 63) / 64;
      if (name == "l1")
        CHECK(t.load.value.get() == parts * rows * 128 * 2 + 2 * row_blocks * 2 * x * 128 * 2 + rows * x * 2);
      if (name == "ub") CHECK(t.load.value.get() == rows * x * 4 + rows * chunks * 128 * 4);
      if (name == "ub") CHECK(t.store.value.get() == rows * x * 2 + parts * rows * (128 + 1) * 4);
    }
  }
}

namespace {

/// Counts the backward pass's transfers with sixteen-bit inputs: blocks of `outer` rows of one side walk chunks of
/// `inner` of the other. `queries_outside`: S1 outer. `kept`: results of the outer side stay in L0C until the block
/// ends; else every block of scores' are added.
std::map<std::string, Moved> counted_backward(const Case& c, bool queries_outside, bool kept) {
  std::map<std::string, Moved> out;
  const std::int64_t outer = queries_outside ? c.q : c.x, inner = queries_outside ? c.x : c.q;
  const std::int64_t outer_tile = queries_outside ? c.tile_q : c.tile_x,
                     inner_tile = queries_outside ? c.tile_x : c.tile_q;
  const std::int64_t outside = queries_outside ? 1 : 2, inside = 3 - outside;  // results of either side: dQ; dK and dV
  for (std::int64_t head = 0; head < c.h; ++head) {
    for (std::int64_t first = 0; first < outer; first += outer_tile) {
      const std::int64_t mine = std::min(outer_tile, outer - first);
      out["l1"].load += 2 * mine * c.d * 2;                                  // K and V, or Q and dO
      if (queries_outside) out["ub"].load += 2 * mine * c.d * 2 + mine * 4;  // O, dO, L
      if (kept) out["l0c"].store += outside * mine * c.d * 2;
      for (std::int64_t chunk = 0; chunk < inner; chunk += inner_tile) {
        const std::int64_t its = std::min(inner_tile, inner - chunk);
        const std::int64_t rows = queries_outside ? mine : its, keys = queries_outside ? its : mine;
        const std::int64_t key = queries_outside ? chunk : first, row = queries_outside ? first : chunk;
        if (c.causal && key > row + rows - 1 + c.x - c.q) continue;
        out["l1"].load += 2 * its * c.d * 2 + 2 * rows * keys * 2;    // and P, dS
        out["l0a"].load += 2 * rows * c.d * 2 + 2 * rows * keys * 2;  // Q, dO, P, dS
        out["l0b"].load += 2 * (rows + keys) * c.d * 2;               // K, V, dO, Q
        out["ub"].load += 2 * rows * keys * 4 + (queries_outside ? 0 : 2 * rows * c.d * 2 + rows * 4);
        out["l0c"].store += inside * its * c.d * 4 + (kept ? 0 : outside * mine * c.d * 4);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("backward on cores: the transfer rule is what blocks pass, whichever results stay in L0C") {
  for (const Case& c :
       {Case{1, 512, 512, 128, 128, 128, false}, Case{3, 65, 130, 64, 32, 48, false}, Case{2, 7, 65, 64, 16, 16, false},
        Case{2, 130, 130, 64, 32, 48, true}, Case{1, 65, 200, 128, 64, 64, true}, Case{1, 1, 1, 64, 64, 128, false}}) {
    for (const auto& [kernel, l0c] : std::vector<std::pair<std::string, std::string>>{
             {"ascend_backward", "kept"}, {"ascend_backward", "added"}, {"ascend_backward_s1_outer", ""}}) {
      CAPTURE(c.q);
      CAPTURE(c.x);
      const std::string mapping = kernel, kept = l0c;
      CAPTURE(mapping);
      CAPTURE(kept);
      const Mask mask{c.causal ? Mask::Kind::causal : Mask::Kind::none, 0, 0};
      const Shape shape{{"h", c.h}, {"q", c.q}, {"x", c.x}, {"d", c.d}};
      const LaidOut laid(kernel, "ascend-950pr", shape, DType::f16, mask);
      Knobs knobs{{"q", std::to_string(c.tile_q)}, {"x", std::to_string(c.tile_x)}};
      knobs.emplace_back("order", l0c.empty() ? "rows" : "columns");
      if (!l0c.empty()) knobs.emplace_back("l0c", l0c);
      const PlacedDiagram placed = laid.place(knobs);
      const std::map<std::string, Moved> expected = counted_backward(c, l0c.empty(), l0c != "added");
      check_transfers(placed, expected);
    }
  }
}

}  // namespace test_cores_traffic
