// The text form of a nest: it is read back as written, and mistakes are refused with their place and a correction.

#include <doctest/doctest.h>

#include <string>

#include "model/dependence/library.hpp"
#include "model/dependence/text.hpp"
#include "tests/support/mistakes.hpp"

namespace test_text {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;

// Returns the text of a nest whose only statement is this one.
std::string with(const std::string& statement) {
  return "nest: n\nloops: {i: 4, j: 1..3}\narrays: {A: 0, B: }\nstatements:\n  - " + statement + "\noutputs: [A]\n";
}

std::string refusal(const std::string& text) {
  return test::refusal_of([&] { return parse_nest(text, "n.yaml"); });
}

bool says(const std::string& text, const std::string& where, const std::string& what) {
  const std::string message = refusal(text);
  const bool right = message.starts_with(where) && message.find(what) != std::string::npos;
  if (!right) MESSAGE(message);
  return right;
}

TEST_CASE("every built-in nest reads back as printed") {
  CHECK(builtin_nests().size() == 4);
  for (const std::string& name : builtin_nests()) {
    CAPTURE(name);
    const Nest nest = load_nest(name);
    CHECK(nest.name == name);
    const std::string text = print(nest);
    const Nest again = parse_nest(text, "printed");
    CHECK(again == nest);
    CHECK(print(again) == text);
  }
  CHECK_THROWS_AS((void)load_nest("attentoin"), Error);
}

TEST_CASE("expressions keep their shape") {
  for (const char* value : {"A[i,j-1] - (B[j,3] - 2)", "A[i,0] / (A[0,i] / 4) / 0.125", "-(A[i,j] + B[i,j]) * -B[i,j]",
                            "max(-A[i,j], exp(B[i+2,j]) * min(1e-300, infinity))", "-(-A[i,j])", "--A[i,-2]"}) {
    CAPTURE(value);
    const Nest nest = parse_nest(with("S(i,j) A[i,j] = B[i,j] * (" + std::string(value) + ")"), "n.yaml");
    const Nest again = parse_nest(print(nest), "printed");
    CHECK(again == nest);
    CHECK(print(again) == print(nest));
  }
  const Nest nest = parse_nest(with("S(i,j) A[i,j] = (1 + 2) + (3 * 4) - (B[i,j] - 5)"), "n.yaml");
  CHECK(print_expression(nest, nest.statements[0].value) == "1 + 2 + 3 * 4 - (B[i,j] - 5)");
}

TEST_CASE("what is wrong with a statement is said with its column") {
  CHECK(says(with("S(i,j) A[i,j] = B[i,k]"), "n.yaml:5:25", "unknown loop 'k'"));
  CHECK(says(with("S(i,j) A[i,j] = B[2*i]"), "n.yaml:5:24", "',' or ']'"));
  CHECK(says(with("S(i,j) A[i,j] = B[i+j]"), "n.yaml:5:25", "a whole number"));
  CHECK(says(with("S(j,i) A[i,j] = B[i]"), "n.yaml:5:9", "out of order"));
  CHECK(says(with("S(i,j) A[i,j] = sin(B[i])"), "n.yaml:5:21", "unknown function 'sin'"));
  CHECK(says(with("S(i,j) A[i,j] = max(B[i])"), "n.yaml:5:21", "max of 1 operands"));
  CHECK(says(with("S(i,j) A[i,j] = B[i] B[j]"), "n.yaml:5:26", "unexpected 'B[j]'"));
  CHECK(says(with("S(i,j) A[i,j] ="), "n.yaml:5:20", "the line ends here"));
  CHECK(says(with("S(i,j) exp = B[i]"), "n.yaml:5:12", "a word of the language"));
}

TEST_CASE("what is wrong with a nest is said at its place") {
  CHECK(says(with("S(i) A[i,j] = B[i]"), "n.yaml:5:5", "a loop that the statement is not in"));
  CHECK(says(with("S(i,j) A[i] = A[i,j] + B[i]"), "n.yaml:5:5", "has 1 subscripts"));
  CHECK(says(with("S(i,j) A[i,j] = B[i] * t"), "n.yaml:5:5", "'t' is read before any statement writes it"));
  CHECK(says(with("S(i,j) A[i,j] = B[i] * i"), "n.yaml:5:5", "'i' is a loop, not a value"));
  CHECK(says(with("S(i) A[i,0] = B[i]"), "n.yaml:2:18", "no statement stands in this loop"));
  CHECK(says(with("S(i,j) A[i,j] = B[i]\n  - T(i) t = 1\n  - U(i,j) u = 2"), "n.yaml:7:5", "after T"));
  CHECK(says("nest: n\nloops: {i: 0}\nstatements: [\"S(i) t = 1\"]\n", "n.yaml:2:12", "an empty loop"));
  CHECK(says("nest: n\nloops: {i: 3}\nstatemnts: []\n", "n.yaml:3", "statemnts"));
  CHECK(says(with("S(i,j) A[i,j] = B[i]\nclaims: {same_as: atention}"), "n.yaml:6:19: claims.same_as",
             "no nest 'atention' is built in: did you mean 'attention'?"));
  CHECK(says("nest: n\nloops: {i: 3..x}\nstatements: [\"S(i) t = 1\"]\n", "n.yaml:2:12", "is not a range"));
  CHECK(says(with("S(i,j) A[i,j] = B[i] * " + std::string(300, '(')), "n.yaml:5", "too deep"));
}

}  // namespace

}  // namespace test_text
