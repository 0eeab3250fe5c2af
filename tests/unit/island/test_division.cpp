// Transfers of divisions: the closed forms to the byte, compared with counts on simulated GPUs.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/island/devices.hpp"
#include "model/island/division.hpp"

namespace test_division {

using namespace napkin;
using namespace napkin::internal;

namespace {

using Given = std::vector<std::pair<std::string, std::int64_t>>;

Division division_of(const std::string& split, const Given& shape, std::int64_t gpus,
                     PartOrder order = PartOrder::contiguous, Mask::Kind mask = Mask::Kind::none) {
  Division out;
  out.split = load_split(split, "--split");
  out.problem.sizes = resolve_sizes(out.split.diagram, shape, "--shape");
  out.problem.mask.kind = mask;
  out.gpus = gpus;
  out.order = order;
  check(out, "--shape");
  return out;
}

std::int64_t received(const Division& division, const std::string& array) {
  const ArrayId id = division.split.diagram.array(array);
  for (const Moved& one : moved(division)) {
    if (one.array == id) return one.received.value.get();
  }
  return -1;
}

/// Compares the closed forms with the values that crossed between memories, and the result with the whole algorithm's.
void check_run(const Division& division) {
  const Diagram& diagram = division.split.diagram;
  const Tensors inputs = random_inputs(diagram, division.problem.sizes, 7);
  const DevicesRun run = run_devices(division, inputs);
  for (const Moved& one : moved(division)) {
    const std::string& name = diagram.arrays[at(one.array)].name;
    CAPTURE(name);
    Count all;
    for (std::int64_t gpu = 0; gpu < division.gpus; ++gpu) {
      const Count here = run.received[static_cast<std::size_t>(gpu)][at(one.array)];
      all += bytes_of(here, division.problem.dtype).value;
      if (one.by != Carrier::all_reduce) CHECK(bytes_of(here, division.problem.dtype) == one.received);
    }
    CHECK(all == one.all.value);
  }
  const Run whole = run_unfused(diagram, division.problem, inputs);
  for (const auto& output : whole.outputs) {
    CAPTURE(output.first);
    CHECK(difference(output.second, run.outputs.at(output.first)) <= 1e-12 * largest(output.second));
  }
}

}  // namespace

TEST_CASE("a ring brings (p - 1) / p of K and V to each GPU") {
  for (const std::int64_t p : {2, 4, 8}) {
    const Division division =
        division_of("ring_attention", {{"h", 8}, {"g", 4}, {"q", 65536}, {"x", 65536}, {"d", 128}}, p);
    const std::int64_t whole = 8 * 65536 * 128 * 2;  // bytes of K, and of V
    CHECK(received(division, "K") == whole * (p - 1) / p);
    CHECK(received(division, "V") == whole * (p - 1) / p);
    CHECK(received(division, "Q") == 0);
    CHECK(received(division, "O") == 0);
  }
}

TEST_CASE("an all-to-all by heads brings (p - 1) / p^2 of every array to each GPU") {
  const std::int64_t p = 4;
  const Division division =
      division_of("all_to_all_heads", {{"h", 8}, {"g", 2}, {"q", 4096}, {"x", 8192}, {"d", 64}}, p);
  CHECK(received(division, "Q") == 8 * 2 * 4096 * 64 * 2 * (p - 1) / (p * p));
  CHECK(received(division, "K") == 8 * 8192 * 64 * 2 * (p - 1) / (p * p));
  CHECK(received(division, "O") == 8 * 2 * 4096 * 64 * 2 * (p - 1) / (p * p));
}

TEST_CASE("reduce-scatter, all-reduce and all-gather of tensor-parallel products by their closed forms") {
  const Given shape{{"a", 4096}, {"b", 8192}, {"c", 2048}};
  const std::int64_t p = 8, A = 4096 * 8192 * 2, C = 4096 * 2048 * 2;
  const Division scattered = division_of("tensor_parallel_reduce_scatter", shape, p);
  CHECK(received(scattered, "C") == C * (p - 1) / p);
  CHECK(received(scattered, "A") == 0);
  CHECK(received(scattered, "B") == 0);
  CHECK(received(division_of("tensor_parallel_all_reduce", shape, p), "C") == 2 * C * (p - 1) / p);
  const Division gathered = division_of("tensor_parallel_all_gather", shape, p);
  CHECK(received(gathered, "A") == A * (p - 1) / p);
  CHECK(received(gathered, "C") == 0);
}

TEST_CASE("simulated GPUs count what the closed forms say, and compute what one does") {
  for (const std::int64_t p : {1, 2, 3, 4}) {
    CAPTURE(p);
    const std::int64_t n = 24;
    const Given attention{{"b", 2}, {"h", 12}, {"g", 2}, {"q", n}, {"x", n}, {"d", 3}, {"dv", 5}};
    check_run(division_of("ring_attention", attention, p));
    check_run(division_of("ring_attention", {{"h", 2}, {"q", 12}, {"x", 36}, {"d", 4}}, p));
    check_run(division_of("ring_attention", attention, p, PartOrder::contiguous, Mask::Kind::causal));
    check_run(division_of("ring_attention", attention, p, PartOrder::zigzag, Mask::Kind::causal));
    check_run(division_of("all_to_all_heads", attention, p));
    check_run(division_of("all_to_all_heads", attention, p, PartOrder::contiguous, Mask::Kind::causal));
    check_run(division_of("head_parallel", attention, p, PartOrder::contiguous, Mask::Kind::window));
    check_run(division_of("batch_parallel", {{"b", 12}, {"h", 2}, {"q", 1}, {"x", 9}, {"d", 4}}, p));
    const Given product{{"a", 12}, {"b", 24}, {"c", 36}};
    check_run(division_of("tensor_parallel_reduce_scatter", product, p));
    check_run(division_of("tensor_parallel_all_reduce", product, p));
    check_run(division_of("tensor_parallel_all_gather", product, p));
  }
}

TEST_CASE("zigzag gives every GPU the same causal work in every step, contiguous parts do not") {
  const Given shape{{"h", 1}, {"q", 96}, {"x", 96}, {"d", 2}};
  for (const std::int64_t p : {2, 3, 4, 6}) {
    CAPTURE(p);
    const Division zigzag = division_of("ring_attention", shape, p, PartOrder::zigzag, Mask::Kind::causal);
    const Division contiguous = division_of("ring_attention", shape, p, PartOrder::contiguous, Mask::Kind::causal);
    Count all, least = 96 * 96, most = 0;
    const std::int64_t part = 96 / (2 * p);
    for (std::int64_t gpu = 0; gpu < p; ++gpu) {
      const auto steps = steps_of(zigzag, gpu);
      // Parts r and 2p - 1 - r, counted pair by pair.
      Count seen;
      for (const std::int64_t mine : {gpu, 2 * p - 1 - gpu}) {
        for (std::int64_t row = mine * part; row < (mine + 1) * part; ++row) seen += Count(row + 1);
      }
      CHECK(pairs_of(zigzag, steps) == seen);
      all += seen;
      // For every GPU each step but the first has 2 part^2 pairs; the first has `part` more.
      for (std::size_t t = 1; t < steps.size(); ++t) CHECK(pairs_of(zigzag, {steps[t]}) == Count(2 * part * part));
      CHECK(pairs_of(zigzag, {steps[0]}) == Count(part * (2 * part + 1)));
      const Count one = pairs_of(contiguous, steps_of(contiguous, gpu));
      least = std::min(least, one);
      most = std::max(most, one);
    }
    CHECK(all == visible_pairs({Mask::Kind::causal}, 96, 96));
    // most is the last GPU's work, least the first one's
    CHECK(real(most) / real(least) > 1.9 * static_cast<double>(p) - 1.9);
  }
}

TEST_CASE("sizes and masks that cannot be dealt out are refused with what would be right") {
  const auto refused = [](const auto& make, const std::string& problem) {
    std::string what;
    try {
      (void)make();
    } catch (const Error& error) {
      what = error.what();
    }
    CHECK_MESSAGE(what.find(problem) != std::string::npos, what);
  };
  const Given shape{{"h", 4}, {"q", 1000}, {"x", 1000}, {"d", 8}};
  refused([&] { return division_of("ring_attention", shape, 3); }, "q=1000 does not divide into 3 parts");
  refused([&] { return division_of("ring_attention", shape, 8, PartOrder::zigzag, Mask::Kind::causal); },
          "a multiple of 16");
  refused([&] { return division_of("all_to_all_heads", shape, 8); }, "h=4 does not divide into 8 parts");
  refused([&] { return division_of("ring_attention", shape, 4, PartOrder::contiguous, Mask::Kind::window); },
          "takes no window");
  refused([&] { return division_of("ring_attention", shape, 4, PartOrder::zigzag); }, "zigzag balances a causal mask");
  refused(
      [] {
        return division_of("ring_attention", {{"q", 8}, {"x", 16}, {"d", 8}}, 4, PartOrder::contiguous,
                           Mask::Kind::causal);
      },
      "8 rows and 16 columns");
}

}  // namespace test_division
