// napkin select: which configuration to use, why, and what comes next.

#include <algorithm>

#include "apps/library/napkin.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json.hpp"
#include "apps/report/text.hpp"
#include "model/base/error.hpp"

namespace napkin::cli {
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
  if (answer.predicted && !answer.head.kernel) {
    return "no bundled kernel runs " + answer.head.algorithm + " there: the ideal mapping is shown\n";
  }
  return "nothing fits\n";
}

/// Where --shape has a range: its breakpoints.
Reply run_family(const Arguments& arguments, const ShapeFamily& family, const report::Style& style) {
  for (const char* option : {"--emit", "--top", "--lengths"}) {
    if (arguments.has(option))
      throw Error(option, "stands beside a range in --shape", "leave it out, or give one shape");
  }
  const FamilyAnswer answer = select_family(ask_without_shape(arguments), family);
  const bool found = std::any_of(answer.picks.begin(), answer.picks.end(), [](const FamilyPick& p) { return p.found; });
  const std::string note = found ? "" : "no bundled kernel fits at any of these sizes\n";
  const int code = found ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), note, code};
  return {report::text_of(answer, style), note, code};
}

Reply run_select(const Arguments& arguments, const report::Style& style) {
  if (const auto shape = arguments.find("--shape"); shape && shape->find("..") != std::string::npos)
    return run_family(arguments, parse_family(*shape), style);
  const Ask ask = ask_of(arguments);
  const int top = top_of(arguments);
  if (const auto form = arguments.find("--emit")) {
    if (arguments.has("--json"))
      throw Error("--json", "stands beside --emit", "--emit json is JSON already: give one of the two");
    const Emission emission = emit(ask, *form, top);
    return {emission.text, emission.found ? "" : emission.because + "\n", emission.found ? 0 : 1};
  }
  const auto answer = select(ask, top);
  const int code = answer->found ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(*answer)), no_kernel_note(*answer), code};
  return {report::text_of(*answer, style), no_kernel_note(*answer), code};
}

}  // namespace

Command select_command() {
  return {"select", "which configuration a kernel should use, why, and the runners-up", algorithm_operand(),
          options({{gpu_option()},
                   problem_options(),
                   {lengths_option(),
                    kernel_option(),
                    tile_option(),
                    {"--top", "N", "how many configurations to rank (default 5)"},
                    {"--emit", "FORM", "print the configuration for another program: json, cpp, triton or fa3"},
                    json_option()}}),
          run_select};
}

}  // namespace napkin::cli
