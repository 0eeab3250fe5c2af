// napkin select: which configuration to use, why, and what comes next.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/island.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"
#include "model/base/error.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

constexpr std::int64_t most_shown = 100000;

int top_of(const Arguments& arguments) {
  const auto text = arguments.find("--top");
  if (!text) return 5;
  const std::int64_t top = parse_number(*text, 1, "--top", "N");
  if (top > most_shown) throw Error("--top", "N is " + *text, "a whole number from 1 to " + std::to_string(most_shown));
  return static_cast<int>(top);
}

std::string no_kernel_note(const SelectAnswer& answer) {
  if (answer.found) return "";
  if (!answer.head.tile.empty() || !answer.launches.empty())
    return "no kernel is known that runs " + answer.head.algorithm + " there: the ideal mapping's bound is shown\n";
  return "nothing fits\n";
}

/// Finds breakpoints, for a --shape with a range.
Reply run_family(const Arguments& arguments, const ShapeFamily& family, const report::Style& style) {
  for (const char* option : {"--emit", "--top", "--lengths"}) {
    if (arguments.has(option))
      throw Error(option, "stands beside a range in --shape", "leave it out, or give one shape");
  }
  Ask ask = ask_without_shape(arguments);
  Progress progress;
  ask.progress = following(progress, "sizes");
  const FamilyAnswer answer = select_family(ask, family);
  progress.clear();
  const bool found = std::any_of(answer.picks.begin(), answer.picks.end(), [](const FamilyPick& p) { return p.found; });
  const std::string note = found ? "" : "no kernel fits at any of these sizes\n";
  const int code = found ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), note, code};
  return {report::text_of(answer, style), note, code};
}

Reply run_select(const Arguments& arguments, const report::Style& style) {
  if (const auto shape = arguments.find("--shape"); shape && shape->find("..") != std::string::npos)
    return run_family(arguments, parse_family(*shape), style);
  Progress progress;
  Ask ask = ask_of(arguments);
  const int top = top_of(arguments);
  if (const auto form = arguments.find("--emit")) {
    if (arguments.has("--json"))
      throw Error("--json", "stands beside --emit", "--emit json is JSON already: give one of the two");
    const Emission emission = emit(ask, *form, top);
    return {emission.text, emission.found ? "" : emission.because + "\n", emission.found ? 0 : 1};
  }
  if (asks_island(ask)) return island_reply(select_island(default_session(), ask, top), "select", arguments, style);
  const bool short_text = !arguments.has("--json") && !arguments.has("--explain");
  // the short text shows no runner-up, and names another kernel only if it is much faster
  SelectAnswer answer =
      *select(ask, short_text ? 1 : top, short_text ? AnswerParts{.standing = true} : AnswerParts::all());
  const double named = short_text && answer.predicted ? answer.predicted->time / report::worth_naming : INFINITY;
  if (ask.kernel.empty()) answer.kernels = kernels(ask, (1 + 1e-9) * named);
  if (answer.predicted) answer.predicted->other_load = other_load(ask, answer.head);
  const int code = answer.found ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), no_kernel_note(answer), code};
  return {arguments.has("--explain") ? report::explained(answer, style) : report::text_of(answer, style),
          no_kernel_note(answer), code};
}

}  // namespace

Command select_command() {
  return {"select", "which configuration a kernel should use, why, and the runners-up", algorithm_operand(),
          options({{gpu_option()},
                   problem_options(),
                   condition_options(),
                   {lengths_option(),
                    kernel_option(),
                    tile_option(),
                    split_option(),
                    {"--top", "N", "how many configurations to rank (default 5)"},
                    {"--emit", "FORM",
                     "print the configuration for another program: json, cpp, triton, fa3 or fa4; nccl "
                     "for several GPUs"},
                    explain_option(),
                    json_option()}}),
          run_select};
}

}  // namespace napkin::internal::cli
