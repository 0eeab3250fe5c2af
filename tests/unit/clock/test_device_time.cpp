// Device memory's time of a launch, by hand: 132 nodes, blocks of 100 iterations of 10 clocks at 1 GHz.

#include <doctest/doctest.h>

#include <cmath>

#include "model/clock/launch/device_time.hpp"

namespace napkin::internal {

namespace {

LaunchShape shape_of(double blocks) {
  LaunchShape shape;
  shape.mean = 100;
  shape.who = {0, std::ceil(blocks / 132), 100 * blocks, blocks, 132, 100};
  shape.who.iterations = 100 * shape.who.blocks;
  return shape;
}

Period period_of(double clocks, double pipe) {
  Period period;
  period.clocks = clocks;
  period.pipe.clocks = pipe;
  return period;
}

/// Returns the time of blocks whose ends take 500 clocks, and whose first chunk takes 4 from the L2.
DeviceTime time_of(double blocks, double pipe, double resident = 1) {
  return device_time(shape_of(blocks), {1500, 1500, 1500}, period_of(10, pipe), BlockOrder::persistent, resident, 4);
}

constexpr double clock = 1e9, iterations = 1e-6, ends = 0.5e-6, last = 6e-9;

}  // namespace

TEST_CASE("device time: one full wave takes its bytes and its ends") {
  CHECK(time_of(132, 10).seconds(20e-6, clock) == doctest::Approx(20e-6 + ends + last));
}

TEST_CASE("device time: a last wave takes its own iterations where its share of the bytes is less") {
  const double busy = 20e-6, full = busy * 132 / 140, rest = busy - full;
  CHECK(rest > iterations);
  CHECK(time_of(140, 10).seconds(busy, clock) == doctest::Approx(busy + ends + last));
  const double little = 4e-6, left = little * 8 / 140;
  REQUIRE(left < iterations);
  CHECK(time_of(140, 10).seconds(little, clock) ==
        doctest::Approx(little * 132 / 140 + iterations + ends + std::pow(left / iterations, 3) * last));
}

TEST_CASE("device time: blocks that fit beside one another are one wave, by the busiest pipe") {
  const DeviceTime two = time_of(160, 10, 2);
  CHECK(two.waves == 0);
  CHECK(two.rest_clocks == doctest::Approx(2000));
  CHECK(two.seconds(20e-6, clock) == doctest::Approx(20e-6 + ends + last));
}

TEST_CASE("device time: blocks that memory does not hold up take their iterations and ends") {
  CHECK(time_of(132, 10).seconds(0, clock) == doctest::Approx(iterations + ends));
  CHECK(time_of(264, 10).seconds(0, clock) == doctest::Approx(2 * iterations + ends));
}

TEST_CASE("device time: more bytes never take less, and never less than memory is busy") {
  for (const double blocks : {1.0, 64.0, 131.0, 132.0, 133.0, 140.0, 264.0, 1000.0}) {
    for (const double pipe : {0.0, 5.0, 10.0}) {
      double before = 0;
      for (double busy = 0; busy < 40e-6; busy += 0.5e-6) {
        const double now = time_of(blocks, pipe).seconds(busy, clock);
        CAPTURE(blocks);
        CHECK(now >= busy);
        CHECK(now >= before);
        before = now;
      }
    }
  }
}

TEST_CASE("device time: it binds where some wave's bytes take longer than its iterations, not for its ends") {
  CHECK(time_of(132, 10).binds(1.01 * iterations, clock));
  CHECK(!time_of(132, 10).binds(0.99 * iterations, clock));
  CHECK(time_of(132, 10).seconds(0.99 * iterations, clock) > iterations + ends);  // by the last chunk's work
  const double whole = 132.0 / 140;                                               // share of the first wave
  CHECK(time_of(140, 10).binds(1.01 * iterations / whole, clock));
  CHECK(!time_of(140, 10).binds(0.99 * iterations / whole, clock));
}

TEST_CASE("device time: lengths that a mask makes unequal, and stream-K, count as one wave") {
  LaunchShape shape = shape_of(200);
  shape.unequal = true;
  const DeviceTime masked = device_time(shape, {1500, 1500, 1500}, period_of(10, 10), BlockOrder::grid, 1, 4);
  CHECK(masked.seconds(20e-6, clock) == doctest::Approx(20e-6 + ends + last));
  CHECK(DeviceTime().seconds(20e-6, clock) == 20e-6);
}

}  // namespace napkin::internal
