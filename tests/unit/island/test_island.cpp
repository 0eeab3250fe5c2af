// Profiles of islands and files of splits: their values, and every mistake that they can have.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/island/island.hpp"
#include "model/island/split.hpp"
#include "model/machine/load.hpp"
#include "tests/support/mistakes.hpp"

namespace test_island {

using namespace napkin;
using namespace napkin::internal;

namespace {

const std::string profile = R"(name: two-boards
about: "a test"
gpu: h100-sxm
levels:
  nvlink:
    joins: {value: 8, unit: nodes, source: "a test"}
    line_rate: {value: 450, unit: GB/s, source: "a test"}
    bandwidth: {value: 370, unit: GB/s, source: "a test"}
    latency: {value: 3.4, unit: us, source: "a test"}
  network:
    joins: {value: 2, unit: nodes, source: "a test"}
    bandwidth: {value: 50, unit: GB/s, source: "a test"}
    latency: {value: 14, unit: us, source: "a test"}
call: {value: 8.4, unit: us, source: "a test"}
)";

const std::string split = R"(split: p
about: a test
algorithm: attention
group: q
stream: x
homes: {Q: q, K: x, V: x, O: q}
parts: f32
)";

}  // namespace

TEST_CASE("the built-in islands are of known GPUs, and their links below the line rate") {
  const std::vector<std::string> expected = {"gb200-nvl72", "hgx-a100-8", "hgx-b200-8", "hgx-h100-8",
                                             "hgx-h200-2",  "hgx-h200-8", "hgx-h800-8"};
  CHECK(builtin_islands() == expected);
  for (const std::string& name : builtin_islands()) {
    CAPTURE(name);
    const Island island = load_island(name, "--gpu");
    CHECK(island.name == name);
    CHECK(is_island(name));
    CHECK_NOTHROW((void)load_machine(island.gpu, "--gpu"));
    CHECK(island.gpus() == Count(std::stoll(name.substr(name.find_last_not_of("0123456789") + 1))));
    REQUIRE(island.links.front().line_rate.has_value());
    CHECK(island.links.front().bandwidth.value < island.links.front().line_rate->value);
  }
  CHECK(load_island("hgx-h100-8", "--gpu").links.front().bandwidth.value == doctest::Approx(370e9));
  CHECK_FALSE(is_island("h100-sxm"));
}

TEST_CASE("a network of islands joins as many GPUs as the product of its levels") {
  const Island island = parse_island(profile, "two-boards.yaml");
  CHECK(island.gpus() == Count(16));
  REQUIRE(island.links.size() == 2);
  CHECK(island.links[1].name == "network");
  CHECK(island.links[1].latency.value == doctest::Approx(14e-6));
  CHECK(island.call.value == doctest::Approx(8.4e-6));
}

TEST_CASE("an island's keys: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"gpu: h100-sxm", "gpu: h100-smx", "3:6: gpu", "unknown GPU 'h100-smx'", "h100-sxm"},
      {"gpu: h100-sxm\n", "", "1:1", "key 'gpu' is missing", "gpu"},
      {"    joins: {value: 8", "    jions: {value: 8", "6:5: levels.nvlink", "unknown key 'jions'", "joins"},
      {"value: 8, unit: nodes", "value: 1, unit: nodes", "6:12: levels.nvlink.joins", "a level that joins one node",
       "2 or more"},
      {"value: 370, unit: GB/s", "value: 470, unit: GB/s", "8:16: levels.nvlink.bandwidth", "more than the line rate",
       "at most line_rate"},
      {"value: 370, unit: GB/s", "value: 370, unit: us", "8:35: levels.nvlink.bandwidth.unit", "us", "GB/s"},
      {"{value: 3.4, unit: us, source: \"a test\"}", "{value: 3.4, unit: us}", "9:14: levels.nvlink.latency", "", ""},
      {"call:", "cal:", "14:1", "unknown key 'cal'", "call"},
  };
  for (const test::Slip& broken : all)
    test::check_refused(
        broken, [&] { return parse_island(test::replaced(profile, broken.old, broken.replacement), "p.yaml"); });
}

TEST_CASE("the built-in splits are of known algorithms") {
  for (const std::string& name : builtin_splits()) {
    CAPTURE(name);
    CHECK(load_split(name, "--split").name == name);
  }
  const Split ring = load_split("ring_attention", "--split");
  CHECK(ring.diagram.axes[at(ring.group)].name == "q");
  REQUIRE(ring.stream.has_value());
  CHECK(ring.parts == DType::f32);
}

TEST_CASE("a split's keys: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"algorithm: attention", "algorithm: atention", "3:12: algorithm", "unknown algorithm", "attention"},
      {"algorithm: attention", "algorithm: convolution_1d", "3:12: algorithm", "other axes than it is stored along",
       ""},
      {"group: q", "group: k", "4:8: group", "'k' is no axis of attention", ""},
      {"stream: x", "stream: q", "5:9: stream", "the axis that is grouped already", "another axis"},
      {"stream: x", "stream: d", "5:9: stream", "one block of Q", "homes: {Q: d}"},
      {"K: x", "K: q", "6:18: homes.K", "K has no axis q", ""},
      {"K: x", "K: everywhere", "5:9: stream", "one block of K", "homes: {K: x}"},
      {", O: q", "", "6:8: homes", "key 'O' is missing", "O"},
      {"parts: f32", "parts: f31", "7:8: parts", "f31", "f32"},
      {"parts: f32\n", "", "5:9: stream", "parts", "parts: f32"},
      {"stream: x\n", "", "6:8: parts", "no axis is streamed", "leave it out"},
      {"split: p", "split: r", "1:8: split", "'r' in a file of another name", "p"},
  };
  CHECK_NOTHROW((void)parse_split(split, "p.yaml"));
  for (const test::Slip& broken : all)
    test::check_refused(broken,
                        [&] { return parse_split(test::replaced(split, broken.old, broken.replacement), "p.yaml"); });
}

}  // namespace test_island
