// The parts of a launch's energy, and the clock that the card holds with it.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/resource/order.hpp"
#include "tests/support/layout.hpp"

namespace test_power {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

PlacedDiagram placed(const LaidOut& l, const char* cluster) {
  return l.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", cluster}, {"rescale", "rarely"}});
}

LaidOut attention(std::int64_t s, const Mask& mask = {}) {
  return {"attention_sm90", "h200-sxm", {{"b", 4}, {"h", 16}, {"q", s}, {"x", s}, {"d", 128}}, DType::bf16, mask};
}

}  // namespace

TEST_CASE("every SM's copy of what comes from the L2 takes energy, multicast or not") {
  const LaidOut l = attention(4096);
  for (const char* cluster : {"1", "2"}) {
    const L2Bytes loop = l2_bytes(placed(l, cluster), Phase::loop), ends = l2_bytes(placed(l, cluster), Phase::head);
    CHECK((std::string(cluster) == "1" ? loop.asked : loop.multicast) == 2.0 * 128 * 128 * 2);  // K and V
    CHECK(loop.asked + loop.multicast == 2.0 * 128 * 128 * 2);
    CHECK(ends.asked == 2.0 * 128 * 128 * 2);  // Q and O
    CHECK(ends.multicast == 0);
  }
}

TEST_CASE("rows of 32 bytes take the energy of the 64 that the L2 hands out, those of 64 and 128 bytes their own") {
  const LaidOut l{"matmul_sm90", "h200-sxm", {{"a", 4096}, {"b", 4096}, {"c", 4096}}, DType::bf16};
  for (const auto& [columns, granules] : {std::pair{"256", 1.0}, {"224", 1.0}, {"240", 2.0}}) {
    const PlacedDiagram p =
        l.place({{"a", "128"}, {"c", columns}, {"b", "64"}, {"warpgroups", "2"}, {"stages", "2"}, {"cluster", "1"}});
    CHECK(l2_bytes(p, Phase::loop).asked == (128 + granules * std::stod(columns)) * 64 * 2);
    CHECK(l2_bytes(p, Phase::head).asked == 128 * std::stod(columns) * 2);  // C
  }
}

TEST_CASE("a launch's energy by hand: products, instructions, bytes; cut chunks take more") {
  LaidOut l = attention(4096);
  const auto only = [&](const char* name, double value, const char* cluster = "1") {
    for (const char* each : {"energy_tensor_16bit", "energy_instruction", "energy_l2", "energy_l2_together",
                             "energy_multicast", "energy_device"}) {
      l.machine.fitted[each].value = 1e-30;  // known, and nothing
      l.machine.constants[each].value = 1e-30;
    }
    l.machine.fitted[name].value = value;
    const PlacedDiagram p = placed(l, cluster);
    return *energy_of(p, event_graph(p));
  };
  const double flops = 4.0 * 64 * 4096 * 4096 * 128;
  CHECK(only("energy_tensor_16bit", 1e-12).core == doctest::Approx(flops * 1e-12));
  const double tiles = 64 * 32, bytes = tiles * (32 + 1) * 2 * 128 * 128 * 2;
  const double ends = tiles * 2 * 128 * 128 * 2,
               alone = (1 + 15.0 / 32) / 16;  // share of Q and O, and of K and V with 32 blocks a head
  CHECK(only("energy_l2", 1e-12).core == doctest::Approx((ends + alone * (bytes - ends)) * 1e-12));
  // a byte for a single SM takes at least the energy of one for several
  CHECK(only("energy_l2_together", 0.4e-12).core == doctest::Approx(bytes * 0.4e-12));
  CHECK(only("energy_multicast", 1e-12, "2").core ==
        doctest::Approx(tiles * 32 * 2 * 128 * 128 * 2 * 1e-12));  // K and V, once to each SM
  CHECK(only("energy_l2", 1e-12, "2").core == doctest::Approx(ends * 1e-12));
  CHECK(only("energy_device", 1e-12).device == doctest::Approx(4 * 64.0 * 4096 * 128 * 2 * 1e-12));
  CHECK(only("energy_instruction", 1e-9).core > 4.0 * 64 * 4096 * 4096 / 32 * 1e-9);  // more than four an element

  LaidOut causal = attention(4096, {Mask::Kind::causal, 0, 0});
  const PlacedDiagram p = placed(causal, "1");
  const EnergyRates rates = energy_rates(p);
  CHECK(rates.of_l2({1, 0}) == doctest::Approx(causal.machine.constant("energy_l2")));
  CHECK(rates.of_l2({1, 0}, 0) == causal.machine.constant("energy_l2_together"));
  EventGraph graph = event_graph(p);
  const double with = energy_of(p, graph)->core;
  for (EventNode& node : graph.nodes) node.cut_demand.clear();
  CHECK(with > energy_of(p, graph)->core);
}

namespace {

/// Returns the distinct bytes of loads over all bytes, in every run of `run` consecutive blocks, one by one.
double counted_alone(const PlacedDiagram& p, std::int64_t run) {
  const BlockSequence sequence(p);
  double all = 0, different = 0;
  for (const Crossing& c : p.crossings) {
    if (c.into != p.block().level || c.store || c.phase != Phase::loop || p.multicast(c)) continue;
    double bytes = bytes_per_value(c.type);
    for (const AxisId axis : p.axes_of(c)) bytes *= real(p.block().extent[static_cast<std::size_t>(axis)]);
    for (std::int64_t first = 0; first + run <= sequence.size(); ++first) {
      std::set<std::vector<std::int64_t>> met;
      for (std::int64_t i = first; i < first + run; ++i) {
        std::vector<std::int64_t> at(p.block().groups_of.size(), 0), own;
        sequence.coordinates(sequence.at(i), at);
        for (const AxisId axis : p.axes_of(c)) own.push_back(at[static_cast<std::size_t>(axis)]);
        met.insert(own);
      }
      all += bytes * static_cast<double>(run);
      different += bytes * static_cast<double>(met.size());
    }
  }
  return different / all;
}

}  // namespace

TEST_CASE(
    "what SMs side by side stream alone: counted block by block; all of it under a mask, and of products beyond the "
    "L2") {
  for (const std::int64_t s : {256, 1024, 4096}) {
    const LaidOut l = attention(s);
    const PlacedDiagram p = placed(l, "1");
    CHECK(unshared_fraction(p) == doctest::Approx(counted_alone(p, 16)).epsilon(0.02));
    CHECK(least_unshared_fraction(p) <= unshared_fraction(p));
  }
  CHECK(unshared_fraction(placed(attention(4096, {Mask::Kind::causal, 0, 0}), "1")) == 1);
  for (const std::int64_t n : {1024, 2048}) {
    const LaidOut l{"matmul_sm90", "h200-sxm", {{"a", n}, {"b", n}, {"c", n}}, DType::bf16};
    for (const char* order : {"grid", "grouped", "hilbert"}) {
      for (const char* cluster : {"1", "2"}) {
        const PlacedDiagram p = l.place({{"a", "128"},
                                         {"c", "128"},
                                         {"b", "64"},
                                         {"warpgroups", "2"},
                                         {"stages", "2"},
                                         {"cluster", cluster},
                                         {"order", order}});
        CAPTURE(std::string(order) + cluster);
        CHECK(unshared_fraction(p) == doctest::Approx(counted_alone(p, 16)).epsilon(0.12));
      }
    }
  }
  const LaidOut large{"matmul_sm90", "h200-sxm", {{"a", 4096}, {"b", 4096}, {"c", 4096}}, DType::bf16};
  for (const char* cluster : {"1", "2"})  // B by multicast is a stream too
    CHECK(unshared_fraction(large.place(
              {{"a", "128"}, {"c", "128"}, {"b", "64"}, {"warpgroups", "2"}, {"stages", "2"}, {"cluster", cluster}})) ==
          1);
}

TEST_CASE("a product of few columns takes the energy of its FLOPs, not of the clocks in which its operands come") {
  const LaidOut l{"attention_sm90", "h200-sxm", {{"h", 8}, {"q", 4096}, {"x", 4096}, {"d", 256}}, DType::bf16};
  const auto flops = [&](const char* x) {
    const PlacedDiagram p = l.place({{"q", "128"}, {"x", x}, {"warpgroups", "2"}, {"rescale", "rarely"}});
    const TensorLoad scores = tensor_load(p, p.operations[0]);
    CHECK(scores.flops == doctest::Approx(2.0 * 128 * std::stod(x) * 256));
    return scores.flops / scores.clocks;
  };
  CHECK(flops("32") == doctest::Approx(flops("128") * 16 / 24));  // 16 + N / 4 clocks, where N / 2 compute
}

TEST_CASE("a light load runs at the highest clock beside the matrix units, a heavy one at the limit") {
  const LaidOut l = attention(4096);
  CHECK(highest_clock(l.machine) == Hertz(l.machine.constant("clock_beside_tensor")));
  CHECK(highest_clock(Machine{}).value > 0);
  const HeldClock light = held_clock(l.machine, {0.01, 0}, 1e6), heavy = held_clock(l.machine, {0.5, 0}, 1e6);
  CHECK(light.clock == highest_clock(l.machine));
  CHECK(light.power.value < 200);
  CHECK(heavy.clock < light.clock);
  CHECK(heavy.power.value == doctest::Approx(700));
}

TEST_CASE("a product on CDNA 3 holds the clocks that AMD states at its two power limits") {
  // Measuring Max-Achievable FLOPs, part 2: bf16, 1207 MHz at 750 W and 1447 MHz at 1000 W. The first gave the energy
  // of a FLOP; the second, and both speeds (708 and 843 TFLOP/s), are predictions.
  const std::pair<const char*, std::pair<double, double>> stated[] = {{"mi300x", {1.207e9, 708}},
                                                                      {"mi325x", {1.447e9, 843}}};
  for (const auto& [gpu, measured] : stated) {
    const LaidOut l("vendor_matmul_gfx942", gpu, {{"a", 4096}, {"b", 32896}, {"c", 4864}}, DType::bf16);
    const PlacedDiagram product = l.place({{"a", "256"}, {"c", "256"}, {"b", "64"}, {"wave_rows", "128"}});
    const Prediction p = predict(product);
    CHECK(p.clock.value == doctest::Approx(measured.first).epsilon(0.01));
    CHECK(p.tflops == doctest::Approx(measured.second).epsilon(0.02));
  }
}

TEST_CASE("a launch that waits for memory spends its energy over that time, at a higher clock") {
  const LaidOut l = attention(4096);
  const PowerLaw law = power_law(l.machine);
  for (const double core : {0.01, 0.5, 2.0}) {
    const Energy energy{core, 0.1 * core};
    const HeldClock alone = held_clock(law, energy, 1e6);
    const double seconds = 1e6 / alone.clock.value;
    CHECK(held_clock(law, energy, 1e6, Seconds(0.9 * seconds)).clock == alone.clock);
    const Seconds memory(1.2 * seconds);
    const HeldClock waiting = held_clock(law, energy, 1e6, memory);
    CAPTURE(core);
    CHECK(waiting.clock >= alone.clock);
    CHECK((waiting.clock > alone.clock || alone.clock.value == law.highest));
    CHECK(waiting.power.value <= law.limit * (1 + 1e-9));
    // A launch bound by memory holds the clock at which its cycles fill memory's time.
    const HeldClock so_many = held_clock(law, energy, waiting.clock.value * memory.value);
    CHECK(so_many.clock.value == doctest::Approx(waiting.clock.value));
    CHECK(so_many.power.value == doctest::Approx(waiting.power.value));
  }
}

TEST_CASE("cycles may end within the time that they take at the clock held, and not within less") {
  const LaidOut l = attention(4096);
  const PowerLaw law = power_law(l.machine);
  for (const double cycles : {1e4, 1e6, 3e7}) {
    for (const double core : {0.0, 0.01, 0.5, 30.0}) {
      const Energy energy{core, 0.1 * core};
      const double seconds = cycles / held_clock(law, energy, cycles).clock.value;
      CAPTURE(cycles);
      CAPTURE(core);
      CHECK(may_end_within(law, energy, cycles, Seconds(seconds * (1 + 1e-9))));
      CHECK(!may_end_within(law, energy, cycles, Seconds(seconds * (1 - 1e-6))));
    }
  }
}

TEST_CASE("a card's factor scales every energy and the clock tree, so that power beyond idle is so many times it") {
  LaidOut own = attention(4096);
  const LaidOut product = attention(4096);
  own.machine.constants["energy_of_card"] = {1.1, "1", {}};
  const PlacedDiagram a = placed(own, "1"), b = placed(product, "1");
  const EnergyRates more = energy_rates(a), less = energy_rates(b);
  CHECK(more.flop_16bit == doctest::Approx(1.1 * less.flop_16bit));
  CHECK(more.device == doctest::Approx(1.1 * less.device));
  CHECK(more.of_l2({1, 1}) == doctest::Approx(1.1 * less.of_l2({1, 1})));
  CHECK(power_law(own.machine).tree == doctest::Approx(1.1 * power_law(product.machine).tree));
  CHECK(power_law(own.machine).idle == power_law(product.machine).idle);
  CHECK(energy_of_card(product.machine) == 1);
}

}  // namespace test_power
