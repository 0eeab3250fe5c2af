// Inputs whose rows are chosen: shifted dimensions, tables, types. Their text, the mistakes with their places, and the
// sizes that follow.

#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/diagram/reindex.hpp"
#include "model/diagram/slice.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/written.hpp"

namespace test_reindex {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::written;

Diagram convolution(const std::string& row, const std::string& axes = "i: , k: , c: , x: ") {
  return written(axes, "\"X[x: " + row + ", c]\", \"W[k,c]\"", {"Y[i] = contract over k, c (X, W)"}, "Y");
}

Count rows_of(const Diagram& diagram, const std::vector<std::pair<std::string, std::int64_t>>& shape) {
  return resolve_sizes(diagram, shape, "shape")[static_cast<std::size_t>(diagram.axis("x"))];
}

std::string refusal(const std::string& axes, const std::string& inputs, const std::vector<std::string>& operations) {
  return test::refusal_of([&] { return written(axes, inputs, operations, "Y"); });
}

const std::vector<std::string> product = {"Y[i] = contract over k (X, W)"};

}  // namespace

TEST_CASE("shifted dimensions, tables and types print as they are written") {
  for (const std::string& name : builtin_diagrams()) {
    const Diagram d = load_diagram(name);
    CAPTURE(name);
    CHECK(parse_diagram(print(d), "again") == d);
    CHECK(print(parse_diagram(print(d), "again")) == print(d));
  }
  const Diagram d = convolution("2*i + 3*k - 4");
  const Array& x = d.arrays[static_cast<std::size_t>(d.array("X"))];
  REQUIRE(x.reindexed.size() == 1);
  CHECK(x.reindexed[0].strides == std::vector<std::int64_t>{2, 3});
  CHECK(x.reindexed[0].offset == -4);
  CHECK(stored_axes(x) == std::vector<AxisId>{d.axis("x"), d.axis("c")});
  CHECK(x.axes == std::vector<AxisId>{d.axis("i"), d.axis("k"), d.axis("c")});
  CHECK(print(d).find("\"X[x: 2*i + 3*k - 4,c]\"") != std::string::npos);
}

TEST_CASE("a dimension without a size has the rows that are read") {
  CHECK(rows_of(convolution("i + k"), {{"i", 10}, {"k", 3}, {"c", 1}}) == 12);
  CHECK(rows_of(convolution("2*i + 3*k"), {{"i", 10}, {"k", 4}, {"c", 1}}) == 18 + 9 + 1);
  CHECK(rows_of(convolution("i + k - 1"), {{"i", 10}, {"k", 3}, {"c", 1}}) == 11);
  CHECK(rows_of(convolution("i + k - 100"), {{"i", 10}, {"k", 3}, {"c", 1}}) == 1);
  CHECK(rows_of(convolution("i + k"), {{"i", 10}, {"k", 3}, {"c", 1}, {"x", 5}}) == 5);
  CHECK(rows_of(convolution("i + k - 1", "i: , k: , c: , x: i"), {{"i", 10}, {"k", 3}, {"c", 1}}) == 10);
  const Diagram paged = load_diagram("paged_attention");
  const Sizes sizes = resolve_sizes(paged, {{"b", 3}, {"q", 1}, {"n", 7}, {"d", 8}}, "shape");
  CHECK(sizes[static_cast<std::size_t>(paged.axis("p"))] == 21);
}

TEST_CASE("what makes no sense is one error at its place") {
  const std::string axes = "i: , k: , x: ", w = ", \"W[k]\"";
  const std::pair<std::string, std::string> cases[] = {
      {refusal(axes, "\"X[x: i + z]\"" + w, product), "t.yaml:3:20: inputs[0]: unknown axis 'z'"},
      {refusal(axes, "\"X[x: i + i]\"" + w, product), "t.yaml:3:20: inputs[0]: axis 'i' stands twice"},
      {refusal(axes, "\"X[x: i - k]\"" + w, product), "t.yaml:3:20: inputs[0]: rows that go backward"},
      {refusal(axes, "\"X[x: 0*i + k]\"" + w, product), "t.yaml:3:16: inputs[0]: rows that go backward"},
      {refusal(axes, "\"X[x: 3]\"" + w, product), "t.yaml:3:16: inputs[0]: a row that no axis reads"},
      {refusal(axes, "\"X[x: i + k + ]\"" + w, product), "t.yaml:3:24: inputs[0]: unexpected ']'"},
      {refusal(axes, "\"X[x: i + k, x]\"" + w, product), "t.yaml:3:13: inputs[0]: axis 'x' stands twice"},
      {refusal(axes, "\"X[x: i + 99999999999*k]\"" + w, product), "t.yaml:3:20: inputs[0]: unexpected"},
      {refusal(axes, "\"X[x: T[i], k]\"" + w, product), "t.yaml:3:16: inputs[0]: unknown table 'T'"},
      {refusal(axes, "\"T[k]\", \"X[x: T[i], k]\"" + w, product), "t.yaml:3:24: inputs[1]: table T has other axes"},
      {refusal(axes, "\"T[i]\", \"X[x: 2*T[i], k]\"" + w, product), "a table's rows with a stride or an offset"},
      {refusal(axes, "\"T[i] type bf16\", \"X[x: T[i], k]\"" + w, product), "does not hold whole numbers"},
      {refusal(axes, "\"X[x: i + k] type int5\"" + w, product), "t.yaml:3:28: inputs[0]: unknown type 'int5'"},
      {refusal(axes, "\"X[x: i + k] kind i4\"" + w, product), "t.yaml:3:23: inputs[0]: unknown attribute 'kind'"},
      {refusal(axes, "\"X[i,k]\"" + w, {"\"Y[x: i + k] = multiply (X, W)\""}),
       "a computed array that is read by other axes"},
      {refusal(axes, "\"X[x: i + k]\"" + w, {"Y[i,k] = map exp (X) mask (i, k)"}),
       "a mask over an axis that reads shifted"},
      {refusal("i: , k: x, x: ", "\"X[x: i + k]\"" + w, product), "takes its size from the rows that are read"},
      {refusal(axes, "\"T[i]\", \"X[x: T[i], k]\"" + w, {"Z[i] = contract over k (X, W)", "Y[i] = add (Z, T)"}),
       "an operation takes table 'T'"},
  };
  for (const auto& [found, expected] : cases) {
    CHECK(found.find(expected) != std::string::npos);
  }
}

TEST_CASE("parts of a diagram keep their shifts and tables") {
  const Diagram whole = load_diagram("mixture_of_experts");
  const Problem problem{resolve_sizes(whole, {{"t", 9}, {"r", 4}, {"k", 5}, {"h", 6}}, "shape"), {}, DType::bf16};
  const Slice slice = slice_of(whole, problem, 0, 1);
  check(slice.diagram);
  CHECK(print(slice.diagram).find("X[t: R[e,r],k]") != std::string::npos);
  CHECK(slice.problem.sizes[static_cast<std::size_t>(slice.diagram.axis("t"))] == 9);
  const Diagram woven = weave(load_diagram("convolution_1d"), "z", {"W"});
  CHECK(print(woven).find("X[z,b,x: i + k,c]") != std::string::npos);
  const Diagram both = concatenate(load_diagram("mixture_of_experts"), load_diagram("softmax_contraction"));
  CHECK(print(both).find("X[t: R[e,r],k]") != std::string::npos);
}

TEST_CASE("types of arrays are what they take in memory") {
  const Diagram d = load_diagram("int4_matmul");
  CHECK(d.arrays[static_cast<std::size_t>(d.array("W"))].type == DType::i4);
  CHECK(bytes_of(3, DType::i4).value == 2);
  const Diagram typed = written("m: , n: ", "\"X[m,n] type e4m3\"", {"Y[m] = sum over n (X) scale 0.5 type f32"}, "Y");
  CHECK(typed.arrays[static_cast<std::size_t>(typed.array("Y"))].type == DType::f32);
}

}  // namespace test_reindex
