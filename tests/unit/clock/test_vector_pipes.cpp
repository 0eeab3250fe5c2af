// What instructions of one kind leave of each vector pipe, by how exponentials are made.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/event_graph.hpp"
#include "tests/laid_out.hpp"

namespace test_vector_pipes {

using namespace napkin;
using namespace napkin::test;

namespace {

Knobs tile(const std::string& rescale) {
  return {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", "1"}, {"rescale", rescale}};
}

}  // namespace

TEST_CASE(
    "exponentials in steps have the rates of small kernels and take slots as others do; else mixed slots are short") {
  const LaidOut l("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}},
                  DType::bf16);
  const EventGraph steps = event_graph(l.place(tile("rarely"))), plain = event_graph(l.place(tile("always")));
  const auto pipe = [](const EventGraph& g, std::string_view name) {
    return *std::find_if(g.pipes.begin(), g.pipes.end(), [&](const VectorPipe& p) { return p.name == name; });
  };
  const Machine& machine = l.machine;
  EventNode tensor;
  tensor.kind = NodeKind::tensor;
  const double rate = machine.unit("special")->per_clock.best().value;
  for (const auto& [at_work, name] : {std::pair<std::size_t, std::string>{1, "one"}, {2, "two"}, {3, "three"}}) {
    CHECK(pipe(steps, "special").left_by(nullptr, at_work) ==
          doctest::Approx(machine.constant("softmax_steps_" + name) / rate));
    CHECK(pipe(steps, "special").left_by(&tensor, at_work) ==
          doctest::Approx(machine.constant("softmax_steps_beside_tensor_" + name) / rate));
    CHECK(pipe(plain, "special").left_by(nullptr, at_work) == 1);
  }
  CHECK(pipe(steps, "issue").left_by(&tensor, 1) == doctest::Approx(0.5));
  CHECK(pipe(plain, "issue").left_by(&tensor, 1) ==
        doctest::Approx(machine.constant("mixed_issue_beside_tensor_one") / 4));
  // Control code takes of them; without them it does not.
  const auto special_of = [](const EventGraph& g, std::string_view node) {
    for (std::size_t p = 0; p < g.pipes.size(); ++p) {
      if (g.pipes[p].name == "special") return g.node(g.find(node)).demand[p];
    }
    return -1.0;
  };
  CHECK(special_of(steps, "S.control") > 0);
  CHECK(special_of(plain, "S.control") == 0);
}

}  // namespace test_vector_pipes
