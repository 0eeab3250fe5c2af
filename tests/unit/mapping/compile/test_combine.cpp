// The section `combine` of a mapping: its values, and the mappings that may have it.

#include <doctest/doctest.h>

#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_combine {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Mapped;

std::string text_with(const std::string& combine, const std::string& group = "a, b, c",
                      const std::string& engine = "plain") {
  return R"(mapping: split
algorithm: matmul
runs_on: [sm_80+]
knobs:
  a: {unit: rows, domain: [64]}
  b: {unit: columns, domain: [32]}
  shared.b: {unit: columns, domain: [128]}
levels:
  shared: {group: [)" +
         group + R"(], stream: [b]}
arrays:
  A: {level: shared, type: T}
  B: {level: shared, type: T}
  C: {level: shared, type: f32, engine: )" +
         engine + R"(}
operations:
  C: {unit: vector}
)" + combine;
}

std::string refusal(const std::string& text) {
  return test::refusal_of([&] {
    return Mapped(load_diagram("matmul"), parse_mapping(text, "m.yaml"), load_machine("h200-sxm", "--gpu"),
                  {{"a", 64}, {"b", 256}, {"c", 8}});
  });
}

CombineMapping::By chosen(const std::string& text, int* at = nullptr) {
  const Mapped m(load_diagram("matmul"), parse_mapping(text, "m.yaml"), load_machine("h200-sxm", "--gpu"),
                 {{"a", 64}, {"b", 256}, {"c", 8}});
  const PlacedDiagram p = m.place({});
  if (at != nullptr) *at = p.combine->at;
  return p.combine->by;
}

TEST_CASE("where the mapping says nothing: added where the engine adds, else by a second launch") {
  int at = 7;
  CHECK(chosen(text_with(""), &at) == CombineMapping::By::launch);
  CHECK(at == -1);
  CHECK(chosen(text_with("", "a, b, c", "atomic"), &at) == CombineMapping::By::adds);
  CHECK(at == 0);  // the L2
  CHECK(chosen(text_with("combine: {by: adds, at: device}", "a, b, c", "bulk_reduce"), &at) ==
        CombineMapping::By::adds);
  CHECK(at == -1);
  CHECK(chosen(text_with("combine: {by: launch}", "a, b, c", "atomic")) == CombineMapping::By::launch);
  CHECK(chosen(text_with("combine: {by: last}")) == CombineMapping::By::last);
  CHECK(chosen(text_with("combine: {by: turns, at: l2, values: [C]}")) == CombineMapping::By::turns);
}

TEST_CASE("every mistake has its place, its field and what would be right") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"combine: {at: l2}", "by"},
      {"combine: {by: luck}", "combine.by"},
      {"combine: {by: launch, at: l2}", "no 'at'"},
      {"combine: {by: launch, values: [C]}", "no 'values'"},
      {"combine: {by: turns, at: l2}", "values"},
      {"combine: {by: turns, values: [C]}", "at"},
      {"combine: {by: turns, at: l2, values: []}", "no value"},
      {"combine: {by: turns, at: l7, values: [C]}", "has no level 'l7'"},
      {"combine: {by: turns, at: shared, values: [C]}", "do not meet in 'shared'"},
      {"combine: {by: turns, at: cluster, values: [C]}", "do not meet in 'cluster'"},
      {"combine: {by: turns, at: l2, values: [D]}", "unknown array 'D'"},
      {"combine: {by: turns, at: l2, values: [A]}", "'C' is missing"},
      {"combine: {by: turns, at: l2, values: [C, A]}", "'A' is no part of a result"},
      {"combine: {by: adds, at: l2}", "not every part is a sum"},
      {"combine: {by: turns, at: l2, values: [C], sync: 3}", "sync"},
  };
  for (const auto& mistake : mistakes) {
    const std::string combine = mistake.first, message = refusal(text_with(combine));
    CAPTURE(combine);
    CAPTURE(message);
    CHECK(message.find(mistake.second) != std::string::npos);
    CHECK(message.rfind("m.yaml:", 0) == 0);
  }
  CHECK(refusal(text_with("combine: {by: launch}", "a, c")).find("no result has parts") != std::string::npos);
}

TEST_CASE("a weighted sum needs the maximum and the sum that go with it") {
  Mapping mapping = load_mapping("split_keys_ordered", "--kernel");
  mapping.combine->values = {"O"};
  const Diagram d = load_diagram("attention");
  CHECK_THROWS_WITH_AS(Mapped(d, mapping, load_machine("h200-sxm", "--gpu"), {{"q", 64}, {"x", 64}, {"d", 64}}),
                       doctest::Contains("'mu' is missing"), Error);
}

}  // namespace

}  // namespace test_combine
