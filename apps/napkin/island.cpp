#include "apps/napkin/island.hpp"

#include "apps/report/json/json.hpp"
#include "apps/report/text/island.hpp"

namespace napkin::internal::cli {

Reply island_reply(const IslandAnswer& answer, std::string_view command, const Arguments& arguments,
                   const report::Style& style) {
  const std::string note = answer.found ? "" : "nothing fits: " + answer.because + "\n";
  const bool failed = answer.check && !answer.check->equal;
  const int code = answer.found && !failed ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(report::json_of(answer, command)), note, code};
  return {report::text_of(answer, style), note, code};
}

}  // namespace napkin::internal::cli
