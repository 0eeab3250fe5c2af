// The text form: parse(print(d)) == d, and every error has its place and a correction.

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/random_diagram.hpp"

#ifdef NAPKIN_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace test_text {

namespace {

using namespace napkin;
using namespace napkin::internal;

void round_trips(const Diagram& d) {
  const std::string text = print(d);
  CAPTURE(text);
  const Diagram again = parse_diagram(text, "again.yaml");
  REQUIRE(again == d);
  REQUIRE(print(again) == text);
}

// Returns the message of the error that the text gives.
std::string error_of(const std::string& text) {
  return test::refusal_of([&] { return parse_diagram(text, "d.yaml"); });
}

// Returns a diagram whose two operations are the given lines (lines 5 and 6 of the text; text begins in column 5).
std::string with_operations(const std::string& first, const std::string& second) {
  return "algorithm: t\n"
         "axes: {q: , x: , d: }\n"
         "inputs: [\"Q[q,d]\", \"K[x,d]\"]\n"
         "operations:\n"
         "  - " +
         first + "\n  - " + second + "\noutputs: [P]\n";
}

const std::string good_s = "S[q,x] = contract over d (Q, K)";
const std::string good_p = "P[q,x] = softmax over x (S)";

TEST_CASE("every built-in diagram survives print and parse") {
  for (const std::string& name : builtin_diagrams()) round_trips(load_diagram(name));
}

TEST_CASE("attention reads as it stands in the file") {
  const Diagram d = load_diagram("attention");
  CHECK(d.axes.size() == 7);
  CHECK(std::get<AxisId>(d.axes[static_cast<std::size_t>(d.axis("dv"))].fallback) == d.axis("d"));
  REQUIRE(d.operations.size() == 3);
  CHECK(print_operation(d, 1) == "P[b,h,g,q,x] = softmax over x (S) scale d^-1/2 mask (q, x)");
  CHECK(d.operations[1].scale == Scale{1.0, d.axis("d"), -1, 2});
  CHECK(d.producer(d.array("P")) == OpId{1});
  CHECK(d.consumers(d.array("P")) == std::vector<OpId>{2});
}

TEST_CASE("names that YAML reads as something else, and texts with quotes and controls, survive") {
  Diagram d = parse_diagram(
      "algorithm: 'null'\nabout: \"a \\\"b\\\": c #d\\n\\x07 \\\\ é\"\n"
      "axes: {'null': , 'NULL': 'null', true: 3}\ninputs: [\"Null[null,NULL,true]\"]\n"
      "operations: ['null[NULL,true] = sum over null (Null)']\noutputs: ['null']\n",
      "f");
  round_trips(d);
  CHECK(d.about == "a \"b\": c #d\n\x07 \\ é");
}

TEST_CASE("scales print as they mean") {
  for (const auto& [written, printed] :
       std::vector<std::pair<std::string, std::string>>{{"scale 0.5", " scale 0.5"},
                                                        {"scale 1", ""},
                                                        {"scale -2.5e-3", " scale -0.0025"},
                                                        {"scale d^-1/2", " scale d^-1/2"},
                                                        {"scale d^2/4", " scale d^1/2"},
                                                        {"scale 0.1*d^3", " scale 0.1*d^3"},
                                                        {"scale 2 * d ^ -1 / 2", " scale 2*d^-1/2"}}) {
    const Diagram d = parse_diagram(with_operations(good_s, good_p + " " + written), "f");
    CHECK(print_operation(d, 1) == good_p + printed);
    round_trips(d);
  }
}

TEST_CASE("a wrong operation is reported with its line and column") {
  const auto first = [](const std::string& line) { return error_of(with_operations(line, good_p)); };
  const auto second = [](const std::string& line) { return error_of(with_operations(good_s, line)); };
  CHECK(first("S[q,x] = contract over d (Q, Kk)") ==
        "d.yaml:5:34: operations[0]: unknown array 'Kk': did you mean 'K'? (one of Q, K)");
  CHECK(first("S[q,y] = contract over d (Q, K)") == "d.yaml:5:9: operations[0]: unknown axis 'y': one of q, x, d");
  CHECK(first("S[q,x] = contrct over d (Q, K)")
            .starts_with("d.yaml:5:14: operations[0]: unknown operation 'contrct': did you mean 'contract'?"));
  CHECK(first("S[q,x] = contract over d (Q, K") ==
        "d.yaml:5:35: operations[0]: the line ends here: ')' or ',' after an operand");
  CHECK(first("S[q,x] = contract along d (Q, K)") ==
        "d.yaml:5:23: operations[0]: unexpected 'along': 'over AXIS' or '(ARRAY, ...)'");
  CHECK(first("S[q,x] contract over d (Q, K)") ==
        "d.yaml:5:12: operations[0]: unexpected 'contract': '=' after the outputs");
  CHECK(first("S[q,x] = contract over d (Q, P)") ==
        "d.yaml:5:34: operations[0]: array 'P' is used before it exists: operations in execution order, without a "
        "cycle (it is computed in line 6)");
  CHECK(second("P[q,x] = softmax over x (P)")
            .starts_with("d.yaml:6:30: operations[1]: array 'P' is used before it exists"));
  CHECK(second("S[q,x] = softmax over x (S)").starts_with("d.yaml:6:5: operations[1]: array 'S' is defined twice"));
  CHECK(second("P[q,x] = softmax over x (S) scale d") ==
        "d.yaml:6:40: operations[1]: the line ends here: '^' and a power after the axis: d^-1/2");
  CHECK(second("P[q,x] = softmax over x (S) scale d^1/0").starts_with("d.yaml:6:41: operations[1]: a power"));
  CHECK(second("P[q,x] = softmax over x (S) skale 2") ==
        "d.yaml:6:33: operations[1]: unknown attribute 'skale': did you mean 'scale'? (one of scale, mask, type)");
  CHECK(second("P[q,x] = softmax over x (S) mask (q x)") ==
        "d.yaml:6:41: operations[1]: unexpected 'x)': ',' between the mask's two axes");
  CHECK(second("P[q,q] = softmax over x (S)").starts_with("d.yaml:6:9: operations[1]: axis 'q' stands twice"));
}

TEST_CASE("a quoted operation counts columns from inside its quotes") {
  CHECK(error_of(with_operations("\"S[q,x] = contract over d (Q, Kk)\"", good_p)).starts_with("d.yaml:5:35:"));
}

TEST_CASE("an operation that breaks a rule of its kind is reported at its line") {
  const auto second = [](const std::string& line) { return error_of(with_operations(good_s, line)); };
  CHECK(second("P[q] = softmax over x (S)") == "d.yaml:6:5: softmax does not yield P[q]: P[q,x] in any order");
  CHECK(second("P[x] = contract over d (S, Q)") == "d.yaml:6:5: contract does not yield P[x]: P[q,x] in any order");
  CHECK(second("P[q,x] = softmax over d (S)") == "d.yaml:6:5: no operand of softmax carries axis 'd': one of q,x");
  CHECK(second("P[q,x] = contract over x (S)").starts_with("d.yaml:6:5: contract of one array"));
  CHECK(second("P[q,x] = map expp (S)").starts_with("d.yaml:6:5: unknown function 'expp': did you mean 'exp'?"));
  CHECK(second("P[q,x] = softmax (S)") == "d.yaml:6:5: softmax without an axis: softmax over AXIS (...)");
  CHECK(second("P[q,x] = copy over x (S)") == "d.yaml:6:5: copy takes no 'over': copy (...)");
  CHECK(second("P[q,x] = copy (S) scale 2").starts_with("d.yaml:6:5: copy takes no scale"));
  CHECK(second("P[q,x] = copy (S) mask (q, x)").starts_with("d.yaml:6:5: copy takes no mask"));
  CHECK(second("P[q,x] = softmax over x (S) mask (q, d)").starts_with("d.yaml:6:5: the mask names an axis"));
  CHECK(second("P[q,x] = softmax over x (S) mask (x, x)").starts_with("d.yaml:6:5: the mask's two axes are the same"));
  CHECK(second("P[q,x] = subtract (S, S, S)").starts_with("d.yaml:6:5: subtract of 3 arrays"));
  CHECK(second("P[q,x], L[q], Z[q], Y[q] = softmax over x (S)").starts_with("d.yaml:6:5: softmax with 4 outputs"));
  CHECK(second("P[q,x], L[q] = softmax over x (S)").starts_with("d.yaml:6:13: array 'L' is never used"));
}

TEST_CASE("a wrong document is reported with its place") {
  const std::string head = "algorithm: t\naxes: {q: , x: 4}\n";
  const std::string tail = "operations:\n  - P[q] = sum over x (S)\noutputs: [P]\n";
  const std::string inputs = "inputs: [\"S[q,x]\"]\n";
  CHECK(error_of(head + inputs + tail) == "no error");
  CHECK(error_of("axes: {}\n") == "d.yaml:1:1: key 'algorithm' is missing: algorithm: ...");
  CHECK(error_of(head + inputs + tail + "more: 1\n").starts_with("d.yaml:7:1: unknown key 'more'"));
  CHECK(error_of("algorithm: t\naxes: {q: , q: }\n" + inputs + tail).find("d.yaml:2:13") == 0);
  CHECK(error_of("algorithm: t\naxes: {q: , x: 0}\n" + inputs + tail).starts_with("d.yaml:2:16: axes.x: '0' is out"));
  CHECK(error_of("algorithm: t\naxes: {q: , x: z}\n" + inputs + tail)
            .starts_with("d.yaml:2:16: axes.x: unknown axis 'z'"));
  CHECK(error_of("algorithm: t\naxes: {q: x, x: q}\n" + inputs + tail)
            .starts_with("d.yaml:2:11: the default of axis 'q' leads back to itself"));
  CHECK(error_of("algorithm: t\naxes: {q: , x: , z: }\n" + inputs + tail).find("no array carries axis 'z'") !=
        std::string::npos);
  CHECK(error_of(head + "inputs: [\"S[q,x]\", \"S[q]\"]\n" + tail)
            .starts_with("d.yaml:3:21: inputs[1]: array 'S' is defined twice"));
  CHECK(error_of(head + "inputs: [\"S[q,x] + 1\"]\n" + tail).starts_with("d.yaml:3:18: inputs[0]: more text"));
  CHECK(error_of(head + "inputs: []\n" + tail).starts_with("d.yaml:3:9: inputs: an empty list"));
  CHECK(error_of(head + inputs + "operations:\n  - P[q] = sum over x (S)\noutputs: [R]\n") ==
        "d.yaml:6:11: outputs[0]: unknown array 'R': one of S, P");
  CHECK(error_of(head + inputs + "operations:\n  - P[q] = sum over x (S)\noutputs: [S]\n")
            .starts_with("d.yaml:6:11: outputs[0]: 'S' is an input"));
  CHECK(error_of("algorithm: 3 x\n").find("is not a name") != std::string::npos);
}

TEST_CASE("random diagrams are valid and survive print and parse") {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint8_t> choices(random() % 120);
    for (auto& c : choices) c = static_cast<std::uint8_t>(random());
    const Diagram d = testing::make_diagram(choices);
    CAPTURE(print(d));
    REQUIRE_NOTHROW(check(d));
    round_trips(d);
  }
}

#ifdef NAPKIN_HAVE_RAPIDCHECK
TEST_CASE("property: parse(print(d)) == d") {
  CHECK(rc::check([](const std::vector<std::uint8_t>& choices) {
    const Diagram d = testing::make_diagram(choices);
    check(d);
    RC_LOG() << print(d);
    RC_ASSERT(parse_diagram(print(d), "again") == d);
  }));
}
#endif

}  // namespace

}  // namespace test_text
