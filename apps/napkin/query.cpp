// napkin query: what a tile moves and holds at each level, how long it takes, and what limits it.

#include "apps/library/napkin.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json.hpp"
#include "apps/report/text.hpp"

namespace napkin::cli {
namespace {

Reply run(const Arguments& arguments, const report::Style& style) {
  const QueryAnswer answer = query(ask_of(arguments));
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), "", 0};
  return {report::text_of(answer, style), "", 0};
}

}  // namespace

Command query_command() {
  return {
      "query", "what a tile moves and holds at each memory level, how long it takes, and what limits it",
      algorithm_operand(),
      options({{gpu_option(), memory_option()}, problem_options(), {kernel_option(), tile_option(), json_option()}}),
      run};
}

}  // namespace napkin::cli
