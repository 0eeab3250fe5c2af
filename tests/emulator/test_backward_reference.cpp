// The reference of the backward kernel, float64 head by head, agrees with the derived diagram of the backward pass in
// the interpreter.
#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/interpret/run.hpp"
#include "tests/kernel/backward_reference.hpp"

namespace test_backward_reference {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr std::int64_t heads = 2, grouped = 3, d = 5, dv = 4;

/// Returns the rows of one head from an array whose first axes are heads.
test::HeadRows rows_of(const Tensor& tensor, std::int64_t head, std::int64_t rows, std::int64_t columns) {
  const auto from = tensor.data.begin() + head * rows * columns;
  return {{from, from + rows * columns}, columns};
}

double largest_difference(const std::vector<double>& a, const double* b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

void check(std::int64_t queries, std::int64_t keys, const Mask& mask, std::uint64_t seed) {
  const Diagram diagram = load_diagram("attention_backward");
  const Problem problem{
      resolve_sizes(diagram, {{"h", heads}, {"g", grouped}, {"q", queries}, {"x", keys}, {"d", d}, {"dv", dv}},
                    "shape"),
      mask, DType::value};
  Tensors in = random_inputs(diagram, problem.sizes, seed);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const test::Rounding exact{DType::value, false};
  std::vector<test::QueryHead> all;
  for (std::int64_t head = 0; head < heads * grouped; ++head) {  // O and the log-sum-exp of the forward pass
    test::QueryHead one{rows_of(in.at("Q"), head, queries, d), rows_of(in.at("dO"), head, queries, dv), {}};
    const test::HeadRows k = rows_of(in.at("K"), head / grouped, keys, d),
                         v = rows_of(in.at("V"), head / grouped, keys, dv);
    std::vector<double> p(static_cast<std::size_t>(keys));
    for (std::int64_t i = 0; i < queries; ++i) {
      const double lse = test::softmax_row(one, k, i, queries, mask, scale, exact, p);
      // finite value for rows that see no key
      in.at("L").data[static_cast<std::size_t>(head * queries + i)] = std::max(lse, -1e3);
      for (std::int64_t c = 0; c < dv; ++c) {
        double sum = 0;
        for (std::int64_t x = 0; x < keys; ++x) sum += p[static_cast<std::size_t>(x)] * v.row(x)[c];
        in.at("O").data[static_cast<std::size_t>((head * queries + i) * dv + c)] = sum;
      }
    }
    one.o = rows_of(in.at("O"), head, queries, dv);
    all.push_back(std::move(one));
  }
  const Streamed s = derive(diagram);
  const Run run = run_streamed(s, problem, make_partition(s, problem.sizes, {{"q", 4}}, ""), in);
  for (std::int64_t h = 0; h < heads; ++h) {
    const test::HeadRows k = rows_of(in.at("K"), h, keys, d), v = rows_of(in.at("V"), h, keys, dv);
    test::BackwardReference out;
    out.dq.assign(static_cast<std::size_t>(grouped * queries * d), 0);
    out.dk.assign(static_cast<std::size_t>(keys * d), 0);
    out.dv.assign(static_cast<std::size_t>(keys * dv), 0);
    for (std::int64_t g = 0; g < grouped; ++g)
      test::differentiate(all[static_cast<std::size_t>(h * grouped + g)], k, v, queries, keys, mask, scale, exact, out,
                          out.dq.data() + g * queries * d);
    CHECK(largest_difference(out.dq, run.outputs.at("dQ").data.data() + h * grouped * queries * d) < 1e-12);
    CHECK(largest_difference(out.dk, run.outputs.at("dK").data.data() + h * keys * d) < 1e-12);
    CHECK(largest_difference(out.dv, run.outputs.at("dV").data.data() + h * keys * dv) < 1e-12);
  }
}

}  // namespace

TEST_CASE("float64's gradients are those of the derived backward diagram") {
  const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 3, 2};
  std::uint64_t seed = 0;
  for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{7, 9}, {9, 7}, {1, 13}, {13, 1}}) {
    for (const Mask& mask : {none, causal, window}) check(queries, keys, mask, ++seed);
  }
}

}  // namespace test_backward_reference
