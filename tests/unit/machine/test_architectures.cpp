// Architectures and products: a product's number replaces its architecture's, each by itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/machine/load.hpp"
#include "model/machine/write.hpp"
#include "tests/support/mistakes.hpp"

namespace test_architectures {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// Returns the text of a product of sm_90 with all required fields, and `more`.
std::string product(const std::string& more, const std::string& pipes = "") {
  return R"(name: mine
about: a product for the tests
architecture: sm_90
levels:
  device: {capacity: {value: 80, unit: GB, source: a datasheet}}
  l2: {capacity: {value: 50, unit: MB, source: a datasheet}}
  shared: {per_parent: {value: 100, unit: nodes, source: a datasheet}}
pipes:
  device: {bandwidth: {value: 3000, unit: GB/s, source: a datasheet}}
)" + pipes +
         R"(clocks:
  maximum: {value: 1.7, unit: GHz, source: a datasheet}
)" + more;
}

Machine machine_of(const std::string& more, const std::string& pipes = "") {
  return parse_machine(product(more, pipes), "mine.yaml");
}

std::string error_of(const std::string& text, const std::string& file = "mine.yaml") {
  return test::refusal_of([&] { return parse_machine(text, file); });
}

void check_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, text, " lacks ", part);
}

}  // namespace

TEST_CASE("a product inherits what its architecture's node does") {
  const Machine mine = machine_of(""), h200 = load_machine("h200-sxm", "--gpu");
  CHECK(mine.compute_nodes() == Count(100));
  CHECK(mine.vendor == "nvidia");
  CHECK(mine.about == "a product for the tests");
  REQUIRE(mine.tensor.size() == h200.tensor.size());
  for (std::size_t i = 0; i < mine.tensor.size(); ++i)
    CHECK(mine.tensor[i].timing.size() == h200.tensor[i].timing.size());
  CHECK(mine.unit("special")->beside_tensor->value == h200.unit("special")->beside_tensor->value);
  CHECK(mine.unit("special")->co_use.beside.size() == 3);
  CHECK(mine.find_pipe("l2")->latency->value == h200.find_pipe("l2")->latency->value);
  CHECK(mine.fitted.size() == h200.fitted.size());
  CHECK(mine.constants.at("tma_box").from.gpu == "h200-sxm");
  CHECK(mine.constants.at("tma_box").from.measured());
  CHECK_FALSE(mine.constants.contains("clock_beside_tensor"));  // a number of the H200 itself
}

TEST_CASE("a product may override any number, of a tensor instruction by name and types") {
  const Machine mine = machine_of(R"(tensor:
  - {name: wgmma, types: [tf32], rate: {value: 512, unit: FLOP/clk, source: a datasheet}}
units:
  special: {rate: {value: 32, unit: results/clk, source: a datasheet}}
limits: {blocks_per_node: {value: 16, unit: blocks, source: a datasheet}}
constants:
  tma_box: {value: 70, unit: clk, source: a datasheet}
fitted:
  issue.serial: {value: 4, unit: clk, source: "fitted: here"}
)");
  CHECK(mine.tensor_for(DType::tf32)->flop_per_clock == 512);
  CHECK(mine.tensor_for(DType::tf32)->k == Count(8));
  CHECK(mine.tensor_for(DType::bf16)->flop_per_clock == 4096);
  CHECK(mine.unit("special")->per_clock.best().value == 32);
  CHECK_FALSE(mine.unit("special")->per_clock.measured);
  CHECK(mine.unit("special")->beside_tensor->value == 12.2);
  CHECK(mine.limits.blocks_per_node == Count(16));
  CHECK(mine.limits.threads_per_node == Count(2048));
  CHECK(mine.constant("tma_box") == 70);
  CHECK(mine.constant("issue.serial") == 4);
}

TEST_CASE("one way to state a bandwidth takes the place of the architecture's other ways") {
  const Machine mine = machine_of("", "  l2: {bandwidth: {value: 5, unit: TB/s, source: a datasheet}}\n");
  const Pipe& l2 = *mine.find_pipe("l2");
  CHECK_FALSE(l2.per_node_clock.known());
  CHECK(bytes_per_second(mine, l2, Hertz(1.7e9)) == 5e12);
  CHECK(l2.latency->value == 279);
}

TEST_CASE("errors stand where the wrong word stands, in the product or in its architecture") {
  check_contains(error_of(product("colour: red\n")), {"mine.yaml:12:1: ", "unknown key 'colour'"});
  check_contains(error_of(product("units:\n  special: {rte: {value: 1, unit: results/clk, source: s}}\n")),
                 {"mine.yaml:13:13: units.special: unknown key 'rte'"});
  std::string without = product("");
  without.erase(without.find("  device: {capacity"),
                without.find("  l2: {capacity") - without.find("  device: {capacity"));
  check_contains(error_of(without), {"hardware_profiles/architectures/sm_90.yaml:", "levels.device: no capacity",
                                     "in the product's file mine.yaml"});
  std::string other = product("");
  other.replace(other.find("sm_90"), 5, "sm_91");
  check_contains(error_of(other), {"mine.yaml:3:15: architecture: no file says what a node of 'sm_91' does",
                                   "did you mean 'sm_90'?", "a whole machine"});
  std::string nameless = product("");
  nameless.replace(nameless.find("sm_90"), 5, "\"\"");
  check_contains(error_of(nameless),
                 {"mine.yaml:3:15: architecture: no file says what a node of '' does", "one of ", "sm_90"});
  CHECK(
      error_of(product("tensor:\n  - {name: wgmma, types: [f16, bf16], rate: {value: 1, unit: FLOP/clk, source: s}}\n"))
          .find("shape") != std::string::npos);
}

TEST_CASE("a rate without its clocks is refused, lower or higher: the architecture's decide") {
  for (const char* rate : {"1024", "8192"}) {
    CAPTURE(rate);
    check_contains(error_of(product("tensor:\n  - {name: wgmma, types: [bf16, f16], rate: {value: " +
                                    std::string(rate) + ", unit: FLOP/clk, source: s}}\n")),
                   {"mine.yaml:13:45: tensor[0].rate: without timing", "rows"});
  }
  const std::string clocks =
      "tensor:\n  - {name: wgmma, types: [bf16, f16], timing: {unit: clk, source: s, rows: "
      "[{n: 256, a_shared: ";
  CHECK(instruction_clocks(*machine_of(clocks + "200}]}}\n").tensor_for(DType::bf16), 256, false) == 200);
  check_contains(error_of(product(clocks + "64}]}}\n")), {"mine.yaml:13:", "fewer clocks than the rate allows"});
  const Machine h20 = load_machine("h20", "--gpu");
  CHECK(instruction_clocks(*h20.tensor_for(DType::bf16), 128, false) == 256);
}

TEST_CASE("no more is kept in the L2 than it holds") {
  const auto keeps = [](const char* megabytes) {
    return product("constants:\n  l2_working_set: {value: " + std::string(megabytes) + ", unit: MB, source: s}\n");
  };
  CHECK(parse_machine(keeps("50"), "mine.yaml").constants.at("l2_working_set").value == 50e6);
  check_contains(error_of(keeps("51")), {"mine.yaml:13:", "constants.l2_working_set: more than l2 holds"});
}

TEST_CASE("a file of one's own may have its own architecture beside it") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "napkin_test_architectures";
  std::filesystem::create_directories(folder / "architectures");
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != "hardware_profiles/architectures/sm_90.yaml") continue;
    std::string text(file.text);
    text.replace(text.find("sm_90"), 5, "sm_99");
    std::ofstream(folder / "architectures" / "sm_99.yaml") << text;
  }
  std::string text = product("");
  text.replace(text.find("sm_90"), 5, "sm_99");
  const std::string path = (folder / "mine.yaml").string();
  std::ofstream(path) << text;
  CHECK(load_machine(path, "--gpu").architecture == "sm_99");
  std::filesystem::remove_all(folder);
  CHECK(error_of(text).find("sm_99") != std::string::npos);
}

TEST_CASE("a whole machine in one file inherits nothing, whatever its architecture is called") {
  const Machine paper = load_machine("paper-h100", "--gpu");
  CHECK(paper.architecture == "sm_90");
  CHECK(paper.constants.empty());
  const Machine again = parse_machine(profile_text(load_machine("h100-pcie", "--gpu")), "written.yaml");
  CHECK(again.constants.size() == load_machine("h100-pcie", "--gpu").constants.size());
  CHECK(again.constants.at("tma_box").from.gpu == "h200-sxm");
}

TEST_CASE("an alias is another name of one product") {
  CHECK(load_machine("a800", "--gpu").name == "a100-sxm-80");
  CHECK(load_machine("h800", "--gpu").name == "h800-sxm");
  const auto aliases = builtin_aliases();
  CHECK(std::find(aliases.begin(), aliases.end(), std::pair<std::string, std::string>("a800", "a100-sxm-80")) !=
        aliases.end());
  CHECK_THROWS_AS((void)load_machine("a80", "--gpu"), Error);
}

TEST_CASE("a product is under forty lines, and each architecture has one") {
  std::vector<std::string> used;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("hardware_profiles/") || file.path.starts_with("hardware_profiles/architectures/") ||
        file.path.starts_with("hardware_profiles/islands/"))
      continue;
    CAPTURE(file.path);
    const Machine machine = parse_machine(file.text, std::string(file.path));
    used.push_back(machine.architecture);
    if (machine.name != "paper-h100") CHECK(std::count(file.text.begin(), file.text.end(), '\n') < 40);
  }
  for (const std::string& name : builtin_architectures())
    CHECK(std::find(used.begin(), used.end(), name) != used.end());
}

}  // namespace test_architectures
