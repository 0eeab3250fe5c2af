// Chunks that threads ask for themselves: who waits for device memory, and what passes in the meantime.
#include <doctest/doctest.h>

#include <cstdint>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/graph/event_graph.hpp"
#include "tests/support/layout.hpp"

namespace test_own_copies {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

double constant(const char* name) { return built_in_machine("h200-sxm").constant(name); }

LaidOut product(std::int64_t rows, std::int64_t deep, std::int64_t columns) {
  return {"triton_matmul", "h200-sxm", {{"a", rows}, {"b", deep}, {"c", columns}}, DType::bf16};
}

/// The clocks until the first bytes of the last array that the loop copies.
double first_bytes(const LaidOut& laid, const Knobs& knobs) {
  const PlacedDiagram of = laid.place(knobs);
  double out = 0;
  for (const Crossing& c : of.crossings) {
    if (c.into == of.block().level && !c.store && c.phase == Phase::loop) out = chunk_latency(of, c);
  }
  return out;
}

const Knobs tile = {{"a", "64"}, {"c", "64"}, {"b", "64"}, {"warps", "4"}, {"stages", "2"}};

}  // namespace

TEST_CASE("of blocks that ask for a chunk themselves one waits for device memory, of blocks in step two") {
  const double whole = constant("tma_device_latency_16kib") - constant("tma_l2_latency_16kib"),
               first = constant("tma_l2_latency_16kib") - 16 * 1024 / constant("l2_bandwidth_one_sm"),
               loaded = constant("cp_async_loaded_latency");
  // Columns of B, which so many row tiles read; wgmma, so no thread loads operands meanwhile.
  struct Case {
    std::int64_t rows;
    double share;
  };
  for (const Case& each : {Case{64, 1}, Case{128, 1}, Case{256, 0.5}, Case{1024, 0.125}}) {
    CAPTURE(each.rows);
    CHECK(first_bytes(product(each.rows, 11008, 4096), tile) == doctest::Approx(first + each.share * whole));
  }
  CHECK(first_bytes(product(64, 2048, 2048), tile) == doctest::Approx(first));  // the L2 keeps them
  // 32 tiles of queries read a head's keys; mma.sync, whose operands threads load.
  const Shape shape = {{"b", 8}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};
  const LaidOut full("attention_sm80", "h200-sxm", shape, DType::bf16),
      causal("attention_sm80", "h200-sxm", shape, DType::bf16, {Mask::Kind::causal});
  CHECK(first_bytes(full, {{"q", "128"}, {"warps", "4"}}) == doctest::Approx(loaded + whole / 16));
  CHECK(first_bytes(causal, {{"q", "128"}, {"warps", "4"}}) == doctest::Approx(loaded + whole / 32));
  // An A100 has no boxes: what a load takes longer.
  const LaidOut ampere("attention_sm80", "a100-sxm-80", shape, DType::bf16);
  const double chased = ampere.machine.pipe_into(ampere.machine.find_level("l2").value())->latency->value;
  CHECK(first_bytes(ampere, {{"q", "128"}, {"warps", "4"}}) ==
        doctest::Approx(ampere.machine.constant("cp_async_loaded_latency") + chased / 16));
}

TEST_CASE("while B is waited for from device memory A has passed; from the L2 they come one after the other") {
  const auto beyond = [](std::int64_t rows, std::int64_t deep, std::int64_t columns) {
    const LaidOut l = product(rows, deep, columns);
    const EventGraph graph = event_graph(l.place(tile));
    const EventNode &a = graph.node(graph.find("load A")), &b = graph.node(graph.find("load B"));
    REQUIRE(a.clocks > 0);
    return (b.latency - first_bytes(l, tile)) / a.clocks;
  };
  CHECK(beyond(128, 11008, 4096) == doctest::Approx(-1));
  CHECK(beyond(128, 2048, 2048) == doctest::Approx(0));
  CHECK(beyond(4096, 4096, 4096) == doctest::Approx(0));  // as many blocks read A's chunk as B's
}

}  // namespace test_own_copies
