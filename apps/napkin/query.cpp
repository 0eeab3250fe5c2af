// napkin query: what a tile moves and holds at each level, how long it takes, and what limits it.

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/island.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/text/text.hpp"
#include "model/base/error.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

/// Parses the memories of "58112,1024", from the largest down: each level holds what the one below it reads.
std::vector<std::int64_t> memories_of(const std::string& text) {
  const std::string right =
      "values of each level from the top down, each fewer than the one before, such as 58112,1024";
  std::vector<std::int64_t> values;
  for (const std::string& word : parse_words(text, "--memory", right)) {
    values.push_back(parse_number(word, 1, "--memory", "VALUES"));
    if (values.size() > 1 && values.back() >= values[values.size() - 2])
      throw Error("--memory", in_quotes(text) + " must decrease", right);
  }
  return values;
}

/// Answers for an abstract machine of several levels: each has the least transfer of its own memory. (eq. 7.1)
Reply run_levels(const Arguments& arguments, const report::Style& style) {
  for (const char* option : {"--tile", "--check", "--compile", "--explain", "--gpu"}) {
    if (arguments.has(option))
      throw Error(option, "stands beside several levels in --memory", "leave it out, or give one level");
  }
  Arguments one = arguments;
  std::vector<QueryAnswer> levels;
  for (const std::int64_t memory : memories_of(*arguments.find("--memory"))) {
    one.values["--memory"] = std::to_string(memory);
    levels.push_back(*query(ask_of(one), AnswerParts::all()));
  }
  if (arguments.has("--json")) return {report::line_of(report::json_of(levels)), "", 0};
  return {report::text_of(levels, style), "", 0};
}

Reply run_query(const Arguments& arguments, const report::Style& style) {
  if (const auto memory = arguments.find("--memory"); memory && memory->find(',') != std::string::npos)
    return run_levels(arguments, style);
  Ask ask = ask_of(arguments);
  ask.check = arguments.has("--check");
  ask.compile = arguments.has("--compile");
  if (asks_island(ask)) return island_reply(query_island(default_session(), ask), "query", arguments, style);
  Progress progress;
  if (ask.check) ask.progress = following(progress, "groups run");
  const bool all = arguments.has("--json") || arguments.has("--explain");
  QueryAnswer answer = *query(
      ask, all ? AnswerParts::all() : AnswerParts{.standing = true, .formulas = ask.memory.has_value(), .best = true});
  if (answer.predicted) answer.predicted->other_load = other_load(ask, answer.head);
  const bool fits = answer.legal || !ask.tile.empty() || !ask.kernel.empty();  // false: no tile of any kernel fits
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

}  // namespace napkin::internal::cli
