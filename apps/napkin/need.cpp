// napkin need: what a machine must have for an algorithm to reach a target.

#include "apps/report/text/need.hpp"

#include <array>
#include <utility>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

/// Reads "600us", "0.6ms" or "0.0006s".
double parse_seconds(const std::string& text, const std::string& where) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}, {"s", 1}}};
  for (const auto& [unit, factor] : units) {
    if (!text.ends_with(unit)) continue;
    return factor * parse_positive(std::string_view(text).substr(0, text.size() - unit.size()), where, "T");
  }
  throw Error(where, "is " + in_quotes(text), "a time with its unit, such as 600us or 0.6ms");
}

NeedAsk need_ask(const Arguments& arguments) {
  NeedAsk need;
  static_cast<void>(arguments.need("--gpu", "a profile (napkin list gpus)"));
  need.ask = ask_of(arguments);
  if (const auto time = arguments.find("--time")) need.time = parse_seconds(*time, "--time");
  if (const auto tflops = arguments.find("--tflops")) need.flops = 1e12 * parse_positive(*tflops, "--tflops", "F");
  if (const auto joules = arguments.find("--joules")) need.joules = parse_positive(*joules, "--joules", "J");
  const std::string right =
      "numbers' names with commas between them, such as power.limit (napkin sensitivity lists them)";
  if (const auto of = arguments.find("--of")) need.of = parse_words(*of, "--of", right);
  if (const auto line = arguments.find("--line")) {
    const auto names = parse_words(*line, "--line", right);
    if (names.size() != 2) throw Error("--line", "names " + std::to_string(names.size()) + " numbers", "two: A,B");
    need.line = std::pair(names[0], names[1]);
  }
  return need;
}

Reply run_need(const Arguments& arguments, const report::Style& style) {
  const NeedAnswer answer = need(need_ask(arguments));
  bool any = answer.met;
  for (const NeedRow& row : answer.rows) any = any || row.reached;
  const std::string note = any ? "" : "no number alone reaches it\n";
  const int code = any ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), note, code};
  return {report::text_of(answer, style), note, code};
}

}  // namespace

Command need_command() {
  return {
      "need",
      "the least value of each of a machine's numbers that reaches a time, a speed or an energy, and what limits then",
      algorithm_operand(),
      options({{gpu_option()},
               problem_options(),
               {{"--time", "TIME", "the target: at most this time, such as 600us"},
                {"--tflops", "F", "the target: at least this speed, in 1e12 FLOP/s of visible pairs"},
                {"--joules", "J", "the target: at most these joules for one call"},
                {"--of", "N,...",
                 "numbers by name (napkin sensitivity); default: those of levels, pipes, clocks and power"},
                {"--line", "N,M", "also the values that N needs for half to twice the value of M"}},
               condition_options(),
               {kernel_option(), tile_option(), json_option()}}),
      run_need};
}

}  // namespace napkin::internal::cli
