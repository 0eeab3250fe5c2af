// A diagram that is a larger one with axes of size 1 is found there, axis by axis; another one is not.
#include "model/fusion/counterpart.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"

namespace test_counterpart {

using namespace napkin::internal;

namespace {

/// Writes which axis each axis of the known diagram is: "b=b h=1 g=h"; "" if the diagrams differ.
std::string found(const Diagram& own, const Diagram& known) {
  const auto axes = counterpart(own, known);
  if (!axes) return "";
  std::string text;
  for (std::size_t a = 0; a < axes->size(); ++a) {
    const std::optional<AxisId>& axis = (*axes)[a];
    text +=
        (a > 0 ? " " : "") + known.axes[a].name + "=" + (axis ? own.axes[static_cast<std::size_t>(*axis)].name : "1");
  }
  return text;
}

Diagram head(const std::string& keys, const std::string& scores) {
  return parse_diagram(
      "algorithm: one_head\naxes: {q: , k: , w: }\ninputs: [\"Q[q,w]\", \"K[" + keys +
          "]\", \"V[k,w]\"]\noperations:\n  - S[q,k] = contract over w (Q, K)\n  - P[q,k] = softmax over " + scores +
          "\n  - O[q,w] = contract over k (P, V)\noutputs: [O]\n",
      "one_head.yaml");
}

}  // namespace

TEST_CASE("multi-query attention is attention with one head of keys, whose group has all heads") {
  CHECK(found(load_diagram("multi_query_attention"), load_diagram("attention")) == "b=b h=1 g=h q=q x=x d=d dv=dv");
  CHECK(found(load_diagram("attention"), load_diagram("attention")) == "b=b h=h g=g q=q x=x d=d dv=dv");
  CHECK(found(load_diagram("attention"), load_diagram("multi_query_attention")) == "");
}

TEST_CASE("other operations, another scale, other axes: no counterpart") {
  const Diagram attention = load_diagram("attention");
  for (const char* other : {"sigmoid_attention", "soft_capped_attention", "alibi_attention", "sink_attention",
                            "sliding_window", "latent_attention", "linear_attention", "matmul"})
    CHECK_MESSAGE(found(load_diagram(other), attention) == "", other);
  const Diagram wide = parse_diagram(
      "algorithm: one_head\naxes: {q: , k: , w: , v: }\ninputs: [\"Q[q,w]\", \"K[k,w]\", \"V[k,v]\"]\noperations:\n"
      "  - S[q,k] = contract over w (Q, K)\n  - P[q,k] = softmax over k (S) scale w^-1/2 mask (q, k)\n"
      "  - O[q,v] = contract over k (P, V)\noutputs: [O]\n",
      "one_head.yaml");
  CHECK(found(wide, attention) == "b=1 h=1 g=1 q=q x=k d=w dv=v");
  CHECK(found(head("k,w", "k (S) scale w^-1/2 mask (q, k)"), attention) == "");  // one axis for d and dv
  Diagram scaled = wide;
  scaled.operations[1].scale = {0.5, std::nullopt, 0, 1};
  CHECK(found(scaled, attention) == "");
  Diagram unmasked = wide;
  unmasked.operations[1].mask.reset();
  CHECK(found(unmasked, attention) == "");
}

}  // namespace test_counterpart
