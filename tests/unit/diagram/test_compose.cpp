#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "tests/support/mistakes.hpp"

namespace test_compose {

namespace {

using namespace napkin;
using namespace napkin::internal;

Diagram scores() {
  return parse_diagram(R"yaml(
algorithm: scores
axes: {q: , x: , d: }
inputs: ["Q[q,d]", "K[x,d]"]
operations: ["S[q,x] = contract over d (Q, K)"]
outputs: [S]
)yaml",
                       "scores.yaml");
}

TEST_CASE("scores, then softmax-contraction, is attention") {
  const Diagram d = compose(scores(), load_diagram("softmax_contraction"));
  CHECK(print(d) == R"yaml(algorithm: scores_softmax_contraction
about: "softmax_contraction after scores"
axes: {q: , x: , d: }
inputs: ["Q[q,d]", "K[x,d]", "V[x,d]"]
operations:
  - S[q,x] = contract over d (Q, K)
  - P[q,x] = softmax over x (S) mask (q, x)
  - O[q,d] = contract over x (P, V)
outputs: [O]
)yaml");
}

TEST_CASE("composition needs a shared name and equal axes") {
  CHECK(test::refusal_of([] { return compose(load_diagram("softmax_contraction"), load_diagram("matmul")); }) ==
        "matmul: no input of matmul is an output of softmax_contraction: a shared name");
  const Diagram other = parse_diagram(
      "algorithm: other\naxes: {q: , x: }\ninputs: ['S[x,q]']\n"
      "operations: ['T[q] = sum over x (S)']\noutputs: [T]\n",
      "other.yaml");
  CHECK(test::refusal_of([&] { return compose(scores(), other); }) ==
        "other: 'S' has other axes than in scores: equal axes for equal names");
}

TEST_CASE("concatenation shares inputs of one name and keeps both outputs") {
  const Diagram d = concatenate(scores(), parse_diagram("algorithm: norms\naxes: {q: , d: }\ninputs: ['Q[q,d]']\n"
                                                        "operations: ['N[q] = contract over d (Q, Q)']\noutputs: [N]\n",
                                                        "norms.yaml"));
  CHECK(d.inputs.size() == 2);
  CHECK(d.outputs.size() == 2);
  CHECK(test::refusal_of([] { return concatenate(scores(), scores()); }) ==
        "scores: 'S' is also an array of scores: another name");
}

TEST_CASE("weaving puts the axis in front of all but the copied inputs") {
  const Diagram d = weave(scores(), "h", {"K"});
  CHECK(print_operation(d, 0) == "S[h,q,x] = contract over d (Q, K)");
  CHECK(d.arrays[static_cast<std::size_t>(d.array("Q"))].has(d.axis("h")));
  CHECK_FALSE(d.arrays[static_cast<std::size_t>(d.array("K"))].has(d.axis("h")));
  CHECK(test::refusal_of([] {
          return weave(scores(), "h", {"Q", "K"});
        }) == "scores: output 'S' depends on copied inputs only: weave at least one input that it depends on");
  CHECK(test::refusal_of([] { return weave(scores(), "q", {}); }) ==
        "scores: axis 'q' exists already: a new axis name");
}

}  // namespace

}  // namespace test_compose
