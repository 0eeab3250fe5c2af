// The clock of a mix compared with that of one launch, and properties of every mix.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/clock/power/mix.hpp"
#include "model/clock/timed_launch.hpp"
#include "model/resource/plan.hpp"
#include "tests/support/layout.hpp"

namespace test_mix {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

PowerLaw law() {
  PowerLaw out;
  out.idle = 120;
  out.tree = 8;
  out.limit = 700;
  out.highest = 1.98e9;
  out.exponent = 1.3;
  return out;
}

MixPart part(double times, double core, double device, double cycles, double least = 0) {
  return {times, {core, device}, [=](Hertz f) { return Seconds(std::max(cycles / f.value, least)); }};
}

}  // namespace

TEST_CASE("a mix of one launch holds that launch's clock, however often it is launched") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> core(0.02, 2), device(0, 0.3), cycles(1e4, 1e6);
  for (int i = 0; i < 200; ++i) {
    const Energy energy{core(random), device(random)};
    const double c = cycles(random);
    const HeldClock one = held_clock(law(), energy, c);
    for (const double times : {1.0, 7.0}) {
      const std::vector<MixPart> mix{part(times, energy.core, energy.device, c)};
      const HeldClock held = held_clock(law(), mix);
      CHECK(held.clock.value == doctest::Approx(one.clock.value).epsilon(1e-9));
      CHECK(held.power.value == doctest::Approx(one.power.value).epsilon(1e-9));
    }
  }
}

TEST_CASE("a mix holds a clock between its parts', keeps to the limit, and spends what its launches spend") {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> core(0.02, 2), device(0, 0.3), cycles(1e4, 1e6), times(1, 100);
  for (int i = 0; i < 200; ++i) {
    std::vector<MixPart> mix;
    double low = 1e12, high = 0;
    for (int p = 0; p < 4; ++p) {
      mix.push_back(part(times(random), core(random), device(random), cycles(random), p == 0 ? 1e-3 : 0));
      const HeldClock alone = held_clock(law(), std::span(&mix.back(), 1));
      low = std::min(low, alone.clock.value);
      high = std::max(high, alone.clock.value);
    }
    const HeldClock held = held_clock(law(), mix);
    CHECK(held.clock.value >= low * (1 - 1e-9));
    CHECK(held.clock.value <= high * (1 + 1e-9));
    CHECK(held.power.value <= 700 * (1 + 1e-9));
    double energy = 0, time = 0;
    for (const MixPart& each : mix) {
      const Seconds one = each.time(held.clock);
      energy += each.times * energy_at(law(), each.energy, held.clock, one).value;
      time += each.times * one.value;
    }
    CHECK(energy / time == doctest::Approx(held.power.value));
    // A clock higher by a hundredth takes too much power, unless it is the highest.
    if (held.clock.value < law().highest * 0.99) CHECK(held.power.value == doctest::Approx(700).epsilon(1e-6));
  }
}

TEST_CASE("a launch among others takes at its own clock what it takes alone, and other clocks scale its cycles") {
  for (const std::int64_t s : {1024, 4096}) {
    const LaidOut l{"attention_sm90", "h200-sxm", {{"h", 16}, {"q", s}, {"x", s}, {"d", 128}}, DType::bf16};
    const PlacedDiagram placed =
        l.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", "1"}, {"rescale", "rarely"}});
    const Plan planned = plan(placed);
    const Prediction alone = predict(placed);
    const TimedLaunch launch(placed, planned);
    const Prediction same = launch.at(alone.clock);
    CHECK(same.time.value == doctest::Approx(alone.time.value).epsilon(1e-9));
    CHECK(same.bound == alone.bound);
    CHECK(launch.time(alone.clock).value == doctest::Approx(same.time.value).epsilon(1e-12));
    const Prediction slow = launch.at(Hertz(1e9));
    CHECK(slow.cycles.value == doctest::Approx(alone.cycles.value).epsilon(1e-9));
    CHECK(slow.time.value > alone.time.value);
    REQUIRE(launch.energy());
    CHECK(launch.energy()->core > 0);
    CHECK(launch.energy()->device > 0);  // holds for small arrays too, as none of their data remain in the L2
  }
}

}  // namespace test_mix
