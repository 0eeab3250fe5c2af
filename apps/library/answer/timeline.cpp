#include "apps/library/answer/timeline.hpp"

#include <algorithm>

#include "apps/library/rank/evaluate.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/overhead.hpp"
#include "model/machine/vocabulary_of.hpp"

namespace napkin::internal {

TimelineAnswer timeline_answer(const Question& question, const Setup& setup, const Tile& tile, int iterations,
                               std::vector<std::pair<std::string, double>> overhead) {
  if (setup.ideal)
    throw Error("--kernel",
                "the ideal mapping has no order of steps to draw" +
                    (question.ask.kernel.empty()
                         ? ", and no kernel is known that runs " + question.ask.algorithm + " on " + question.ask.gpu
                         : std::string()),
                "a kernel with edges (napkin list kernels), or a GPU that one runs on");
  const Placer placer = placer_of(setup);
  const PlacedDiagram placed = placer.place(tile);
  TimelineAnswer out;
  out.head = head_of(question, setup, &tile);
  out.words = vocabulary_of(*placed.machine);
  for (const PlacedAgent& agent : placed.agents)
    out.agents.push_back(setup.mapping->agents[static_cast<std::size_t>(agent.mapping)].name);
  out.graph = event_graph(placed);
  for (const EventNode& node : out.graph.nodes) {
    if (node.kind == NodeKind::thread && node.phase == Phase::loop && node.agent >= 0)
      out.agent_threads = placed.agents[static_cast<std::size_t>(node.agent)].threads.get();
  }
  out.overhead = std::move(overhead);
  for (const auto& [operation, fraction] : out.overhead)
    out.graph = with_overhead(std::move(out.graph), operation, fraction);
  for (const std::string& operation : operations_with_overhead(out.graph))
    out.budgets.emplace_back(operation, overhead_budget(out.graph, operation));
  const Schedule who = schedule(placed);
  out.iterations = static_cast<int>(std::clamp<double>(iterations, 1, std::max(who.longest, 1.0)));
  out.run = run(out.graph, out.iterations, 1, true);
  out.period = period(out.graph);
  out.block_iterations = who.total_iterations / std::max(who.total_blocks, 1.0);
  out.block = block_clocks(out.graph, out.period, out.block_iterations, cut_chunks(placed));
  // A block that settles late may take less than its iterations at the period.
  const auto beyond = [&](double clocks) { return std::max(clocks - out.block_iterations * out.period.clocks, 0.0); };
  out.ends = {beyond(out.block.first), beyond(out.block.next)};
  out.nodes = who.nodes, out.all_iterations = who.total_iterations;
  out.node_iterations = busiest_iterations(placed);
  const Prediction predicted = predict(placed, {.graph = &out.graph});
  out.predicted = {predicted.cycles.value, predicted.clock, predicted.power, predicted.time};
  out.timed = has_event_graph(placed);
  return out;
}

}  // namespace napkin::internal
