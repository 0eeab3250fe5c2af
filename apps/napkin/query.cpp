// napkin query: what a tile moves and holds at each level, how long it takes, and what limits it.

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/island.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/text/text.hpp"
#include "napkin/napkin.hpp"

namespace napkin::cli {
namespace {

Reply run_query(const Arguments& arguments, const report::Style& style) {
  Ask ask = ask_of(arguments);
  ask.check = arguments.has("--check");
  ask.compile = arguments.has("--compile");
  if (asks_island(ask)) return island_reply(query_island(default_session(), ask), "query", arguments, style);
  Progress progress;
  if (ask.check) ask.progress = following(progress, "groups run");
  QueryAnswer answer = *query(ask);
  if (answer.predicted) answer.predicted->other_load = other_load(ask, answer.head);
  const bool fits = answer.legal || !ask.tile.empty() || !ask.kernel.empty();  // else no tile of any kernel does
  const int code = !fits || (answer.check && !answer.check->equal) ? 1 : 0;
  const std::string note = fits ? "" : "nothing fits\n";
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), note, code};
  return {arguments.has("--explain") ? report::explained(answer, style) : report::text_of(answer, style), note, code};
}

Option check_option() {
  return {"--check", "",
          "also run the streamed program at a scaled-down shape: what it counts beside what was predicted"};
}

Option compile_option() {
  return {"--compile", "",
          "also compile the kernel with that tile: registers, spills and occupancy beside the plan's (needs NVRTC, no "
          "GPU)"};
}

}  // namespace

Command query_command() {
  return {"query", "what a tile moves and holds at each memory level, how long it takes, and what limits it",
          algorithm_operand(),
          options({{gpu_option(), memory_option()},
                   problem_options(),
                   condition_options(),
                   {lengths_option(), kernel_option(), tile_option(), split_option(), check_option(), compile_option(),
                    explain_option(), json_option()}}),
          run_query};
}

}  // namespace napkin::cli
