#pragma once
// select_command() and its neighbours define the commands, each in a file of its name.

#include "apps/napkin/command.hpp"

namespace napkin::internal::cli {

[[nodiscard]] Command query_command();
[[nodiscard]] Command select_command();
[[nodiscard]] Command derive_command();
[[nodiscard]] Command deps_command();
[[nodiscard]] Command compare_command();
[[nodiscard]] Command validate_command();
[[nodiscard]] Command report_command();
[[nodiscard]] Command calibrate_command();
[[nodiscard]] Command timeline_command();
[[nodiscard]] Command step_command();
[[nodiscard]] Command need_command();
[[nodiscard]] Command sensitivity_command();
[[nodiscard]] Command draft_mapping_command();
[[nodiscard]] Command list_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command completion_command();

}  // namespace napkin::internal::cli
