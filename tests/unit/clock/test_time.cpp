// The first time model: hand-counted loads, waves, bounds, conventions.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/time_model.hpp"
#include "model/resource/plan.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_time {

using namespace napkin;
using namespace napkin::internal;

namespace {

test::Shape attention(std::int64_t b, std::int64_t h, std::int64_t q, std::int64_t x, std::int64_t d) {
  return {{"b", b}, {"h", h}, {"q", q}, {"x", x}, {"d", d}};
}

Mask causal() { return {Mask::Kind::causal, 0, 0}; }

double loop(const BlockLoad& load, std::string_view name) {
  const auto end = load.pipes.begin() + static_cast<std::ptrdiff_t>(load.count);
  const auto found = std::find_if(load.pipes.begin(), end, [&](const PipeLoad& pipe) { return pipe.name == name; });
  return found == end ? 0 : found->loop;
}

/// Visits every combination of the named knobs' values, the others at their first.
template <class Visit>
void for_all(const test::LaidOut& question, const std::vector<std::string>& names, const Visit& visit) {
  std::vector<std::size_t> knobs;
  for (const std::string& name : names) knobs.push_back(static_cast<std::size_t>(*question.mapping.find_knob(name)));
  std::size_t combinations = 1;
  for (const std::size_t k : knobs) combinations *= question.mapping.knobs[k].domain.size();
  Tile tile = question.tile({});
  PlacedDiagram placed;
  for (std::size_t index = 0; index < combinations; ++index) {
    std::size_t rest = index;
    for (const std::size_t k : knobs) {
      const auto& domain = question.mapping.knobs[k].domain;
      tile.values[k] = domain[rest % domain.size()];
      rest /= domain.size();
    }
    question.placer->place(tile, placed);
    visit(placed);
  }
}

}  // namespace

TEST_CASE("one iteration of FlashAttention-3's 128 x 176 tile, counted by hand") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 16, 8192, 8192, 128), DType::bf16);
  const BlockLoad load = block_load(question.place({{"q", "128"}, {"warpgroups", "2"}, {"x", "176"}}));
  // Q K: 2 warpgroups x 8 k-steps x 88 clk; P V: 2 x 11 x 64.
  CHECK(loop(load, "tensor") == 2 * 8 * 88 + 2 * 11 * 64);
  CHECK(loop(load, "special") == doctest::Approx((128 * 176 + 128) / 16.0));
  // Shared memory (clk at 128 B): operands 2 x (8 x (16 + 44) + 11 x 32), TMA writes of K and V 2 x 352.
  CHECK(loop(load, "shared_port") == 2 * 8 * (16 + 44) + 2 * 11 * 32 + 2 * 352);
  CHECK(load.loop_bytes == 2 * 176 * 128 * 2);
  CHECK(load.once_bytes == 2 * 128 * 128 * 2);  // Q in, O out
}

TEST_CASE("P through shared memory: A reads and the store of P (reference kernel at d = 64)") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 32, 8192, 8192, 64), DType::bf16);
  const BlockLoad load =
      block_load(question.place({{"q", "192"}, {"warpgroups", "3"}, {"x", "192"}, {"p_in", "shared"}}));
  CHECK(loop(load, "tensor") == 2304);       // measured_h200: 2304 clk of tensor work in an iteration
  CHECK(loop(load, "shared_port") == 2880);  // and about 2,880 of shared memory
}

TEST_CASE("equal blocks: whole waves") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", attention(1, 132, 128, 4096, 128), DType::bf16);
  const PlacedDiagram one = question.place({{"x", "128"}});
  CHECK(schedule(one).blocks == 1);
  CHECK(schedule(one).iterations == 32);
  const test::LaidOut more("flash_attention_3", "h200-sxm", attention(1, 133, 128, 4096, 128), DType::bf16);
  CHECK(schedule(more.place({{"x", "128"}})).blocks == 2);
  CHECK(schedule(more.place({{"x", "128"}})).iterations == 64);
  const test::LaidOut clusters("flash_attention_3", "h200-sxm", attention(1, 66, 256, 4096, 128), DType::bf16);
  CHECK(schedule(clusters.place({{"x", "128"}, {"cluster", "2"}})).nodes == 132);
}

TEST_CASE("causal: the longest block, or an even share") {
  const test::LaidOut few("flash_attention_3", "h200-sxm", attention(1, 1, 4096, 4096, 128), DType::bf16, causal());
  const Schedule longest = schedule(few.place({{"x", "128"}}));
  CHECK(longest.iterations == 32);
  CHECK(longest.total_iterations == 32 * 33 / 2);
  const test::LaidOut many("flash_attention_3", "h200-sxm", attention(4, 16, 8192, 8192, 128), DType::bf16, causal());
  const Schedule even = schedule(many.place({{"x", "128"}}));
  CHECK(even.total_iterations == 64.0 * 64 * 65 / 2);
  CHECK(even.iterations >= even.total_iterations / 132);
  CHECK(even.iterations < 1.02 * even.total_iterations / 132);
}

TEST_CASE("TFLOP/s are the visible pairs' work over the time") {
  const std::vector<Mask> masks = {{}, causal(), {Mask::Kind::window, 63, 0}, {Mask::Kind::window, 0, 100}};
  for (const auto& [q, x] : {std::pair<int, int>{1000, 1000}, {512, 8192}, {8192, 512}, {1, 4096}}) {
    for (const Mask& mask : masks) {
      const test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 16, q, x, 128), DType::bf16, mask);
      const PlacedDiagram placed = question.place({});
      const Prediction p = predict(placed);
      const double pairs = static_cast<double>(visible_pairs(mask, q, x));
      CHECK(p.tflops * 1e12 * p.time.value == doctest::Approx(4.0 * 2 * 16 * 128 * pairs).epsilon(1e-12));
    }
  }
  const test::LaidOut product("matmul_sm90", "h200-sxm", {{"a", 100}, {"b", 200}, {"c", 300}}, DType::bf16);
  const PlacedDiagram placed = product.place({});
  const Prediction p = predict(placed);
  CHECK(p.tflops * 1e12 * p.time.value == doctest::Approx(2.0 * 100 * 200 * 300).epsilon(1e-12));
}

TEST_CASE("the clock says where it comes from, the launch is added") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 16, 8192, 8192, 128), DType::bf16);
  const PlacedDiagram placed = question.place({});
  const Prediction p = predict(placed, {.by = ByClock::roofline});
  CHECK(p.clock == Hertz(1.83e9));
  CHECK(p.clock_source == "datasheet tensor clock");
  CHECK((p.time - p.cycles / p.clock).value == doctest::Approx(3.2e-6));
  CHECK(p.bound == "tensor");
  CHECK(p.tflops < 989.4);
  CHECK(p.tflops > 800);
  for (const PipeUse& use : p.pipes) {
    CHECK(use.busy >= 0);
    CHECK(use.busy <= 1);
  }
  CHECK(assumed_clock(Machine{}).frequency == Hertz(1e9));
}

TEST_CASE("the roofline's ends: each wave waits for the pipe into its block, the first one for device memory too") {
  test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 16, 8192, 8192, 128), DType::bf16);
  const PlacedDiagram placed = question.place({});
  const auto timing = [&] { return TimeModel(placed, ByClock::roofline).of(placed, Count(1)); };
  const Timing before = timing();
  const double waves = std::ceil(before.who.blocks);
  REQUIRE(waves > 1);
  const auto later = [&](std::string_view pipe) {
    for (Pipe& each : question.machine.pipes) {
      if (each.name == pipe) each.latency->value += 1000;
    }
    return (timing().seconds - before.seconds) * before.clock.value;
  };
  CHECK(later("device") == doctest::Approx(1000).epsilon(1e-6));
  CHECK(later("l2") == doctest::Approx(1000 + waves * 1000).epsilon(1e-6));
}

// (eq. 15.1 of model/README.md, by hand for one and for two sets of schedulers)
TEST_CASE("two blocks on a node: half way between hiding all waits and meeting on the busiest pipe") {
  for (const auto& [warps, rows] : {std::pair{"4", "64"}, {"2", "32"}}) {
    const test::LaidOut question("attention_sm80", "h200-sxm", attention(1, 264, std::stoi(rows), 4096, 64),
                                 DType::bf16);
    const PlacedDiagram placed = question.place({{"q", rows}, {"x", "64"}, {"warps", warps}});
    const EventGraph graph = event_graph(placed);
    Periods periods;
    const Period& period = periods.of(graph);
    const TimeModel model(placed, ByClock::graph);
    const Timing alone = model.of(placed, Count(1), graph, period), two = model.of(placed, Count(2), graph, period);
    REQUIRE(alone.who.blocks == 2);
    const double work = period.pipe.clocks * alone.who.iterations,
                 ends = alone.cycles - period.clocks * alone.who.iterations,
                 full = std::min(alone.cycles, work + ends / 2);
    const bool one_set = placed.threads == Count(128);  // else each block has schedulers of its own
    const double least = std::max(alone.cycles / 2, one_set ? full : work),
                 most = one_set ? (alone.cycles + full) / 2 : least;
    CHECK(two.cycles == doctest::Approx((least + most) / 2).epsilon(1e-9));
    CHECK(two.cycles < alone.cycles);
  }
}

TEST_CASE("the event graph predicts where the tile has edges and the machine measured times, else the roofline") {
  const test::LaidOut question("flash_attention_3", "h200-sxm", attention(2, 16, 8192, 8192, 128), DType::bf16);
  const PlacedDiagram placed = question.place({});
  CHECK(has_event_graph(placed));
  const Prediction p = predict(placed), first = predict(placed, {.by = ByClock::roofline});
  CHECK(p.time > first.time);  // the event graph counts contention, waits and the power limit too
  CHECK(p.clock < first.clock);
  CHECK(p.clock_source == "held at the power limit");
  REQUIRE(p.power);
  CHECK(p.power->value == doctest::Approx(700).epsilon(1e-6));
  CHECK(p.bound == "issue");
  REQUIRE(p.iteration);
  CHECK(p.iteration->pipe == "issue");
  CHECK(p.iteration->beside_tensor);
  CHECK(p.iteration->clocks >= p.iteration->pipe_clocks);
  CHECK(p.iteration->contention >= 0);
  CHECK_FALSE(first.iteration);
  CHECK((p.time - p.cycles / p.clock).value == doctest::Approx(3.2e-6));
  for (const PipeUse& use : p.pipes) CHECK(use.busy <= 1);

  test::LaidOut older("flash_attention_2", "a100-sxm-80", attention(2, 16, 4096, 4096, 128), DType::f16);
  const PlacedDiagram with_ports = older.place({{"q", "128"}, {"x", "64"}});
  CHECK(has_event_graph(with_ports));
  CHECK(predict(with_ports).power);
  older.machine.constants.erase("mma_sync_ports");
  const PlacedDiagram without = older.place({{"q", "128"}, {"x", "64"}});
  CHECK_FALSE(has_event_graph(without));
  CHECK(predict(without).time == predict(without, {.by = ByClock::roofline}).time);
  CHECK_FALSE(predict(without).power);
}

TEST_CASE("a launch in closed form is never above the launch, and a prediction with known periods is the prediction") {
  int left = test::rounds(12);
  for (const Mask& mask : {Mask{}, causal(), Mask{Mask::Kind::window, 500, 0}}) {
    for (const std::int64_t q : {std::int64_t{1}, std::int64_t{65}, std::int64_t{1024}, std::int64_t{8192}}) {
      if (left-- <= 0) return;
      const test::LaidOut question("attention_sm90", "h200-sxm", attention(2, 16, q, 8192, 128), DType::bf16, mask);
      Periods periods;
      for_all(question, {"q", "p_in", "overlap", "warpgroups"}, [&](const PlacedDiagram& placed) {
        const EventGraph graph = event_graph(placed);
        const Period& period = periods.of(graph);
        const LaunchShape shape = launch_shape(placed);
        const BlockClocks block = block_clocks(graph, period, shape.mean, shape.cut);
        const double least = cycles_at_least(block_order(placed), shape, block_ends(placed), block, period, Count(1));
        const Prediction predicted = predict(placed, {.periods = &periods});
        Periods none;
        const bool holds = least <= launch_clocks(placed, graph, period, shape).busiest * (1 + 1e-9) &&
                           predicted.time == predict(placed, {.periods = &none}).time &&
                           std::isfinite(predicted.tflops) && predicted.time.value > 0;
        if (!holds) FAIL_CHECK(joined({std::to_string(predicted.time.value), std::to_string(least)}));
      });
    }
  }
}

namespace {

/// Checks that twice device memory's bandwidth shortens the launch if device memory limits it, and else hardly does.
/// Returns whether it does limit it.
bool check_device_limits(const char* kernel, const char* gpu, const test::Shape& shape, const test::Knobs& knobs) {
  test::LaidOut l(kernel, gpu, shape, DType::bf16);
  const Prediction today = predict(l.place(knobs));
  const auto device = std::find_if(l.machine.pipes.begin(), l.machine.pipes.end(),
                                   [](const Pipe& pipe) { return pipe.from == 0 && pipe.aggregate.known(); });
  REQUIRE(device != l.machine.pipes.end());
  const bool limits = today.bound == device->name;
  for (auto* one : {&device->aggregate.measured, &device->aggregate.datasheet}) {
    if (*one) (*one)->value *= 2;
  }
  const double faster = predict(l.place(knobs)).time.value / today.time.value;
  CAPTURE(kernel);
  CAPTURE(gpu);
  CAPTURE(today.bound);
  CAPTURE(faster);
  CHECK((limits ? faster < 0.95 : faster > 0.9));
  return limits;
}

}  // namespace

TEST_CASE("a launch that device memory limits is shorter with twice its bandwidth, any other hardly") {
  const std::pair<const char*, const char*> kernels[] = {{"attention_sm80", "a100-sxm-80"},
                                                         {"attention_sm80", "rtx-3090"},
                                                         {"attention_sm90", "h200-sxm"},
                                                         {"ck_tile", "mi300x"},
                                                         {"ascend_forward", "ascend-910b2"}};
  for (const auto& [kernel, gpu] : kernels) {
    for (const auto& [heads, queries, keys] : {std::array{1, 128, 8192}, {16, 256, 256}, {2, 4096, 4096}})
      CHECK(!check_device_limits(kernel, gpu, attention(1, heads, queries, keys, 128), {}));
  }
  CHECK(check_device_limits("attention_sm80", "a100-sxm-80", attention(64, 8, 1, 8192, 128),
                            {{"q", "16"}, {"x", "16"}, {"warps", "1"}, {"stages", "2"}}));
  CHECK(check_device_limits("matmul_sm90", "h200-sxm", {{"a", 64}, {"b", 16384}, {"c", 16384}},
                            {{"a", "64"},
                             {"c", "128"},
                             {"b", "128"},
                             {"warpgroups", "1"},
                             {"stages", "4"},
                             {"cluster", "1"},
                             {"split", "1"}}));
}

TEST_CASE("more work never takes less time") {
  Seconds last(0);
  for (const std::int64_t x : {128, 256, 1024, 4096, 16384}) {
    const test::LaidOut question("flash_attention_2", "a100-sxm-80", attention(2, 16, 4096, x, 128), DType::f16);
    const PlacedDiagram placed = question.place({{"q", "128"}, {"x", "64"}});
    const Seconds time = predict(placed).time;
    CHECK(time > last);
    last = time;
  }
}

TEST_CASE("machines without units, limits or clocks do not crash") {
  const Diagram diagram = load_diagram("attention");
  for (const char* gpu : {"mi300x", "ascend-910b2", "paper-h100", "v100-sxm2"}) {
    const Machine machine = load_machine(gpu, "gpu");
    const Streamed streamed = derive(diagram);
    Problem problem;
    problem.sizes = resolve_sizes(streamed.diagram, attention(1, 4, 1024, 1024, 128), "shape");
    problem.dtype = DType::f16;
    const Mapping mapping = ideal_mapping(streamed, machine);
    const Placer placer(streamed, mapping, machine, problem);
    Tile tile;
    for (const Knob& knob : mapping.knobs) tile.values.push_back(knob.domain.front());
    const PlacedDiagram placed = placer.place(tile);
    const Prediction p = predict(placed);
    CAPTURE(gpu);
    CHECK(std::isfinite(p.time.value));
    CHECK(p.time.value > 0);
  }
}

}  // namespace test_time
