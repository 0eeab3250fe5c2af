// The three memories of a level, compared with numbers worked out by hand.

#include <doctest/doctest.h>

#include "model/resource/plan.hpp"
#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_memory {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Abstract;
using napkin::internal::testing::Mapped;

LevelMemory at_level(const PlacedDiagram& placed, const char* name) {
  for (const LevelMemory& m : memories(placed)) {
    if (m.level == placed.machine->level(name)) return m;
  }
  throw Error("test", "no such level");
}

constexpr std::int64_t KiB = 1024;

}  // namespace

TEST_CASE("attention_sm90: shared memory holds Q, K and V, registers S, P and O") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"h", 2}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  const PlacedDiagram p =
      m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "2"}, {"overlap", "on"}});
  const LevelMemory shared = at_level(p, "shared"), registers = at_level(p, "registers");
  CHECK(shared.lower_bound == Bytes(96 * KiB));
  CHECK(shared.live == Bytes(96 * KiB));
  CHECK(shared.allocated == shared_bytes(p));
  CHECK(shared.allocated >= Bytes(160 * KiB));  // two copies of K and of V
  CHECK(shared.limit == Bytes(232448));
  CHECK(registers.lower_bound == Bytes(64 * KiB));            // S, or P with O at its side
  CHECK(registers.live == Bytes(128 * KiB + 3 * 128 * 4));    // S, O, mu, delta, z
  CHECK(registers.allocated == Bytes((64 + 32 + 64) * KiB));  // S, P and O at once
  CHECK(registers.limit == Bytes(256 * KiB));
  CHECK(at_level(p, "l2").allocated == Bytes(0));
}

TEST_CASE("an alias takes no room of its own; what shares storage counts as the larger") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"h", 2}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  const PlacedDiagram in_place = m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"overlap", "off"}});
  CHECK(at_level(in_place, "registers").allocated == Bytes((64 + 64) * KiB));
}

TEST_CASE("arrays of one column that take turns in one place are no more than the place") {
  const Mapped m("attention", "ck_tile", "mi300x", {{"q", 80}, {"x", 12978}, {"d", 256}});
  const PlacedDiagram p = m.place({{"q", "64"}, {"x", "128"}, {"warps", "2"}});
  const LevelMemory lds = at_level(p, "lds"), registers = at_level(p, "registers");
  CHECK(lds.lower_bound == Bytes(64 * KiB));  // K or V, which pass one ring
  CHECK(lds.live == Bytes(64 * KiB));
  CHECK(lds.allocated == Bytes(64 * KiB));
  CHECK(registers.live <= registers.allocated + Bytes(3 * 64 * 4));  // P is S in place; mu, delta, z
}

TEST_CASE("chunks and groups larger than their axis hold no more than there is, but are allocated in full") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"q", 1}, {"x", 40}, {"d", 64}});
  const PlacedDiagram p = m.place({{"q", "64"}, {"x", "64"}, {"warpgroups", "1"}, {"stages", "1"}});
  CHECK(at_level(p, "shared").lower_bound == Bytes((1 + 40 + 40) * 64 * 2));
  CHECK(at_level(p, "shared").allocated >= Bytes(3 * 64 * 64 * 2));
}

TEST_CASE("the ideal mapping allocates what is live") {
  const Streamed s = derive(load_diagram("matmul"));
  const Abstract a(s, {{"a", 60}, {"b", 50}, {"c", 40}});
  const LevelMemory low = memories(a.place({{"a", 6}, {"c", 8}, {"b", 5}})).back();
  CHECK(low.lower_bound == Bytes(118));
  CHECK(low.live == Bytes(118));
  CHECK(low.allocated == low.live);
  CHECK(low.limit == Bytes(1 << 30));
}

}  // namespace test_memory
