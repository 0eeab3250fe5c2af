// napkin step: what one pass through a model costs, all its launches at one clock.

#include "apps/report/text/step.hpp"

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/progress.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

Issue parse_issue(const std::string& word) {
  if (word == "stream") return Issue::stream;
  if (word == "graph") return Issue::graph;
  throw Error("--issue", "is " + in_quotes(word), one_of(word, {"stream", "graph"}));
}

StepAsk step_ask(const Arguments& arguments) {
  StepAsk ask;
  ask.step = arguments.need_operand("STEP", "a bundled step's name (napkin list steps) or a path to a YAML file");
  ask.gpu = arguments.need("--gpu", "a profile's or an island's name (napkin list gpus) or a path to a YAML file");
  if (const auto shape = arguments.find("--shape")) ask.shape = parse_shape(*shape);
  if (arguments.has("--dtype")) ask.dtype = arguments.need("--dtype", "an element type, such as bf16");
  ask.conditions = conditions_of(arguments);
  if (const auto watts = arguments.find("--power")) ask.conditions.limit = parse_positive(*watts, "--power", "W");
  ask.bundled = arguments.has("--bundled");
  if (const auto issue = arguments.find("--issue")) ask.issue = parse_issue(*issue);
  return ask;
}

Reply run_step(const Arguments& arguments, const report::Style& style) {
  const StepAnswer answer = step(step_ask(arguments));
  const std::string note = answer.found ? "" : "it does not fit: " + answer.because + "\n";
  const int code = answer.found ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer)), note, code};
  return {report::text_of(answer, style), note, code};
}

}  // namespace

Command step_command() {
  return {
      "step",
      "what one step of a model costs: its launches at their common clock, tokens per second, joules",
      {"STEP", "", "a bundled step (napkin list steps) or a path to a step's YAML"},
      options({{gpu_option(),
                {"--shape", "k=v,...", "the step's symbols, such as b=64,q=1,x=4096: sequences, new tokens, keys"},
                {"--dtype", "T", "element type of launches that name none (default: the step's, else bf16)"},
                {"--issue", "HOW",
                 "how launches are issued: stream (one by one) or graph (one CUDA graph); "
                 "default: as the step says"},
                {"--bundled", "", "only this program's own kernels"}},
               condition_options(),
               {{"--power", "W", "the power limit that the driver is set to; default: the profile's"}, json_option()}}),
      run_step};
}

}  // namespace napkin::internal::cli
