// Problems as a kernel sees them if it packs heads into queries or pads: worked out by hand; and the mistakes of such a
// mapping.

#include <doctest/doctest.h>

#include "model/base/library.hpp"
#include "model/mapping/asked.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_asked {

using namespace napkin;
using namespace napkin::internal;

namespace {

Mapping packing(std::int64_t up_to) {
  Mapping mapping;
  mapping.packs = {{"g", "q", up_to, {}}};
  return mapping;
}

Problem problem_of(const Diagram& diagram, const testing::Given& shape, Mask mask = {}) {
  return {resolve_sizes(diagram, shape, "--shape"), mask, DType::bf16};
}

std::string refusal(const std::string& from, const std::string& to) {
  const std::string text(embedded_file("kernels/attention/mappings/flash_decoding.yaml").text);
  return test::refusal_of([&] {
    const Mapping m = parse_mapping(test::replaced(text, from, to), "flash_decoding.yaml");
    check(m, load_diagram("attention"));
  });
}

}  // namespace

TEST_CASE("heads become queries up to so many, where no mask hides a key") {
  const Diagram diagram = load_diagram("attention");
  const auto size = [&](const Problem& p, const char* axis) {
    return p.sizes[static_cast<std::size_t>(diagram.axis(axis))].get();
  };
  const testing::Given one{{"h", 4}, {"g", 6}, {"q", 1}, {"x", 100}, {"d", 64}};
  testing::Given two = one;
  two[2].second = 2;
  const Mask causal{Mask::Kind::causal, 0, 0};
  for (const Mask mask : {Mask{}, causal}) {
    const Problem out = asked_of(packing(1), diagram, problem_of(diagram, one, mask));
    CHECK(size(out, "q") == 6);
    CHECK(size(out, "g") == 1);
    CHECK(size(out, "h") == 4);
    CHECK(out.mask.kind == Mask::Kind::none);
  }
  CHECK(size(asked_of(packing(1), diagram, problem_of(diagram, two)), "q") == 2);
  CHECK(size(asked_of(packing(0), diagram, problem_of(diagram, two)), "q") == 12);
  const Problem masked = asked_of(packing(0), diagram, problem_of(diagram, two, causal));
  CHECK(size(masked, "g") == 6);
  CHECK(masked.mask == causal);
}

TEST_CASE("keys that a window hides from single queries are left out where the kernel deals out the others") {
  const Diagram diagram = load_diagram("attention");
  const auto keys = [&](const Problem& p) { return p.sizes[static_cast<std::size_t>(diagram.axis("x"))].get(); };
  const testing::Given one{{"h", 4}, {"g", 6}, {"q", 1}, {"x", 100}, {"d", 64}};
  testing::Given two = one;
  two[2].second = 2;
  const Mask window{Mask::Kind::window, 9, 0}, wide{Mask::Kind::window, 200, 3};
  Mapping visible = packing(1), all = packing(1);
  visible.deals_visible = true;
  const Problem local = asked_of(visible, diagram, problem_of(diagram, one, window));
  CHECK(keys(local) == 10);
  CHECK(local.mask == Mask{});
  CHECK(local.sizes[static_cast<std::size_t>(diagram.axis("q"))] == Count(6));  // and heads are packed
  CHECK(keys(asked_of(visible, diagram, problem_of(diagram, one, wide))) == 100);
  CHECK(asked_of(all, diagram, problem_of(diagram, one, window)).mask == window);
  CHECK(asked_of(visible, diagram, problem_of(diagram, two, window)).mask == window);
  Problem packed = problem_of(diagram, {{"b", 2}, {"h", 2}, {"q", 1}, {"x", 50}, {"d", 64}}, window);
  packed.packing = {diagram.axis("b"), diagram.axis("q"), diagram.axis("x"), {{1, 50}, {1, 7}}};
  const Problem seen = asked_of(visible, diagram, packed);
  CHECK(seen.packing.sequences == std::vector<SequenceLengths>{{1, 10}, {1, 7}});
  CHECK(keys(seen) == 10);
  packed.packing.sequences[0].q = 3;
  CHECK(asked_of(visible, diagram, packed).mask == window);
}

TEST_CASE("packed sequences of one query each have a group's heads as queries too") {
  const Diagram diagram = load_diagram("attention");
  Problem problem = problem_of(diagram, {{"b", 3}, {"h", 2}, {"g", 4}, {"q", 1}, {"x", 50}, {"d", 64}});
  problem.packing = {diagram.axis("b"), diagram.axis("q"), diagram.axis("x"), {{1, 50}, {1, 7}, {0, 9}}};
  problem.mask.kind = Mask::Kind::causal;
  const std::vector<SequenceLengths> expected{{4, 50}, {4, 7}, {0, 9}};
  CHECK(asked_of(packing(1), diagram, problem).packing.sequences == expected);
}

TEST_CASE("mistakes of packs and of padded sizes are named") {
  const std::string packs = "packs: {g: {into: q, up_to: 1}}";
  CHECK(refusal(packs, "packs: {g: {into: k, up_to: 1}}").find("unknown axis 'k'") != std::string::npos);
  CHECK(refusal(packs, "packs: {g: {into: g}}").find("an axis into itself") != std::string::npos);
  CHECK(refusal(packs, "packs: {h: {into: q}}").find("has one of h and q without the other") != std::string::npos);
  CHECK(refusal("sizes: {d:", "sizes: {x: {pad_to: [64]}, d:").find("divided among blocks or chunks") !=
        std::string::npos);
}

}  // namespace test_asked
