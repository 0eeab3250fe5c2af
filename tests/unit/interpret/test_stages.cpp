// Each stage of a derivation computes what the unfused diagram computes.

#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/stages.hpp"
#include "model/interpret/run.hpp"

namespace test_stages {

using namespace napkin;
using namespace napkin::internal;

namespace {

std::vector<std::string> rules_of(const std::string& name) {
  std::vector<std::string> rules;
  for (const Stage& stage : stages_of(derive(load_diagram(name)))) rules.push_back(stage.rule);
  return rules;
}

/// Returns the largest difference between a stage's run, in chunks of 2 of an axis of 5 and groups of 1, and that of
/// its unfused diagram.
double worst_of(const Stage& stage) {
  const Diagram& diagram = stage.streamed.diagram;
  Problem problem;
  problem.dtype = DType::value;
  problem.sizes.assign(diagram.axes.size(), Count(2));
  if (stage.streamed.stream) problem.sizes[at(*stage.streamed.stream)] = Count(5);
  Partition partition;
  for (std::size_t i = 0; i < problem.sizes.size(); ++i)
    partition.group.push_back(stage.streamed.grouped(static_cast<AxisId>(i)) ? Count(1) : problem.sizes[i]);
  partition.chunk = 2;
  const Tensors inputs = random_inputs(diagram, problem.sizes, 3);
  const Run streamed = run_streamed(stage.streamed, problem, partition, inputs);
  double worst = 0;
  for (const auto& [name, tensor] : run_unfused(diagram, problem, inputs).outputs)
    worst = std::max(worst, difference(tensor, streamed.outputs.at(name)));
  return worst;
}

}  // namespace

TEST_CASE("attention: softmax and product stream, scores are composed, heads and queries weaved, groups cut") {
  CHECK(rules_of("attention") == std::vector<std::string>{"unfused", "streamed", "fusion theorem 1 (input composition)",
                                                          "fusion theorem 3 (weaving)", "groups"});
  CHECK(rules_of("matmul") == std::vector<std::string>{"unfused", "streamed", "fusion theorem 3 (weaving)", "groups"});
  const auto stages = stages_of(derive(load_diagram("attention")));
  CHECK(stages[1].streamed.diagram.operations.size() == 2);
  CHECK(stages[1].streamed.diagram.arrays[0].axes.size() == 1);  // scores over x alone
  CHECK(stages.back().streamed.diagram == derive(load_diagram("attention")).diagram);
}

TEST_CASE("every stage computes what its diagram computes") {
  for (const char* name : {"attention", "matmul", "softmax_contraction", "mlp", "attention_backward"}) {
    CAPTURE(name);
    for (const Stage& stage : stages_of(derive(load_diagram(name)))) {
      CAPTURE(stage.rule);
      CHECK(worst_of(stage) < 1e-12);
    }
  }
}

TEST_CASE("attention's recursion: B by the online softmax and a sum, y = (O, mu, z), O /= z behind the last chunk") {
  const Streamed streamed = derive(load_diagram("attention"));
  const auto recursion = recursion_of(streamed);
  REQUIRE(recursion.has_value());
  CHECK(streamed.diagram.axes[at(recursion->axis)].name == "x");
  CHECK(recursion->functions == std::vector<std::string>{"S", "P", "O"});
  CHECK(recursion->accumulators ==
        std::vector<std::string>{"S chunk by chunk", "P by the online softmax", "O by a sum"});
  CHECK(recursion->state == std::vector<std::string>{"O", "mu", "z"});
  CHECK(recursion->head == std::vector<std::string>{"O = 0", "mu = -infinity", "z = 0"});
  CHECK(recursion->tail == std::vector<std::string>{"O /= z"});
}

}  // namespace test_stages
