#pragma once
// program() runs the command line, `napkin select attention ...`, given as the words after its name.

#include <string>
#include <vector>

#include "apps/napkin/command.hpp"

namespace napkin::internal::cli {

/// Runs the command. Throws Error for bad input.
[[nodiscard]] Reply reply_to(const std::vector<std::string>& words, const report::Style& style);

/// Finds the command, prints its reply, or a line about bad input. Returns the exit code.
[[nodiscard]] int program(const std::vector<std::string>& words);

}  // namespace napkin::internal::cli
