#include "apps/napkin/commands.hpp"

namespace napkin::internal::cli {

std::vector<Command> commands() {
  return {query_command(),         select_command(),   derive_command(), deps_command(),
          compare_command(),       timeline_command(), step_command(),   validate_command(),
          sensitivity_command(),   need_command(),     report_command(), calibrate_command(),
          draft_mapping_command(), list_command(),     show_command(),   completion_command()};
}

}  // namespace napkin::internal::cli
