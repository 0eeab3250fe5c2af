// The time of a division: the graph's run compared with a recurrence over all GPUs and steps, and the times of calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/island/schedule.hpp"

namespace test_schedule {

using namespace napkin;
using namespace napkin::internal;

namespace {

using Steps = std::vector<std::vector<StepTime>>;

Transport ring_of(double copy, std::int64_t gpus) {
  Transport one;
  one.by = Carrier::ring;
  one.calls = Count(gpus - 1);
  one.seconds = copy;
  one.level = "nvlink";
  return one;
}

/// Computes the time of all GPUs step by step: a copy into a GPU waits for its sender to have the block, for the copy
/// before it on both links, and for the step that leaves its buffer; its own block has none.
double recurrence(const Steps& steps, double copy, double finishing) {
  const std::size_t p = steps.size();
  std::vector<std::vector<double>> copied(p, std::vector<double>(p)), worked = copied;
  for (std::size_t t = 0; t < p; ++t) {
    for (std::size_t r = 0; r < p; ++r) {
      if (t > 0) {
        double start = std::max(copied[r][t - 1], copied[(r + p - 1) % p][t - 1]);
        if (t > 2) start = std::max(start, worked[r][t - 2]);
        copied[r][t] = start + copy;
      }
    }
    for (std::size_t r = 0; r < p; ++r) {
      const double start = t > 0 ? std::max(worked[r][t - 1], copied[r][t]) : 0;
      worked[r][t] = start + steps[r][t].all();
    }
  }
  double end = 0;
  for (const auto& gpu : worked) end = std::max(end, gpu.back());
  return end + finishing;
}

Steps even(std::size_t p, double first, double step) {
  return Steps(p, [&] {
    std::vector<StepTime> one(p, StepTime{step, 0});
    one.front().kernels = first;
    return one;
  }());
}

}  // namespace

TEST_CASE("a ring's time is that of a recurrence over all GPUs and steps") {
  std::mt19937 random(3);
  const auto draw = [&] { return 1e-6 * static_cast<double>(1 + random() % 1000); };
  for (int i = 0; i < 300; ++i) {
    const std::size_t p = 2 + random() % 7;
    const double first = draw(), step = draw(), copy = draw(), finishing = draw();
    Steps steps = even(p, first, step);
    if (i % 3 == 1) {  // contiguous parts under a causal mask: GPU r has work in its first r + 1 steps
      for (std::size_t r = 0; r < p; ++r)
        std::fill(steps[r].begin() + static_cast<std::ptrdiff_t>(r) + 1, steps[r].end(), StepTime{});
    }
    if (i % 3 == 2) {  // zigzag: two shapes of equal work
      for (std::size_t r = 0; r < p; ++r)
        std::fill(steps[r].begin() + static_cast<std::ptrdiff_t>(r) + 1, steps[r].end(), StepTime{0.9 * step, 0});
    }
    const IslandTime time = time_of({ring_of(copy, static_cast<std::int64_t>(p))}, steps, finishing);
    CAPTURE(i);
    CHECK(time.seconds == doctest::Approx(recurrence(steps, copy, finishing)).epsilon(1e-9));
    CHECK(time.exposed == doctest::Approx(time.seconds - time.work));
  }
}

TEST_CASE("a ring is hidden where its copy is no longer than a step, and only then") {
  const IslandTime hidden = time_of({ring_of(1e-3, 8)}, even(8, 1e-3, 1e-3), 0);
  CHECK(hidden.hidden);
  CHECK(hidden.exposed == doctest::Approx(0));
  CHECK(hidden.bound == "work");
  const IslandTime late = time_of({ring_of(1.1e-3, 8)}, even(8, 1e-3, 1e-3), 0);
  CHECK_FALSE(late.hidden);
  CHECK(late.exposed == doctest::Approx(7 * 0.1e-3));
  CHECK(late.bound == "nvlink");
}

TEST_CASE("a copy that holds nodes slows the steps beside it: by its share, or by all of it where blocks stay") {
  const double step = 100e-6, copy = 40e-6, held = 0.25;
  for (const bool stays : {false, true}) {
    Steps steps = even(2, step, step);
    for (auto& gpu : steps)
      for (StepTime& one : gpu) one.stays = stays;
    const IslandTime plain = time_of({ring_of(copy, 2)}, steps, 0),
                     slowed = time_of({ring_of(copy, 2)}, steps, 0, held);
    CHECK(plain.seconds == doctest::Approx(2 * step));
    CHECK(slowed.seconds == doctest::Approx(2 * step + (stays ? copy : held * copy)));
    CHECK(slowed.work == plain.work);
    CHECK(slowed.hidden);  // no step waits for the copy itself
    CHECK(slowed.exposed == doctest::Approx(slowed.seconds - slowed.work));
    // A copy longer than the step hides it, as other nodes do its work; the second step follows.
    if (!stays) CHECK(time_of({ring_of(1, 2)}, steps, 0, held).seconds == doctest::Approx(1 + step));
  }
}

TEST_CASE(
    "a collective takes the protocol with the least time: more bytes never take less, and none but the first level has "
    "others") {
  const Island island = load_island("hgx-h100-8", "--gpu");
  const auto seconds = [&](Carrier by, std::int64_t bytes) {
    return transport_of(island, 8, by, Bytes(bytes)).seconds;
  };
  CHECK(seconds(Carrier::all_reduce, 16384) == doctest::Approx(6.6e-6 + 14 * 0.6e-6 + 2.0 * 16384 * 7 / 8 / 141e9));
  CHECK(seconds(Carrier::all_gather, 16384) == doctest::Approx(6.6e-6 + 7 * 0.6e-6 + 16384 * 7.0 / 8 / 141e9));
  const double middle = 2.0 * 4194304 * 7 / 8;
  CHECK(seconds(Carrier::all_reduce, 4194304) == doctest::Approx(14e-6 + 14 * 1.9e-6 + middle / 340.4e9));
  CHECK(seconds(Carrier::all_to_all, 16384) == doctest::Approx(8.4e-6 + 3.4e-6 + 16384 * 7.0 / 64 / 370e9));
  double before = 0;
  for (std::int64_t bytes = 1024; bytes < (std::int64_t{1} << 33); bytes = bytes * 3 / 2) {
    const double now = seconds(Carrier::all_reduce, bytes);
    CHECK(now >= before);
    CHECK(now <= 8.4e-6 + 14 * 3.4e-6 + 1.75 * static_cast<double>(bytes + 8) / 370e9);
    before = now;
  }
}

TEST_CASE("calls of a division: their bytes, their hops and the links that limit them") {
  Island island = load_island("hgx-h100-8", "--gpu");
  Division division;
  division.split = load_split("tensor_parallel_all_reduce", "--split");
  division.problem.sizes = resolve_sizes(division.split.diagram, {{"a", 4096}, {"b", 8192}, {"c", 8192}}, "--shape");
  division.gpus = 8;
  const auto calls = transports_of(division, island);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].by == Carrier::all_reduce);
  CHECK(calls[0].after);
  const double bytes = 2.0 * 4096 * 8192 * 2 * 7 / 8;
  CHECK(calls[0].seconds == doctest::Approx(8.4e-6 + 14 * 3.4e-6 + bytes / 370e9));
  // Two boards: rings that cross them share all the boards' network links; a ring of single copies uses one.
  Link network = island.links.front();
  network.name = "network";
  network.joins = Count(2);
  network.bandwidth.value = 25e9;
  network.latency.value = 14e-6;
  island.links.push_back(network);
  division.gpus = 16;
  const auto wide = transports_of(division, island);
  CHECK(wide[0].level == "network");
  CHECK(wide[0].seconds == doctest::Approx(8.4e-6 + 30 * 14e-6 + 2.0 * 4096 * 8192 * 2 * 15 / 16 / (8 * 25e9)));
  division.split = load_split("ring_attention", "--split");
  division.problem.sizes =
      resolve_sizes(division.split.diagram, {{"h", 8}, {"q", 65536}, {"x", 65536}, {"d", 128}}, "--shape");
  const auto round = transports_of(division, island);
  CHECK(round[0].calls == Count(15));
  CHECK(round[0].seconds == doctest::Approx(8.4e-6 + 2 * 14e-6 + 2.0 * 8 * 4096 * 128 * 2 / 25e9));
  // By heads, of what a GPU gets from 15 others 8 parts come over the network.
  division.split = load_split("all_to_all_heads", "--split");
  division.problem.sizes =
      resolve_sizes(division.split.diagram, {{"h", 16}, {"q", 65536}, {"x", 65536}, {"d", 128}}, "--shape");
  const auto exchanged = transports_of(division, island);
  REQUIRE(exchanged.size() == 2);
  CHECK_FALSE(exchanged[0].after);
  CHECK(exchanged[1].after);
  const double part = 16.0 * 65536 * 128 * 2 / 256;
  CHECK(exchanged[0].seconds == doctest::Approx(8.4e-6 + 3 * 14e-6 + 3 * part * 8 / 25e9));
  CHECK(exchanged[1].seconds == doctest::Approx(8.4e-6 + 14e-6 + part * 8 / 25e9));
}

TEST_CASE("adding a step's part to the running result moves it through device memory") {
  Division division;
  division.split = load_split("ring_attention", "--split");
  division.problem.sizes =
      resolve_sizes(division.split.diagram, {{"h", 2}, {"q", 64}, {"x", 64}, {"d", 16}}, "--shape");
  division.gpus = 4;
  const auto steps = steps_of(division, 0);
  const std::int64_t rows = 2 * 16, values = rows * 16;
  CHECK(adding_bytes(division, steps[0], true) == Bytes(values * (2 + 4) + rows * 8));
  CHECK(adding_bytes(division, steps[1], false) == Bytes(values * (2 + 4 + 4) + rows * 12));
  CHECK(finishing_bytes(division) == Bytes(values * (4 + 2)));
  division.gpus = 1;
  CHECK(finishing_bytes(division) == Bytes(0));
}

TEST_CASE("one call by its bytes is the call of a division that moves them") {
  const Island island = load_island("hgx-h100-8", "--gpu");
  for (const char* name :
       {"tensor_parallel_all_reduce", "tensor_parallel_all_gather", "tensor_parallel_reduce_scatter"}) {
    Division division;
    division.split = load_split(name, "--split");
    division.problem.sizes = {256, 4096, 8192};
    division.gpus = 8;
    const auto calls = transports_of(division, island);
    REQUIRE(calls.size() == 1);
    const Transport& call = calls.front();
    const Array& array = division.split.diagram.arrays[at(call.arrays.front())];
    const Transport one =
        transport_of(island, 8, call.by, bytes_of(volume(array, division.problem.sizes).value, DType::bf16));
    CHECK(one.received == call.received);
    CHECK(one.seconds == call.seconds);
    CHECK(one.level == call.level);
  }
}

}  // namespace test_schedule
