// Query heads that share a key head: a kernel that packs a group into the rows of a tile has the answer for that many
// queries of one head, and every forward kernel has a tile for them on the GPUs that it runs on.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "napkin/napkin.hpp"
#include "tests/support/layout.hpp"

namespace test_grouped_heads {

using namespace napkin;
using namespace napkin::internal;

namespace {

Ask asked(const std::string& kernel, const std::string& gpu, NamedSizes shape, bool causal = false) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = gpu;
  ask.kernel = kernel;
  ask.shape = std::move(shape);
  if (causal) ask.mask.kind = Mask::Kind::causal;
  return ask;
}

NamedSizes heads(std::int64_t b, std::int64_t h, std::int64_t g, std::int64_t q, std::int64_t x, std::int64_t d) {
  return {{"b", b}, {"h", h}, {"g", g}, {"q", q}, {"x", x}, {"d", d}};
}

std::vector<std::string> forward_kernels() {
  std::vector<std::string> all = bundled_mappings("attention");
  for (const std::string& name : peers_mappings("attention")) all.push_back(name);
  return all;
}

/// Returns a GPU of each architecture that the kernel runs on.
std::vector<std::string> gpus_of(const Mapping& mapping) {
  std::vector<std::string> out, known;
  for (const std::string& gpu : builtin_machines()) {
    const Machine& machine = test::built_in_machine(gpu);
    if (!runs_on(mapping, machine) || lists(known, machine.architecture)) continue;
    known.push_back(machine.architecture);
    out.push_back(gpu);
  }
  return out;
}

}  // namespace

TEST_CASE("a group of heads with one query each is as many queries of one head, to the digit, where a kernel packs") {
  int packing = 0;
  for (const std::string& kernel : forward_kernels()) {
    const Mapping& mapping = test::built_in_mapping(kernel);
    if (mapping.packs.empty()) continue;
    ++packing;
    int answered = 0;
    for (const std::string& gpu : gpus_of(mapping)) {
      for (const bool causal : {false, true}) {
        for (const auto& sizes : {std::pair<std::int64_t, std::int64_t>{8, 4096}, {7, 1000}, {32, 2048}}) {
          const std::int64_t g = sizes.first, x = sizes.second;
          CAPTURE(kernel);
          CAPTURE(gpu);
          CAPTURE(g);
          CAPTURE(causal);
          const auto grouped = select(asked(kernel, gpu, heads(4, 8, g, 1, x, 128), causal));
          const auto packed = select(asked(kernel, gpu, heads(4, 8, 1, g, x, 128)));
          REQUIRE(grouped->predicted.has_value() == packed->predicted.has_value());
          if (!grouped->predicted) continue;  // a kernel for more rows, or for fewer
          ++answered;
          CHECK(grouped->predicted->time == packed->predicted->time);
          CHECK(grouped->predicted->tflops == packed->predicted->tflops);
          REQUIRE(grouped->levels.size() == packed->levels.size());
          for (std::size_t i = 0; i < grouped->levels.size(); ++i)
            CHECK(grouped->levels[i].load == packed->levels[i].load);
        }
      }
    }
    CHECK_MESSAGE(answered > 0, kernel);
  }
  CHECK(packing >= 3);
}

TEST_CASE("two queries a head, or a window that hides keys, are not packed as one is") {
  const auto time = [](NamedSizes shape, Mask mask) {
    Ask ask = asked("flash_decoding", "a100-sxm-80", std::move(shape));
    ask.mask = mask;
    return select(ask)->predicted->time;
  };
  CHECK(time(heads(8, 8, 8, 1, 8192, 128), {}) < 0.5 * time(heads(8, 8, 8, 2, 8192, 128), {}));
  const Mask window{Mask::Kind::window, 4096, 0}, wide{Mask::Kind::window, 8192, 0};
  CHECK(time(heads(8, 8, 8, 1, 8192, 128), wide) == time(heads(8, 8, 8, 1, 8192, 128), {}));
  CHECK(time(heads(8, 8, 8, 1, 8192, 128), window) > time(heads(8, 8, 8, 1, 4096, 128), {}));
}

TEST_CASE("every forward kernel has a tile for grouped heads wherever it has one for the same heads by themselves") {
  for (const std::string& kernel : forward_kernels()) {
    const Mapping& mapping = test::built_in_mapping(kernel);
    const auto taken = [](const std::vector<std::string>& all, const char* one) {
      return all.empty() || lists(all, one);
    };
    if (!taken(mapping.dtypes, "bf16")) continue;
    for (const std::string& gpu : gpus_of(mapping)) {
      CAPTURE(kernel);
      CAPTURE(gpu);
      const NamedSizes apart = heads(2, 64, 1, 1024, 1024, 128), grouped = heads(2, 8, 8, 1024, 1024, 128);
      const auto alone = select(asked(kernel, gpu, apart)), together = select(asked(kernel, gpu, grouped));
      if (!alone->found) continue;
      REQUIRE(together->found);
      CHECK(together->predicted->time < 1.1 * alone->predicted->time);
    }
  }
}

}  // namespace test_grouped_heads
