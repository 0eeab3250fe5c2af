// Gradients: their inputs and outputs; attention's is the built-in backward pass, operation by operation.

#include <doctest/doctest.h>

#include <algorithm>

#include "model/diagram/library.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/gradient.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/written.hpp"

namespace test_gradient {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::written;

std::vector<std::string> names(const Diagram& d, const std::vector<ArrayId>& ids) {
  std::vector<std::string> out;
  for (ArrayId id : ids) out.push_back(d.arrays[at(id)].name);
  std::sort(out.begin(), out.end());
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the gradient of attention is the built-in backward pass, names apart") {
  const Gradient derived = gradient(load_diagram("attention"));
  const Diagram built_in = load_diagram("attention_backward");
  CAPTURE(print(derived.backward));
  CHECK(same_up_to_names(derived.backward, built_in));
  CHECK(names(derived.forward, derived.forward.outputs) == Names{"L", "O"});
  const Diagram found = load_algorithm("gradient:attention");
  CHECK(found == built_in);
  CHECK(found.rewritings.size() == 2);
}

TEST_CASE("another product, another scale or another mask is another diagram") {
  const Diagram built_in = load_diagram("attention_backward");
  const auto changed = [&](const auto& change) {
    Diagram other = built_in;
    change(other);
    return same_up_to_names(built_in, other);
  };
  const auto op = [](Diagram& d, const char* out) -> Operation& { return d.operations[at(*d.producer(d.array(out)))]; };
  CHECK(changed([&](Diagram&) {}));
  CHECK(changed([&](Diagram& d) { std::swap(op(d, "dV").inputs[0], op(d, "dV").inputs[1]); }));
  CHECK(changed([&](Diagram& d) { d.arrays[at(d.array("dP"))].name = "other"; }));
  CHECK_FALSE(changed([&](Diagram& d) { std::swap(op(d, "E").inputs[0], op(d, "E").inputs[1]); }));
  CHECK_FALSE(changed([&](Diagram& d) { op(d, "dQ").scale = {}; }));
  CHECK_FALSE(changed([&](Diagram& d) { op(d, "P").mask.reset(); }));
  CHECK_FALSE(changed([&](Diagram& d) { op(d, "dV").own = {d.axis("q"), d.axis("b")}; }));
  CHECK_FALSE(changed([&](Diagram& d) { d.arrays[at(d.array("dQ"))].name = "other"; }));
  CHECK_FALSE(changed([&](Diagram& d) { d.arrays[at(d.array("K"))].type = DType::i8; }));
}

TEST_CASE("of a product, two products") {
  const Diagram d = load_algorithm("gradient:matmul");
  CHECK(names(d, d.inputs) == Names{"A", "B", "dC"});
  CHECK(print_operation(d, *d.producer(d.array("dA"))) == "dA[a,b] = contract over c (dC, B)");
  CHECK(print_operation(d, *d.producer(d.array("dB"))) == "dB[b,c] = contract over a (dC, A)");
  CHECK(parse_diagram(print(d), "again.yaml") == d);
}

TEST_CASE("the row sum of a softmax is that of its results where all that takes it is linear") {
  const auto delta = [](const Diagram& d) { return print_operation(d, *d.producer(d.array("Delta"))); };
  CHECK(delta(load_algorithm("gradient:alibi_attention")) == "Delta[b,h,q] = contract over dv (dO, O)");
  const Diagram squares =
      written("q: , x: , y: ", "\"S[q,x]\", \"V[x,y]\"",
              {"P[q,x] = softmax over x (S)", "R[q,x] = map square (P)", "O[q,y] = contract over x (R, V)"}, "O");
  CHECK(delta(gradient(squares).backward).starts_with("Delta[q] = contract over x (P, dP"));
  const Diagram shown = written("q: , x: , y: ", "\"S[q,x]\", \"V[x,y]\"",
                                {"P[q,x] = softmax over x (S)", "O[q,y] = contract over x (P, V)"}, "P, O");
  CHECK(delta(gradient(shown).backward).starts_with("Delta[q] = contract over x (P, dP"));
}

TEST_CASE("a result that is no output is stored for the row sum") {
  const Diagram d = written(
      "q: , x: , y: , z: ", "\"S[q,x]\", \"V[x,y]\", \"W[y,z]\"",
      {"P[q,x] = softmax over x (S)", "O[q,y] = contract over x (P, V)", "Y[q,z] = contract over y (O, W)"}, "Y");
  const Gradient derived = gradient(d);
  CHECK(names(derived.forward, derived.forward.outputs) == Names{"L", "O", "Y"});
  CHECK(names(derived.backward, derived.backward.inputs) == Names{"L", "O", "S", "V", "W", "dY"});
  CHECK(streamability(derived.backward, derived.backward.axis("x")).streamable);
}

TEST_CASE("inputs that name rows, hold whole numbers or are read at chosen rows have none") {
  const Gradient paged = gradient(load_diagram("paged_attention"));
  CHECK(names(paged.backward, paged.backward.outputs) == Names{"dQ"});
  CHECK(paged.left_out.size() == 3);
  CHECK(names(gradient(load_diagram("int4_matmul")).backward, gradient(load_diagram("int4_matmul")).backward.outputs) ==
        Names{"dX", "dscale"});
  CHECK(test::refusal_of([] { return gradient(load_diagram("max_pooling")); }).find("no input has a gradient") !=
        std::string::npos);
}

TEST_CASE("what has no derivative is refused, and roles of the forward are left behind") {
  Diagram d = load_diagram("matmul");
  d.axes[0].role = AxisRole::group;
  for (const Axis& axis : gradient(d).backward.axes) CHECK_FALSE(axis.role.has_value());
  const Diagram steep = written("q: , x: ", "\"S[q,x]\"", {"P[q,x] = map gelu_slope (S)"}, "P");
  CHECK(test::refusal_of([&] { return gradient(steep); }).find("map gelu_slope (P) has no derivative here") !=
        std::string::npos);
}

TEST_CASE("a file's gradient is named by its path") {
  CHECK(diagram_part("gradient:mine.yaml") == "mine.yaml");
  CHECK(diagram_part("mine.yaml") == "mine.yaml");
  CHECK(test::refusal_of([] { return load_algorithm("gradient:nothing"); }).find("nothing") != std::string::npos);
}

}  // namespace test_gradient
