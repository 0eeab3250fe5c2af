// Functions that an author defines: their text and formulas, and the refusal of a merging that is not associative.

#include <doctest/doctest.h>

#include <cmath>

#include "model/diagram/slice.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/folds.hpp"

namespace test_fold {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

double value_of(const std::string& text, const std::vector<std::string>& names = {},
                const std::vector<double>& values = {}) {
  return Formula::parse(text, names, [](std::size_t, const std::string& what, const std::string&) {
    throw Error("formula", what, "");
  })(values);
}
std::string error_of(const std::string& formula) {
  return test::refusal_of([&] {
    return with_folds(
        "  f:\n    of: [x]\n    state: {s: 0}\n    each: {s: x}\n    merge: {s: \"" + formula + "\"}\n    result: s\n",
        "q: , x: ", "\"X[q,x]\"", "Y[q] = fold f over x (X)", "Y");
  });
}
Diagram applied(const std::string& folds, const std::string& operation) {
  return with_folds(folds, "q: , x: ", "\"X[q,x]\"", operation, "Y");
}
std::string refused(const std::string& folds, const std::string& operation) {
  return test::refusal_of([&] { return applied(folds, operation); });
}

}  // namespace

TEST_CASE("formulas compute, with the precedence of arithmetic") {
  CHECK(value_of("1 + 2 * 3 - 4 / 2") == 5);
  CHECK(value_of("(1 + 2) * -3") == -9);
  CHECK(value_of("--2 - -1") == 3);
  CHECK(value_of("8 / 2 / 2") == 2);
  CHECK(value_of("5 - 2 - 1") == 2);
  CHECK(value_of("1e2 + .5") == 100.5);
  CHECK(value_of("max(1, 2) + min(1, 2) + abs(-3)") == 6);
  CHECK(value_of("exp(log(4)) + sqrt(9)") == doctest::Approx(7));
  CHECK(value_of("where(less(1, 2), 10, 20) + where(equal(1, 2), 1, 2)") == 12);
  CHECK(value_of("a.m * b + m", {"m", "a.m", "b"}, {1, 2, 3}) == 7);
}

TEST_CASE("a wrong formula is reported where it is wrong") {
  const std::string line = "t.yaml:8:";
  CHECK(error_of("a.s + c.s").starts_with(line + "23: folds.f.merge.s: unknown name 'c.s': "));
  CHECK(error_of("a.s + ").starts_with(line + "23: folds.f.merge.s: it ends: a number, a name, or a function"));
  CHECK(error_of("(a.s + b.s").starts_with(line + "27: folds.f.merge.s: a part is missing: ')' here"));
  CHECK(error_of("max(a.s)").starts_with(line + "24: folds.f.merge.s: a part is missing: ',' here"));
  CHECK(error_of("a.s b.s").starts_with(line + "21: folds.f.merge.s: unexpected 'b.s': the end of the formula"));
  CHECK(error_of(std::string(200, '(')).find("too many parentheses") != std::string::npos);
  CHECK(error_of("a.s + b.s" + std::string(1000, ' ')).find("too long a formula") != std::string::npos);
  CHECK(error_of(std::string(200, '-')).find("too many signs") != std::string::npos);
}

TEST_CASE("folds survive print and parse") {
  for (const std::string& fold : {variance, log_sum_exp, total, rise}) {
    const std::string name = fold.substr(2, fold.find(':') - 2);
    for (const char* operation : {"Y[q] = fold ", "Y[q,x] = scan "}) {
      const Diagram d = applied(fold, operation + name + " over x (X)");
      CHECK(parse_diagram(print(d), "again.yaml") == d);
      CHECK(print(parse_diagram(print(d), "again.yaml")) == print(d));
    }
  }
}

TEST_CASE("a fold whose merging is not associative is refused, with an example") {
  const auto merged = [](const std::string& merge) { return error_of(merge); };
  CHECK(merged("a.s + b.s") == "no error");
  CHECK(merged("max(a.s, b.s)").find("a part is s = ") != std::string::npos);  // nothing has to be below all
  for (const char* wrong : {"a.s - b.s", "(a.s + b.s) / 2", "a.s * 0.9 + b.s", "a.s + b.s + a.s * a.s * b.s"}) {
    CAPTURE(std::string(wrong));
    CHECK(merged(wrong).starts_with("t.yaml:4:3: fold 'f' is not associative: "));
  }
  CHECK(merged("a.s - b.s").find("(a b) c is s = ") != std::string::npos);
}

TEST_CASE("operations of folds have one axis, their operands and their axes") {
  const std::string folds = variance + largest_at;
  CHECK(refused(folds, "Y[q] = fold variance over x (X)") == "no error");
  CHECK(refused(folds, "Y[q] = fold varianse over x (X)").find("unknown fold 'varianse': did you mean 'variance'?") !=
        std::string::npos);
  CHECK(refused(folds, "Y[q] = fold largest_at over x (X)").find("largest_at of 1 arrays: 2: x, place") !=
        std::string::npos);
  CHECK(refused(folds, "Y[] = fold variance over q, x (X)").find("a fold over several axes") != std::string::npos);
  CHECK(refused(folds, "Y[q] = scan variance over x (X)").find("scan does not yield Y[q]") != std::string::npos);
  CHECK(refused(folds, "Y[q] = fold variance (X)").find("fold without an axis") != std::string::npos);
  CHECK(refused(folds, "Y[q] = fold variance over x (X) scale 2").find("fold takes no scale") != std::string::npos);
}

TEST_CASE("roles stand in the text, and at most one axis streams") {
  const std::string rest =
      "inputs: [\"A[a,b]\", \"B[b,c]\"]\noperations:\n  - C[a,c] = contract over b (A, B)\noutputs: [C]\n";
  const auto with = [&](const std::string& roles) {
    return parse_diagram("algorithm: t\naxes: {a: , b: , c: }\nroles: " + roles + "\n" + rest, "t.yaml");
  };
  const Diagram d = with("{a: whole, b: stream, c: group}");
  CHECK(d.axes[0].role == AxisRole::whole);
  CHECK(d.axes[1].role == AxisRole::stream);
  CHECK(d.axes[2].role == AxisRole::group);
  CHECK(parse_diagram(print(d), "again.yaml") == d);
  CHECK_FALSE(with("{a: group}") == with("{a: whole}"));
  const auto wrong = [&](const std::string& roles) { return test::refusal_of([&] { return with(roles); }); };
  CHECK(wrong("{z: group}").find("unknown axis 'z'") != std::string::npos);
  CHECK(wrong("{a: split}").find("'split'") != std::string::npos);
  CHECK(wrong("{a: stream, b: stream}").find("axes 'a' and 'b' both stream") != std::string::npos);
}

TEST_CASE("a slice has the folds that it applies, and no roles: they are of the whole") {
  const Diagram d =
      with_folds(variance + total, "q: , x: ", "\"X[q,x]\"",
                 "T[q] = fold total over x (X)\n  - Z[q] = map exp (T)\n  - V[q] = fold variance over x (X)", "Z, V");
  Diagram roled = d;
  roled.axes[0].role = AxisRole::group;
  const Problem problem{resolve_sizes(d, {{"q", 3}, {"x", 4}}, "shape"), {}, DType::value};
  const Diagram slice = slice_of(roled, problem, 0, 1).diagram;
  REQUIRE(slice.folds.size() == 1);
  CHECK(slice.folds[0].name == "total");
  CHECK_FALSE(slice.axes[0].role.has_value());
  check(slice);
}

}  // namespace test_fold
