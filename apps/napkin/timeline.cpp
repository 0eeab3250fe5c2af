// napkin timeline: who runs when in one block, and what an iteration waits for.

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/evaluate.hpp"
#include "apps/library/select_tile.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "apps/report/timeline.hpp"
#include "model/clock/graph/overhead.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin::cli {
namespace {

constexpr std::int64_t most_iterations = 1000;

int iterations_of(const Arguments& arguments) {
  const auto text = arguments.find("--iterations");
  if (!text) return 6;
  const std::int64_t n = parse_number(*text, 1, "--iterations", "N");
  if (n > most_iterations) throw Error("--iterations", "N is " + *text, "a whole number from 1 to 1000");
  return static_cast<int>(n);
}

/// What a user supposes that vector work takes beyond its counts, and what is left beside it.
void set_overhead(const Arguments& arguments, report::TimelineReport& out) {
  if (const auto text = arguments.find("--overhead")) {
    out.overhead = parse_fractions(*text, "--overhead");
    for (const auto& [operation, fraction] : out.overhead)
      out.graph = with_overhead(std::move(out.graph), operation, fraction);
  }
  for (const std::string& operation : operations_with_overhead(out.graph))
    out.budgets.emplace_back(operation, overhead_budget(out.graph, operation));
}

report::TimelineReport report_of(const Arguments& arguments) {
  static_cast<void>(arguments.need("--gpu", "a profile (napkin list gpus)"));
  const Request request = default_session().request(ask_of(arguments));
  return at_shape([&] {
    const SelectedTile selected = select_tile(request);
    const Placer placer = placer_of(request, *selected.layout);
    const PlacedDiagram placed = placer.place(selected.tile);
    report::TimelineReport out;
    out.head = head_of(request, *selected.layout, &selected.tile);
    for (const PlacedAgent& agent : placed.agents)
      out.agents.push_back(selected.layout->mapping->agents[static_cast<std::size_t>(agent.mapping)].name);
    out.graph = event_graph(placed);
    set_overhead(arguments, out);
    out.iterations = iterations_of(arguments);
    out.run = napkin::run(out.graph, out.iterations, 1, true);
    out.period = period(out.graph);
    const Schedule who = schedule(placed);
    out.block_iterations = who.total_iterations / std::max(who.total_blocks, 1.0);
    const Prediction predicted = predict_of_graph(placed, plan(placed), out.graph, out.period);
    out.predicted = {predicted.cycles.value, predicted.clock, predicted.power, predicted.time};
    out.timed = has_event_graph(placed);
    return out;
  });
}

Reply run_timeline(const Arguments& arguments, const report::Style& style) {
  const report::TimelineReport timeline = report_of(arguments);
  if (arguments.has("--svg"))
    report::write_file(arguments.need("--svg", "a path for the picture"), report::svg_of(timeline), "--svg");
  if (arguments.has("--perfetto"))
    report::write_file(arguments.need("--perfetto", "a path for the trace"), report::perfetto_of(timeline),
                       "--perfetto");
  Reply reply;
  reply.out = arguments.has("--json") ? report::line_of(report::json_of(timeline)) : report::text_of(timeline, style);
  return reply;
}

}  // namespace

Command timeline_command() {
  return {"timeline", "who runs when in one block, and what an iteration waits for", algorithm_operand(),
          options({{gpu_option()},
                   problem_options(),
                   {kernel_option(),
                    tile_option(),
                    {"--iterations", "N", "how many to draw from the block's start (default 6)"},
                    {"--overhead", "OP=F,...",
                     "suppose that an operation's vector work takes so much longer, such as P=0.66"},
                    {"--svg", "FILE", "also draw it"},
                    {"--perfetto", "FILE", "also write a trace for ui.perfetto.dev, a clock as a microsecond"},
                    json_option()}}),
          run_timeline};
}

}  // namespace napkin::cli
