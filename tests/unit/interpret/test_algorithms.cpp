// Every diagram of the library: it derives, its streamed run computes the unfused run's values, and its transfers and
// memory are those that the two rules predict.

#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/fusion/rewrite.hpp"
#include "model/interpret/check.hpp"
#include "tests/unit/interpret/helpers.hpp"

namespace test_algorithms {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

/// Returns small sizes that differ from axis to axis; an axis whose default is another axis takes that one's size.
Given small_shape(const Diagram& diagram) {
  const std::int64_t sizes[] = {6, 5, 7, 4, 3, 8};
  Given shape;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    if (!std::holds_alternative<AxisId>(diagram.axes[i].fallback))
      shape.emplace_back(diagram.axes[i].name, sizes[i % std::size(sizes)]);
  }
  return shape;
}

std::vector<Mask> masks_of(const Diagram& diagram) {
  if (mask_axes(diagram).empty()) return {Mask{}};
  return {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 2, 1}};
}

Tensors inputs_of(const Diagram& diagram, const Problem& problem, std::uint64_t seed) {
  Tensors inputs = random_inputs(diagram, problem.sizes, seed);
  for (auto& each : inputs) {
    if (diagram.is_table(diagram.array(each.first))) continue;
    for (double& v : each.second.data) v = 0.75 + 0.5 * v;  // no divisor is nearly 0
  }
  return inputs;
}

/// Returns groups of 2 and chunks of 3, both ragged.
Partition small_partition(const Streamed& streamed, const Problem& problem) {
  Given given;
  for (std::size_t i = 0; i < streamed.roles.size(); ++i) {
    const std::string& name = streamed.diagram.axes[i].name;
    if (streamed.grouped(static_cast<AxisId>(i))) given.emplace_back(name, 2);
    if (streamed.roles[i] == AxisRole::stream) given.emplace_back(name, 3);
  }
  return make_partition(streamed, problem.sizes, given, "tile");
}

}  // namespace

TEST_CASE("each derives, and streamed equals unfused in values and in counts") {
  for (const std::string& name : builtin_diagrams()) {
    const Diagram diagram = linearised(load_diagram(name));
    const Streamed streamed = derive(diagram);
    for (const Mask& mask : masks_of(diagram)) {
      CAPTURE(name);
      CAPTURE(text_of(mask));
      const Problem problem = problem_of(diagram, small_shape(diagram), mask);
      const Partition partition = small_partition(streamed, problem);
      const Tensors inputs = inputs_of(diagram, problem, 7);
      const Run unfused = run_unfused(diagram, problem, inputs);
      const Run run = run_streamed(streamed, problem, partition, inputs);
      CHECK(gap(unfused.outputs, run.outputs) < 1e-12);
      const Transfer predicted = transfer(streamed, problem, partition);
      CHECK(run.counts.levels.front().loaded() == predicted.load.value);
      CHECK(run.counts.levels.front().stored() == predicted.store.value);
      CHECK(run.counts.levels.front().peak == memory_live(streamed, partition).value);
    }
  }
}

TEST_CASE("a rewritten diagram computes what the one before did") {
  int rewritten = 0;
  for (const std::string& name : builtin_diagrams()) {
    const Diagram written = load_diagram(name);
    for (const Mask& mask : masks_of(written)) {
      const Problem problem = problem_of(written, small_shape(written), mask);
      const Diagram other = reassociated(linearised(written), problem.sizes);
      rewritten += other.rewritings.empty() ? 0 : 1;
      CAPTURE(name);
      const Tensors inputs = inputs_of(written, problem, 11);
      CHECK(gap(run_unfused(written, problem, inputs).outputs, run_unfused(other, problem, inputs).outputs) < 1e-11);
    }
  }
  CHECK(rewritten >= 4);
}

TEST_CASE("what tells the architectures apart") {
  const auto stream_of = [](const std::string& name) {
    const Streamed streamed = derive(linearised(load_diagram(name)));
    return streamed.stream ? streamed.diagram.axes[static_cast<std::size_t>(*streamed.stream)].name : std::string();
  };
  for (const char* name :
       {"retention", "differential_attention", "sigmoid_attention", "alibi_attention", "latent_attention",
        "multi_query_attention", "linear_attention_causal", "gated_linear_attention", "soft_capped_attention",
        "cosine_attention", "sink_attention", "int4_cache_attention", "fp8_cache_attention", "int8_cache_attention",
        "latent_attention_absorbed"}) {
    CAPTURE(std::string(name));
    CHECK(stream_of(name) == "x");
  }
  CHECK(stream_of("cross_entropy") == "v");
  CHECK(stream_of("convolution_1d") == "c");  // chunks of the window would overlap
  CHECK(stream_of("convolution_2d") == "c");
  CHECK(stream_of("paged_attention") == "n");
  CHECK(stream_of("sparse_latent_attention") == "n");
  CHECK(stream_of("sliding_window") == "w");  // chunks overlap, but no score is held whole
  CHECK(stream_of("int4_matmul") == "u");
  CHECK(stream_of("rms_norm_matmul") == "k");
  CHECK(stream_of("layer_norm") != "k");  // two passes over a row
}

TEST_CASE("steps over kept keys and values are causal attention over all of them") {
  const Diagram step = load_diagram("cached_attention"), whole = load_diagram("attention");
  const std::int64_t rows = 7, first = 2, d = 4;
  const Problem all = problem_of(whole, {{"q", rows}, {"x", rows}, {"d", d}}, Mask{Mask::Kind::causal, 0, 0});
  const Tensors inputs = random_inputs(whole, all.sizes, 9);
  const Tensor expected = run_unfused(whole, all, inputs).outputs.at("O");
  const auto rows_of = [&](const std::string& name, std::int64_t from, std::int64_t to) {
    const Tensor& tensor = inputs.at(name);
    Tensor part = tensor;
    part.shape[part.shape.size() - 2] = to - from;
    part.data.assign(tensor.data.begin() + from * d, tensor.data.begin() + to * d);
    return part;
  };
  Tensor K = rows_of("K", 0, first), V = rows_of("V", 0, first);  // kept
  for (std::int64_t x = first, n = 1; x < rows; x += n, n = std::min<std::int64_t>(2, rows - x)) {
    const Problem problem = problem_of(step, {{"q", n}, {"x", x}, {"d", d}}, Mask{Mask::Kind::causal, 0, 0});
    const Tensors given = {{"Q", rows_of("Q", x, x + n)},
                           {"k", rows_of("K", x, x + n)},
                           {"v", rows_of("V", x, x + n)},
                           {"K", K},
                           {"V", V}};
    const Streamed streamed = derive(step);
    CHECK(streamed.stream == step.axis("x"));
    const Partition partition = make_partition(streamed, problem.sizes, {{"q", 2}, {"x", 2}}, "tile");
    const Run run = run_streamed(streamed, problem, partition, given);
    CHECK(difference(run.outputs.at("O"),
                     Tensor{run.outputs.at("O").shape,
                            {expected.data.begin() + x * d, expected.data.begin() + (x + n) * d}}) <= 1e-12);
    // Read: the queries, the new rows and all kept ones. Stored: the results and the new rows.
    CHECK(run.counts.levels.front().loaded() == Count(3 * n * d + 2 * x * d));
    CHECK(run.counts.levels.front().stored() == Count(3 * n * d));
    for (const auto& [kept, added] : {std::pair{&K, "k_kept"}, {&V, "v_kept"}}) {
      const std::vector<double>& more = run.outputs.at(added).data;
      kept->data.insert(kept->data.end(), more.begin(), more.end());
      kept->shape[kept->shape.size() - 2] += n;
    }
  }
  CHECK(K.data == inputs.at("K").data);
}

}  // namespace test_algorithms
