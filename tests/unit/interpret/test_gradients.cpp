// Gradients of every diagram of the library: the interpreter runs the derived diagram, and each of its values equals
// the central difference of the forward diagram; its streamed run computes the unfused run's values.

#include <doctest/doctest.h>

#include "model/fusion/gradient.hpp"
#include "model/fusion/rewrite.hpp"
#include "model/interpret/check.hpp"
#include "tests/unit/interpret/helpers.hpp"

namespace test_gradients {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

constexpr double step = 1e-5;       // step of a central difference
constexpr double tolerance = 2e-7;  // tolerance of the central difference, relative to the largest gradient

/// Returns sizes of 2 to 4 that differ from axis to axis.
Given tiny_shape(const Diagram& diagram) {
  const std::int64_t sizes[] = {3, 2, 4};
  Given shape;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    if (!std::holds_alternative<AxisId>(diagram.axes[i].fallback))
      shape.emplace_back(diagram.axes[i].name, sizes[i % std::size(sizes)]);
  }
  return shape;
}

/// Returns a problem of the second diagram with the sizes of the first by the axes' names.
Problem same_sizes(const Diagram& from, const Problem& problem, const Diagram& to) {
  Problem out = problem;
  out.sizes.clear();
  for (const Axis& axis : to.axes) out.sizes.push_back(problem.sizes[at(from.axis(axis.name))]);
  return out;
}

/// Makes inputs from 0.25 to 1.25: no divisor is nearly 0, and no function has a kink within a step.
Tensors gentle_inputs(const Diagram& diagram, const Problem& problem, std::uint64_t seed) {
  Tensors inputs = random_inputs(diagram, problem.sizes, seed);
  for (auto& [name, tensor] : inputs) {
    if (diagram.is_table(diagram.array(name))) continue;
    for (double& v : tensor.data) v = 0.75 + 0.5 * v;
  }
  return inputs;
}

/// Returns the sum of all outputs, each value times its weight.
double weighed(const Diagram& forward, const Problem& problem, const Tensors& inputs, const Tensors& weights) {
  const Run run = run_unfused(forward, problem, inputs);
  double sum = 0;
  for (const auto& [name, weight] : weights) {
    const Tensor& out = run.outputs.at(name);
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      if (std::isfinite(out.data[i])) sum += out.data[i] * weight.data[i];
    }
  }
  return sum;
}

struct Question {
  Gradient gradient;
  Problem forward, backward;
  Tensors inputs, weights;  // inputs of the forward diagram, and weights of its outputs
  Tensors taken;            // inputs of the backward diagram
};

/// Returns "dX", or "dX_" if the diagram has an array of that name.
std::string gradient_name(const Diagram& diagram, const std::string& array) {
  std::string name = "d" + array;
  while (diagram.find_array(name)) name += "_";
  return name;
}

Question question_of(const Diagram& diagram, const Mask& mask) {
  Question q{gradient(diagram), {}, {}, {}, {}, {}};
  const Problem given = problem_of(diagram, tiny_shape(diagram), mask);
  q.forward = same_sizes(diagram, given, q.gradient.forward);
  q.backward = same_sizes(diagram, given, q.gradient.backward);
  q.inputs = gentle_inputs(diagram, q.forward, 7);
  q.taken = q.inputs;
  for (const auto& [name, tensor] : run_unfused(q.gradient.forward, q.forward, q.inputs).outputs)
    q.taken[name] = tensor;
  std::uint64_t seed = 11;
  for (ArrayId id : diagram.outputs) {
    const std::string& name = diagram.arrays[at(id)].name;
    Tensor weight = filled(q.taken.at(name).shape, 0);
    for (std::size_t i = 0; i < weight.data.size(); ++i)
      weight.data[i] = 0.3 + static_cast<double>((seed = seed * 48271 % 2147483647) % 1000) / 1000;
    q.weights[name] = weight;
    q.taken[gradient_name(diagram, name)] = weight;
  }
  for (ArrayId id : q.gradient.backward.inputs) {
    const Array& array = q.gradient.backward.arrays[at(id)];
    REQUIRE_MESSAGE(q.taken.count(array.name) == 1, array.name);
  }
  return q;
}

/// Returns the largest difference between a gradient and the central difference, over the largest gradient.
double error_of(const Question& q, const std::string& input, const Tensor& found) {
  double worst = 0;
  for (std::size_t i = 0; i < found.data.size(); ++i) {
    Tensors moved = q.inputs;
    double& value = moved.at(input).data[i];
    const double centre = value;
    value = centre + step;
    const double above = weighed(q.gradient.forward, q.forward, moved, q.weights);
    value = centre - step;
    const double below = weighed(q.gradient.forward, q.forward, moved, q.weights);
    worst = std::max(worst, std::abs((above - below) / (2 * step) - found.data[i]));
  }
  return worst / std::max(1.0, largest(found));
}

std::vector<Mask> masks_of(const Diagram& diagram) {
  if (mask_axes(diagram).empty()) return {Mask{}};
  return {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 1, 1}};
}

/// Returns the built-in diagrams that have a gradient, each as it is written and as the commands take it.
std::vector<Diagram> differentiable() {
  std::vector<Diagram> out;
  for (const std::string& name : builtin_diagrams()) {
    if (name == "max_pooling") continue;  // its one input is read at chosen rows
    out.push_back(load_diagram(name));
    Diagram moved = linearised(out.back());
    if (!(moved == out.back())) out.push_back(std::move(moved));
  }
  return out;
}

}  // namespace

TEST_CASE("of every diagram, gradients equal central differences") {
  std::size_t diagrams = 0, gradients = 0;
  for (const Diagram& diagram : differentiable()) {
    ++diagrams;
    for (const Mask& mask : masks_of(diagram)) {
      CAPTURE(diagram.name);
      CAPTURE(text_of(mask));
      const Question q = question_of(diagram, mask);
      const Run run = run_unfused(q.gradient.backward, q.backward, q.taken);
      for (const auto& [name, found] : run.outputs) {
        const std::string gradient = name;
        CAPTURE(gradient);
        const auto of = std::find_if(diagram.inputs.begin(), diagram.inputs.end(), [&, &name = name](ArrayId id) {
          return gradient_name(diagram, diagram.arrays[at(id)].name) == name;
        });
        REQUIRE(of != diagram.inputs.end());
        CHECK(error_of(q, diagram.arrays[at(*of)].name, found) <= tolerance);
        ++gradients;
      }
    }
  }
  CHECK(diagrams >= 32);
  CHECK(gradients >= 150);
}

TEST_CASE("a planted slip in a gradient is seen") {
  const Diagram diagram = load_diagram("attention");
  Question q = question_of(diagram, {});
  for (Operation& op : q.gradient.backward.operations) {
    if (op.kind == OpKind::subtract && op.outputs[0] == q.gradient.backward.array("centred_P")) op.kind = OpKind::add;
  }
  const Run run = run_unfused(q.gradient.backward, q.backward, q.taken);
  CHECK(error_of(q, "Q", run.outputs.at("dQ")) > 1e-3);
}

TEST_CASE("of every diagram, the gradient derives, and streamed equals unfused in values and in counts") {
  for (const Diagram& diagram : differentiable()) {
    CAPTURE(diagram.name);
    const Diagram backward = linearised(gradient(diagram).backward);
    const Streamed streamed = derive(backward);
    Given given;
    for (std::size_t i = 0; i < streamed.roles.size(); ++i) {
      if (streamed.grouped(static_cast<AxisId>(i))) given.emplace_back(streamed.diagram.axes[i].name, 2);
      if (streamed.roles[i] == AxisRole::stream) given.emplace_back(streamed.diagram.axes[i].name, 3);
    }
    const Problem problem = problem_of(streamed.diagram, tiny_shape(streamed.diagram));
    const Partition partition = make_partition(streamed, problem.sizes, given, "tile");
    const Tensors inputs = gentle_inputs(streamed.diagram, problem, 3);
    const Run run = run_streamed(streamed, problem, partition, inputs);
    CHECK(gap(run_unfused(streamed.diagram, problem, inputs).outputs, run.outputs) <= 1e-10);
    const Transfer predicted = transfer(streamed, problem, partition);
    Count load = 0, store = 0;
    for (const auto& array : run.counts.levels[0].arrays) load += array.loaded, store += array.stored;
    CHECK(load == predicted.load.value);
    CHECK(store == predicted.store.value);
  }
}

TEST_CASE("gradients of a gradient are those of second order") {
  const Diagram cube = parse_diagram(
      "algorithm: cube\naxes: {a: , b: }\ninputs: [\"X[a,b]\"]\noperations:\n  - Q[a,b] = map square (X)\n"
      "  - Y[a,b] = multiply (Q, X)\noutputs: [Y]\n",
      "cube.yaml");
  const Diagram second = gradient(gradient(cube).backward).backward;
  const Problem problem = problem_of(second, {{"a", 2}, {"b", 3}});
  Tensors inputs;
  for (ArrayId id : second.inputs) {
    const Array& array = second.arrays[at(id)];
    inputs[array.name] = filled(shape_of(array, problem.sizes), array.name == "X" ? 0.5 : 1.0);
  }
  const Tensor found = run_unfused(second, problem, inputs).outputs.at("dX_");  // 6 x
  for (double v : found.data) CHECK(v == doctest::Approx(3.0));
}

}  // namespace test_gradients
