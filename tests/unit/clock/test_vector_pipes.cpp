// The shares of each vector pipe that instructions of one kind leave, by the way in which exponentials are computed;
// and the sharing of a pipe by operations at work.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/graph/event_graph.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "tests/support/layout.hpp"
#include "tests/unit/clock/small_graph.hpp"

namespace test_vector_pipes {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

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
  const Unit &special = *machine.unit("special"), &issue = *machine.unit("issue");
  const double rate = special.per_clock.best().value;
  REQUIRE(special.co_use.alone.size() == 3);
  REQUIRE(special.co_use.beside.size() == 3);
  for (std::size_t at_work = 1; at_work <= 3; ++at_work) {
    CHECK(pipe(steps, "special").left_by(nullptr, at_work) ==
          doctest::Approx(special.co_use.alone[at_work - 1].value / rate));
    CHECK(pipe(steps, "special").left_by(&tensor, at_work) ==
          doctest::Approx(special.co_use.beside[at_work - 1].value / rate));
    CHECK(pipe(plain, "special").left_by(nullptr, at_work) == 1);
  }
  CHECK(pipe(steps, "issue").left_by(&tensor, 1) == doctest::Approx(0.5));
  CHECK(pipe(plain, "issue").left_by(&tensor, 1) == doctest::Approx(issue.co_use.beside.front().value / 4));
  // In `steps` control code uses the special pipe, in `plain` it does not.
  const auto special_of = [](const EventGraph& g, std::string_view node) {
    for (std::size_t p = 0; p < g.pipes.size(); ++p) {
      if (g.pipes[p].name == "special") return g.node(g.find(node)).demand[p];
    }
    return -1.0;
  };
  CHECK(special_of(steps, "S.control") > 0);
  CHECK(special_of(plain, "S.control") == 0);
}

TEST_CASE("what runs beside the tensor unit gets the share that it leaves") {
  Small s;
  s.graph.pipes[1].beside = 0.25;
  const int t = s.add("t", 1000, NodeKind::tensor), v = s.add("v", 100);
  s.graph.nodes[static_cast<std::size_t>(v)].demand[1] = 100;
  s.edge(t, t, 1);
  s.edge(v, v, 1);
  // 1000 clocks at a quarter of the rate: 2.5 of the vector's iterations each. Over the tensor's last iteration no
  // vector work is left, so the run is the tensor's until its end.
  const Timeline timeline = run(s.graph, 1, 1, true);
  CHECK(timeline.spans.front().end == doctest::Approx(400));
  CHECK(timeline.clocks == doctest::Approx(1000));
  CHECK(busiest_pipe(s.graph).clocks == doctest::Approx(1000));
  s.graph.nodes[static_cast<std::size_t>(v)].demand[1] = s.graph.nodes[static_cast<std::size_t>(v)].clocks = 400;
  CHECK(busiest_pipe(s.graph).clocks == doctest::Approx(400 + 0.75 * 1000));
  CHECK(busiest_pipe(s.graph).beside_tensor);
}

TEST_CASE("fewer warps at work get fewer slots beside the tensor unit") {
  Small s;
  s.graph.pipes[1].beside = 0.5;
  s.graph.pipes[1].beside_few = {0.2, 0.4};
  const int t = s.add("t", 1e5, NodeKind::tensor);
  for (int instances = 1; instances <= 3; ++instances) {
    const int v = s.add("v" + std::to_string(instances), 10);
    s.graph.nodes[static_cast<std::size_t>(v)].demand[1] = 10;
    const Timeline timeline = run(s.graph, 1, 1, true);
    // Together each takes 10 clocks of work at that share.
    CHECK(timeline.spans.front().end ==
          doctest::Approx(10 * instances /
                          s.graph.pipes[1].left_by(&s.graph.node(t), static_cast<std::size_t>(instances))));
  }
  CHECK(s.graph.pipes[1].left_by(&s.graph.node(t), 1) == 0.2);
  CHECK(s.graph.pipes[1].left_by(&s.graph.node(t), 2) == 0.4);
  CHECK(s.graph.pipes[1].left_by(&s.graph.node(t), 3) == 0.5);
}

TEST_CASE("alone, too, fewer warps at work get less of a pipe; those that work elsewhere do not count") {
  Small s;
  s.graph.pipes.push_back({"other"});
  s.graph.pipes[1].alone = 0.8;
  s.graph.pipes[1].alone_few = {0.25, 0.5};
  for (EventNode& node : s.graph.nodes) node.demand.resize(3, 0.0);
  const int v = s.add("v", 10), w = s.add("w", 1000);
  for (EventNode& node : s.graph.nodes) node.demand.resize(3, 0.0);
  s.graph.nodes[static_cast<std::size_t>(v)].demand[1] = 10;
  s.graph.nodes[static_cast<std::size_t>(w)].demand[2] = 1000;
  CHECK(run(s.graph, 1, 1, true).spans.front().end == doctest::Approx(10 / 0.25));
  CHECK(s.graph.pipes[1].left_by(nullptr, 1) == 0.25);
  CHECK(s.graph.pipes[1].left_by(nullptr, 2) == 0.5);
  CHECK(s.graph.pipes[1].left_by(nullptr, 3) == 0.8);
}

TEST_CASE("who takes less of a pipe than its least share is not at work on it, and takes it all the same") {
  Small s;
  s.graph.pipes[1].alone_few = {0.25, 0.5};
  s.graph.pipes[1].least_share = 0.5;
  const int v = s.add("v", 10), w = s.add("w", 100);
  s.graph.nodes[static_cast<std::size_t>(v)].demand[1] = 10;
  s.graph.nodes[static_cast<std::size_t>(w)].demand[1] = 5;
  // w gets the rate that it has alone, 0.05 of the pipe; v gets the rest of one instance's share.
  CHECK(run(s.graph, 1, 1, true).spans.front().end == doctest::Approx(10 / (0.25 - 0.05)));
  s.graph.pipes[1].least_share = 0.05;
  CHECK(run(s.graph, 1, 1, true).spans.front().end == doctest::Approx(10 / (0.5 - 0.05)));
}

}  // namespace test_vector_pipes
