// At other lengths the rules of lengths alone accept a tile exactly if all rules do.
#include "solver/space/length_rules.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "model/resource/resources.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_moved_tiles {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

TEST_CASE("where a tile is legal at some lengths, the rules that read lengths decide at others") {
  std::mt19937 random(43);
  const auto length = [&](int most) {
    return 1 + static_cast<std::int64_t>(random() % (1U << (random() % static_cast<unsigned>(most))));
  };
  int legal = 0, illegal = 0;
  for (const char* kernel : {"attention_sm90", "attention_decode_sm90", "matmul_sm90"}) {
    CAPTURE(kernel);
    const bool product = std::string(kernel) == "matmul_sm90";
    const auto shape = [&]() -> test::Shape {
      if (product) return {{"a", 64 * length(7)}, {"b", 64 * length(7)}, {"c", 64 * length(7)}};
      return {{"b", length(4)}, {"h", 4}, {"g", 4}, {"q", length(13)}, {"x", length(15)}, {"d", 128}};
    };
    // sizes that fill whole clusters
    const test::Shape even = product ? test::Shape{{"a", 4096}, {"b", 4096}, {"c", 4096}}
                                     : test::Shape{{"b", 2}, {"h", 4}, {"g", 4}, {"q", 4096}, {"x", 4096}, {"d", 128}};
    const LaidOut laid(kernel, "h200-sxm", even, DType::bf16);
    const LengthRules rules(laid.streamed, laid.mapping, laid.machine, laid.problem);
    for (int i = 0; i < test::rounds(3000); ++i) {
      Tile tile;
      for (const Knob& knob : laid.mapping.knobs) tile.values.push_back(knob.domain[random() % knob.domain.size()]);
      const PlacedDiagram placed = laid.placer->place(tile);
      if (!violations(placed, plan(placed)).empty()) continue;
      const LaidOut there(kernel, "h200-sxm", shape(), DType::bf16);
      const PlacedDiagram moved = there.placer->place(tile);
      const bool holds = rules.hold(laid.streamed, laid.mapping, laid.machine, there.problem, tile);
      CHECK(holds == violations(moved, plan(moved)).empty());
      ++(holds ? legal : illegal);
    }
  }
  MESSAGE(legal << " legal, " << illegal << " not");
  CHECK(legal > 0);
  if (test::rounds(100) == 100) CHECK(illegal > 0);
}

}  // namespace test_moved_tiles
