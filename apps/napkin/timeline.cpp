// napkin timeline: the times at which agents and pipes of one block work, and the waits of an iteration.

#include <string>
#include <utility>
#include <vector>

#include "apps/library/rank/select_tile.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "apps/report/text/timeline.hpp"

namespace napkin::internal::cli {
namespace {

constexpr std::int64_t most_iterations = 1000;

int iterations_of(const Arguments& arguments) {
  const auto text = arguments.find("--iterations");
  if (!text) return 6;
  const std::int64_t n = parse_number(*text, 1, "--iterations", "N");
  if (n > most_iterations) throw Error("--iterations", "N is " + *text, "a whole number from 1 to 1000");
  return static_cast<int>(n);
}

TimelineAnswer timeline_of(const Arguments& arguments) {
  static_cast<void>(arguments.need("--gpu", "a profile (napkin list gpus)"));
  const Question question = question_of(default_session(), ask_of(arguments));
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    const auto overhead = arguments.find("--overhead");
    return timeline_answer(
        question, *selected.setup, selected.tile, iterations_of(arguments),
        overhead ? parse_fractions(*overhead, "--overhead") : std::vector<std::pair<std::string, double>>());
  });
}

Reply run_timeline(const Arguments& arguments, const report::Style& style) {
  const TimelineAnswer timeline = timeline_of(arguments);
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
                   condition_options(),
                   {kernel_option(),
                    tile_option(),
                    {"--iterations", "N",
                     "iterations to draw, from the block's start (default 6; at most those of the longest block)"},
                    {"--overhead", "OP=F,...",
                     "suppose that an operation's vector work takes longer by this fraction: P=0.66 for 66 % more"},
                    {"--svg", "FILE", "also draw it"},
                    {"--perfetto", "FILE", "also write a trace for ui.perfetto.dev, a clock as a microsecond"},
                    json_option()}}),
          run_timeline};
}

}  // namespace napkin::internal::cli
