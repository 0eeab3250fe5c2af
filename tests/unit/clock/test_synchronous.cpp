// Threads that wait for their own products (mma.sync): banks of shared memory, groups of warps, ports of the registers.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/period.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/predicted_time.hpp"

namespace test_synchronous {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const Knobs plain = {{"q", "128"},       {"x", "64"},       {"warps", "8"},        {"stages", "2"},
                     {"q_in", "shared"}, {"swizzle", "on"}, {"rescale", "rarely"}, {"order", "grid"}};

Knobs with(Knobs knobs, const std::string& name, const std::string& value) {
  for (auto& [knob, text] : knobs) {
    if (knob == name) text = value;
  }
  return knobs;
}

const PlacedOperation& contraction(const PlacedDiagram& placed, std::size_t which) {
  std::size_t seen = 0;
  for (const PlacedOperation& op : placed.operations) {
    if (op.tensor && seen++ == which) return op;
  }
  throw Error("operations", "too few contractions", "two");
}

const EventEdge* barrier_into(const EventGraph& g, const char* node) {
  const auto found = std::find_if(g.edges.begin(), g.edges.end(),
                                  [&](const EventEdge& e) { return e.barrier && e.to == g.find(node); });
  return found != g.edges.end() ? &*found : nullptr;
}

}  // namespace

TEST_CASE("rows of a matrix meet a bank as often as their pitch says") {
  CHECK(bank_conflicts(128, 128) == 8);  // all eight rows begin in bank 0
  CHECK(bank_conflicts(256, 128) == 8);
  CHECK(bank_conflicts(144, 128) == 1);  // each row 16 bytes further: eight rows fill the 128 bytes
  CHECK(bank_conflicts(64, 128) == 4);   // rows 0, 2, 4, 6 in the first half, 1, 3, 5, 7 in the second
  CHECK(bank_conflicts(192, 128) == 4);
  CHECK(bank_conflicts(32, 128) == 2);  // 0, 32, 64, 96, 0, ...
  CHECK(bank_conflicts(160, 128) == 2);
  CHECK(bank_conflicts(16, 128) == 1);
  CHECK(bank_conflicts(64, 64) == 4);  // half the banks: two rounds at best, and all eight rows begin at one bank
}

TEST_CASE("unpermuted rows of 256 bytes take the port eight times as long, and no more instructions") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  const PlacedDiagram on = l.place(plain), off = l.place(with(plain, "swizzle", "off"));
  for (const std::size_t product : {0U, 1U}) {
    const TensorLoad easy = tensor_load(on, contraction(on, product)),
                     hard = tensor_load(off, contraction(off, product));
    CHECK(hard.port_bytes == 8 * easy.port_bytes);
    CHECK(hard.slots == easy.slots);
    CHECK(hard.clocks == easy.clocks);
  }
  // K by each of 8 warps, 64 rows of 256 bytes; Q once, 128 rows.
  CHECK(tensor_load(on, contraction(on, 0)).port_bytes == 8 * 64 * 256 + 128 * 256);
  const double easy = period(event_graph(on)).clocks, hard = period(event_graph(off)).clocks;
  CHECK(hard >= 8 * (8 * 2 * 64 * 256 + 128 * 256) / 128.0);
  CHECK(hard > 3 * easy);
}

TEST_CASE(
    "fragments that an iteration loads through registers take the port as those that products load themselves do") {
  const Shape shape = {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  const LaidOut first("flash_from_scratch", "rtx-3090", shape, DType::bf16),
      own("attention_sm80", "rtx-3090", shape, DType::bf16);
  for (const char* fragments : {"streamed", "whole"}) {
    const PlacedDiagram through = first.place({{"fragments", fragments}}), direct = own.place({{"q", "64"},
                                                                                               {"x", "64"},
                                                                                               {"warps", "4"},
                                                                                               {"stages", "1"},
                                                                                               {"swizzle", "off"},
                                                                                               {"q_in", "registers"}});
    for (const std::size_t product : {0U, 1U}) {
      CHECK(tensor_load(through, contraction(through, product)).port_bytes ==
            tensor_load(direct, contraction(direct, product)).port_bytes);
    }
  }
}

TEST_CASE(
    "an iteration that waits for its chunks takes longer by device memory's latency for each that an order loses") {
  const Shape shape = {{"b", 2}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};
  for (const char* gpu : {"rtx-3090", "a100-sxm-40"}) {
    const LaidOut l("flash_from_scratch", gpu, shape, DType::bf16);
    const auto cycle = [&](const char* order) { return cycle_ratio(event_graph(l.place({{"order", order}}))).clocks; };
    const auto lost = [&](const char* order) {
      const PlacedDiagram placed = l.place({{"order", order}});
      return real(reread_bytes(placed, occupancy(placed).blocks, Pace::apart).value) /
             real(transfer_into_blocks(placed).load.value);
    };
    const Pipe& device = *l.machine.pipe_into(1);
    REQUIRE(device.latency);
    // In step two of a head's blocks wait for a chunk's first bytes, else one.
    const double blocks = 4096 / 64;
    for (const char* order : {"heads_fastest", "queries_slowest"}) {
      CAPTURE(gpu);
      CAPTURE(order);
      CHECK(lost(order) > 0.8);
      CHECK(cycle(order) - cycle("queries_fastest") ==
            doctest::Approx(2 * (std::min(lost(order) + 1 / blocks, 1.0) - 2 / blocks) * device.latency->value)
                .epsilon(1e-3));
    }
  }
}

TEST_CASE("warps, one on each scheduler, are one instance; a barrier joins those of a block") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  struct Case {
    const char *warps, *rows;
    int instances;
  };
  for (const Case& each : {Case{"1", "16", 1}, Case{"2", "64", 1}, Case{"4", "128", 1}, Case{"8", "256", 2}}) {
    const EventGraph g = event_graph(l.place(with(with(plain, "warps", each.warps), "q", each.rows)));
    CHECK(g.instances[static_cast<std::size_t>(g.find("O"))] == each.instances);
    REQUIRE(barrier_into(g, "S.control") != nullptr);
    CHECK(barrier_into(g, "S.control")->delay == 1);
  }
}

TEST_CASE("two warps of a scheduler that meet at a barrier wait for the one that comes second on the ports") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  const EventGraph four = event_graph(l.place(with(plain, "warps", "4"))),
                   eight = event_graph(l.place(with(plain, "q", "256")));
  REQUIRE(eight.instances[static_cast<std::size_t>(eight.find("O"))] == 2);
  CHECK(barrier_into(four, "S.control")->latency == 0);
  double alone = 0, ports = 0;
  for (const EventNode& node : eight.nodes) {
    if (node.kind != NodeKind::thread || node.phase != Phase::loop) continue;
    alone += node.clocks;
    ports += node.demand.back();
  }
  REQUIRE(busiest_pipe(eight).name == "register_ports");
  // The period is one warp's iteration and the ports' time for the other warp.
  CHECK(period(eight).clocks == doctest::Approx(alone + ports).epsilon(0.02));
  CHECK(period(eight).clocks < 2 * alone);
}

TEST_CASE("a product takes its scheduler's register ports from everything else") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  const EventGraph g = event_graph(l.place(with(plain, "warps", "4")));
  const EventNode& s = g.node(g.find("S"));
  REQUIRE(g.pipes.back().name == "register_ports");
  const double products = 8 * 8 * 8;  // 128 / 16 rows, 64 / 8 columns, 128 / 16 deep
  const double loads = (4 * 64 * 256 + 128 * 256) / 512.0;
  CHECK(s.demand[1] == doctest::Approx((products + loads) / 4));
  CHECK(s.demand.back() == doctest::Approx((products * l.machine.constant("mma_sync_ports") + loads) / 4));
  CHECK(busiest_pipe(g).name == "register_ports");
}

TEST_CASE("with one copy the softmax waits for V and the next chunk for K; with two neither does") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  const Knobs small = with(with(plain, "warps", "4"), "x", "16");
  const double latency = l.machine.constant("cp_async_loaded_latency");
  const double one = period(event_graph(l.place(with(small, "stages", "1")))).clocks;
  const double two = period(event_graph(l.place(small))).clocks;
  CHECK(one > two);
  CHECK(one > latency);  // two latencies, each beside less than half an iteration's work
}

TEST_CASE("a third block of two warps shares its schedulers with another one: no third more is done") {
  const LaidOut l("attention_sm80", "h200-sxm", {{"b", 1}, {"h", 132}, {"q", 3072}, {"x", 1024}, {"d", 128}},
                  DType::bf16);
  const PlacedDiagram placed = l.place(with(with(with(plain, "warps", "2"), "q", "64"), "x", "32"));
  const double two = predicted_time(placed, 2).value, three = predicted_time(placed, 3).value,
               four = predicted_time(placed, 4).value;
  CHECK(three <= two);
  CHECK(four < three);
  CHECK(three > 1.05 * four);  // four are as even as two
}

TEST_CASE(
    "FlashAttention-2's waits are its table's: by architecture, by how it is built, by a thread's rows and keys") {
  struct Case {
    const char *gpu, *math, *rows, *keys;
    double clocks;
  };
  // d = 128: 117 clocks a row of a thread and 16 keys fused for sm_80, 25 unfused for sm_90
  for (const Case& each :
       {Case{"a100-sxm-80", "fused", "128", "64", 4 * 117}, Case{"rtx-3090", "fused", "128", "32", 2 * 337},
        Case{"a100-sxm-80", "fused", "64", "64", 2 * 117}, Case{"h200-sxm", "unfused", "128", "64", 4 * 25}}) {
    CAPTURE(each.gpu);
    CAPTURE(each.rows);
    const Shape one{{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}};
    const LaidOut l("flash_attention_2", each.gpu, one, DType::bf16);
    const EventGraph graph = event_graph(l.place({{"q", each.rows}, {"x", each.keys}, {"math", each.math}}));
    CHECK(graph.node(graph.find("O")).stalled == doctest::Approx(each.clocks));
  }
}

}  // namespace test_synchronous
