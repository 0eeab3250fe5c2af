// The sizes of parts of results, compared with counts by hand and with the bytes of the transfer rule.

#include "model/resource/parts.hpp"

#include <doctest/doctest.h>

#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_parts {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Mapped;

/// Returns the bytes of all parts in f32.
Bytes kept(const PartsMemory& memory) {
  Bytes out;
  for (const OutputParts& one : memory.outputs) out += Bytes(one.whole * 4);
  return out;
}

}  // namespace

TEST_CASE("a product in parts: tiles in whole clusters, and in full") {
  const Mapped m("matmul", "matmul_sm90", "h200-sxm", {{"a", 300}, {"b", 4000}, {"c", 4000}});
  const auto placed =
      m.place({{"a", "128"}, {"c", "192"}, {"b", "64"}, {"cluster", "2"}, {"split", "4"}, {"order", "grid"}});
  const PartsMemory memory = parts_memory(placed);
  CHECK(memory.tiles == Count(4 * 21));  // three tiles of rows are two clusters
  CHECK(memory.parts == Count(4));
  REQUIRE(memory.outputs.size() == 1);
  CHECK(memory.outputs[0].tile == Count(128 * 192));
  CHECK(memory.outputs[0].whole == Count(4 * 300 * 4000));
  CHECK(kept(memory) == combine_moved(placed).value().stored);
}

TEST_CASE("a part alone is the result: nothing is kept") {
  const Mapped m("matmul", "matmul_sm90", "h200-sxm", {{"a", 300}, {"b", 4000}, {"c", 4000}});
  const PartsMemory memory =
      parts_memory(m.place({{"a", "128"}, {"c", "192"}, {"split", "1"}, {"cluster", "1"}, {"order", "grid"}}));
  CHECK(memory.outputs.empty());
  CHECK(memory.parts == Count(1));
  CHECK(memory.tiles == Count(3 * 21));
  const Mapped forward("attention", "attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  CHECK(parts_memory(forward.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}})).outputs.empty());
}

TEST_CASE("keys dealt out: outputs and log-sum-exps, of the rows that there are") {
  const Mapped m("attention", "attention_decode_sm90", "h200-sxm",
                 {{"b", 3}, {"h", 8}, {"g", 4}, {"q", 1}, {"x", 20000}, {"d", 128}});
  const auto placed = m.place({{"g", "4"}, {"q", "16"}, {"warpgroups", "1"}, {"x", "128"}, {"shared.x", "2048"}});
  const PartsMemory memory = parts_memory(placed);
  CHECK(memory.tiles == Count(3 * 8));
  CHECK(memory.parts == Count(10));
  REQUIRE(memory.outputs.size() == 2);
  Count whole;
  for (const OutputParts& one : memory.outputs) whole += one.whole;
  CHECK(whole == Count(10 * 3 * 8 * 4) * 129);  // 128 columns and a log-sum-exp a row
  CHECK(kept(memory) == combine_moved(placed).value().stored);
}

}  // namespace test_parts
