// The arrays that the main one of several launches computes, and products that warps divide in another way than the
// block: FlashAttention's backward passes.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_launches {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Mapped;

const PlacedOperation& made(const PlacedDiagram& placed, const std::string& name) {
  const Diagram& d = placed.streamed->diagram;
  for (const PlacedOperation& op : placed.operations) {
    if (d.operations[static_cast<std::size_t>(op.operation)].outputs.front() == d.array(name)) return op;
  }
  FAIL("no operation makes it: ", name);
  return placed.operations.front();
}

std::string first_operand(const PlacedDiagram& placed, const PlacedOperation& op) {
  return placed.streamed->diagram.arrays[static_cast<std::size_t>(op.operands.front().first)].name;
}

std::string refusal(const std::string& operation, const std::string& launches) {
  const std::string text = R"(mapping: two
algorithm: matmul
runs_on: [sm_80+]
knobs:
  a: {unit: rows, domain: [64]}
  b: {unit: columns, domain: [32]}
levels:
  shared: {group: [a, c], stream: [b]}
launches: [{name: main, operations: [C]}, )" +
                           launches + R"(]
arrays:
  A: {level: shared, type: T}
  B: {level: shared, type: T}
  C: {level: shared, type: f32, engine: plain}
operations:
  C: )" + operation + "\n";
  return test::refusal_of([&] {
    const Mapping m = parse_mapping(text, "m.yaml");
    check(m, load_diagram("matmul"));
  });
}

}  // namespace

TEST_CASE("what another launch computes is no operation of the main one, and its result is an input there") {
  const Mapping m = load_mapping("flash_attention_2_backward", "test");
  const Diagram whole = load_diagram("attention_backward"), main = main_launch(m, whole);
  CHECK(whole.producer(whole.array("Delta")));
  CHECK_FALSE(main.producer(main.array("Delta")));
  CHECK(main.is_input(main.array("Delta")));
  CHECK_FALSE(main.is_input(main.array("O")));
  CHECK(main.operations.size() + 1 == whole.operations.size());
  // A mapping with one launch has the whole diagram.
  const Diagram product = load_diagram("matmul");
  const Mapping one = load_mapping("matmul_sm90", "test");
  CHECK(main_launch(one, product).operations.size() == product.operations.size());
}

TEST_CASE("what the combine does on whole results is no operation of the main launch, whose outputs it reads") {
  const Mapping m = load_mapping("flash_attention_3_split_sink", "test");
  const Diagram whole = load_diagram("sink_attention"), main = main_launch(m, whole);
  CHECK(main.operations.size() == 3);
  CHECK_FALSE(main.is_input(main.array("sink")));
  CHECK(main.outputs.size() == 2);
  for (const char* output : {"O", "L"}) CHECK(main.is_output(main.array(output)));
  CHECK(streamed_by(m, whole).combines.size() == 2);
}

TEST_CASE("what a combine cannot do is refused where the mapping says it") {
  const auto refused = [](const std::string& combine, const std::string& what) {
    const std::string text =
        "mapping: own\nextends: flash_attention_3_split\nalgorithm: sink_attention\ncombine: " + combine + "\n";
    const std::string error =
        test::refusal_of([&] { (void)streamed_by(parse_mapping(text, "own.yaml"), load_diagram("sink_attention")); });
    CAPTURE(error);
    CHECK(error.find("own.yaml:4:") == 0);
    CHECK(error.find(what) != std::string::npos);
  };
  refused("{by: launch, operations: [D]}", "'F' reads 'D' before the parts are combined");
  refused("{by: last, operations: [P, O, D, F, Y]}", "'P' is a sum, or a softmax");
  refused("{by: launch, operations: [sink, D, F, Y]}", "no operation of sink_attention makes 'sink'");
  refused("{by: launch, operations: [D, F, Y, X]}", "no operation of sink_attention makes 'X'");
  refused("{by: turns, at: l2, values: [mu, z, O], operations: [D, F, Y]}", "no group has a whole result by turns");
}

TEST_CASE("swap_ab: the product is made transposed, so rows, columns and operands change places") {
  const Mapped m("attention_backward", "flash_attention_3_backward", "h100-sxm",
                 {{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}});
  const PlacedDiagram placed = m.place({{"q", "80"}});
  const PlacedOperation &s = made(placed, "S"), &dv = made(placed, "dV"), &dq = made(placed, "dQ");
  CHECK(s.m == 128);  // keys
  CHECK(s.n == 80);   // queries
  CHECK(s.row_parts == 2);
  CHECK(first_operand(placed, s) == "K");
  CHECK(dv.m == 128);
  CHECK(dv.n == 128);
  CHECK(dv.a_from_registers);
  CHECK(dq.m == 128);  // 128 rows of d, since the product is transposed at 80 queries
  CHECK(dq.n == 80);
  const PlacedDiagram other = m.place({{"q", "64"}});
  CHECK(made(other, "dQ").m == 64);
  CHECK(made(other, "dQ").row_parts == 1);
  CHECK(made(other, "dQ").column_parts == 2);
}

TEST_CASE("row_parts: eight warps of FlashAttention-2 divide S by 2 x 4, dV by 4 x 2, dQ by 2 x 4") {
  const Mapped m("attention_backward", "flash_attention_2_backward", "a100-sxm-80",
                 {{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}});
  const PlacedDiagram placed = m.place({{"s_rows", "2"}, {"kv_rows", "4"}, {"dq_rows", "2"}});
  for (const auto& [name, parts] : {std::pair{"S", 2}, {"dP", 2}, {"dV", 4}, {"dK", 4}, {"dQ", 2}}) {
    CHECK(made(placed, name).row_parts == parts);
    CHECK(made(placed, name).column_parts == 8 / parts);
    CHECK(made(placed, name).repeats == 1);
  }
}

TEST_CASE("attention_backward_sm90: a warpgroup makes its share of dQ, of 64 rows the columns, else the rows") {
  const Mapped m("attention_backward", "attention_backward_sm90", "h200-sxm",
                 {{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}});
  for (const auto& [q, rows] : {std::pair{"64", 1}, {"128", 2}}) {
    const PlacedDiagram placed = m.place({{"q", q}, {"x", "128"}, {"warpgroups", "2"}});
    CHECK(made(placed, "dQ").row_parts == rows);
    CHECK(made(placed, "dQ").column_parts == 2 / rows);
    CHECK(made(placed, "dQ").repeats == 1);
    CHECK(first_operand(placed, made(placed, "S")) == "K");  // S is computed transposed
    CHECK(made(placed, "S").n == (rows == 1 ? 64 : 128));
  }
}

TEST_CASE("more_columns: attention_fp8_sm90's P V has eight columns that add up P, unless lanes do") {
  const Mapped m("attention", "attention_fp8_sm90", "h200-sxm",
                 {{"b", 1}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}}, {}, DType::e4m3);
  for (const auto& [word, more] : {std::pair{"with_sums", 8}, {"chunk", 0}}) {
    const PlacedDiagram placed = m.place({{"warpgroups", "2"}, {"q", "128"}, {"x", "128"}, {"accumulate", word}});
    CHECK(made(placed, "O").n == 128 + more);
    CHECK(made(placed, "S").n == 128);
  }
}

TEST_CASE("what does not fit is told with its place") {
  const auto says = [](const std::string& error, const std::string& what) {
    CAPTURE(error);
    CHECK(error.find(what) != std::string::npos);
  };
  const std::string after = "{name: after, reads: {C: f32}, writes: {C: T}}", vector = "{unit: vector}";
  CHECK(refusal(vector, after) == "no error");
  says(refusal("{unit: vector, swap_ab: {a: 64}}", after), "only products have A and B");
  says(refusal("{unit: vector, row_parts: 2}", after), "only products have rows and columns");
  says(refusal("{unit: vector, more_columns: 8}", after), "only products have rows and columns");
  says(refusal(vector, "{name: after, reads: {D: f32}}"), "m.yaml:9");
  says(refusal(vector, "{name: after, reads: {D: f32}}"), "'D'");
  says(refusal(vector, "{name: after, writes: {C: f17}}"), "'f17'");
  says(refusal(vector, "{name: after, operations: [D], writes: {C: T}}"), "'D'");
}

}  // namespace test_launches
