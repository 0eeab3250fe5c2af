#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_mapping_cores {

using namespace napkin;
using namespace napkin::internal;

namespace {

std::string forward() {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == "kernels/attention/mappings/ascend_forward.yaml") return std::string(file.text);
  }
  return {};
}

/// Returns the error of the mapping with `to` in place of `from` on that machine; empty if there is none.
std::string refusal(const std::string& from, const std::string& to, const std::string& gpu = "ascend-910b2") {
  const std::string text = test::replaced(forward(), from, to);
  try {
    const testing::Mapped mapped(load_diagram("attention"), parse_mapping(text, "m.yaml"), load_machine(gpu, "--gpu"),
                                 {{"q", 256}, {"x", 256}, {"d", 128}});
    (void)mapped.place({});
  } catch (const Error& error) {
    return error.where() + ": " + error.problem() + ": " + error.right();
  }
  return {};
}

}  // namespace

TEST_CASE("agents that are cores: what does not fit is told with its place") {
  CHECK(refusal("core: cube}", "core: cube}").empty());
  for (const auto& [from, to, says] : std::vector<std::array<const char*, 3>>{
           {"core: cube}", "core: cubes}", "has no core 'cubes'"},
           {"core: cube}", "threads: 32}", "threads beside cores"},
           {"copies: 1 + preload", "copies: preload", "'preload' may be 0"},
           {"copies: 1 + preload", "copies: 1 + preloads", "unknown knob 'preloads'"},
           {"domain: [128, 64]", "domain: [0, 64]", "0 of an axis"},
           {"more_than: [preload]", "more_than: [preload], at_most: [8]", "exactly one comparison"}}) {
    const std::string said = refusal(from, to);
    CAPTURE(said);
    CHECK(said.starts_with("m.yaml:"));
    CHECK(said.find(says) != std::string::npos);
  }
  CHECK(refusal("core: cube}", "core: cube}", "h200-sxm").find("has no level 'l1'") != std::string::npos);
}

TEST_CASE("parts of a result that leave need an engine that adds") {
  std::string text;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == "kernels/attention/mappings/ascend_backward.yaml") text = std::string(file.text);
  }
  const std::string added = "level: l0c, scope: agent, type: f32, engine: atomic, staging: true, alias: dV_part";
  const std::size_t at = text.find(added);
  REQUIRE(at != std::string::npos);
  text.replace(at, added.size(), "level: l0c, scope: agent, type: f32, staging: true, alias: dV_part");
  const testing::Mapped mapped(load_diagram("attention_backward"), parse_mapping(text, "m.yaml"),
                               load_machine("ascend-950pr", "--gpu"), {{"q", 256}, {"x", 256}, {"d", 128}});
  CHECK_NOTHROW((void)mapped.place({{"l0c", "kept"}}));
  CHECK_THROWS_WITH_AS((void)mapped.place({{"l0c", "added"}}), doctest::Contains("'dV'"), Error);
}

TEST_CASE("a knob may be 0 where its domain says so, and 1 + knob counts from there") {
  const testing::Mapped mapped("attention", "ascend_forward", "ascend-910b2", {{"q", 256}, {"x", 256}, {"d", 128}});
  const auto copies = [&](const char* preload) {
    const PlacedDiagram placed = mapped.place({{"preload", preload}});
    for (const Variable& v : placed.variables) {
      if (mapped.mapping.variables[static_cast<std::size_t>(v.mapping)].name == "delta") return v.copies.get();
    }
    return std::int64_t{-1};
  };
  CHECK(copies("0") == 1);
  CHECK(copies("4") == 5);
  CHECK_THROWS_AS((void)mapped.tile({{"qk_depth", "0"}}), Error);
}

}  // namespace test_mapping_cores
