// napkin sensitivity: what a percent more of each number would change, and what limits next.

#include "apps/report/text/sensitivity.hpp"

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

Reply run_sensitivity(const Arguments& arguments, const report::Style& style) {
  static_cast<void>(arguments.need("--gpu", "a profile (napkin list gpus)"));
  const SensitivityAnswer answer = sensitivity(ask_of(arguments));
  if (arguments.has("--svg"))
    report::write_file(arguments.need("--svg", "a path for the picture"), report::svg_of(answer), "--svg");
  Reply reply;
  reply.out = arguments.has("--json")      ? report::line_of(report::json_of(answer))
              : arguments.has("--explain") ? report::explained(answer, style)
                                           : report::text_of(answer, style);
  return reply;
}

}  // namespace

Command sensitivity_command() {
  return {"sensitivity", "what one percent more of each number of the machine and the mapping would change",
          algorithm_operand(),
          options({{gpu_option()},
                   problem_options(),
                   condition_options(),
                   {lengths_option(),
                    kernel_option(),
                    tile_option(),
                    {"--svg", "FILE", "also draw the largest as a tornado chart"},
                    explain_option(),
                    json_option()}}),
          run_sensitivity};
}

}  // namespace napkin::internal::cli
