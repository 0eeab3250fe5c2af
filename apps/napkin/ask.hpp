#pragma once
// ask_of turns a command's options into a question: --gpu, --shape, --kernel and so on mean one thing in all commands.

#include <initializer_list>
#include <vector>

#include "apps/napkin/command.hpp"
#include "napkin/napkin.hpp"

namespace napkin::cli {

/// Makes the question of these arguments, without the options that the command does not have.
[[nodiscard]] Ask ask_of(const Arguments& arguments);
/// Makes the question of a command that takes a range of sizes, without the shape.
[[nodiscard]] Ask ask_without_shape(const Arguments& arguments);
/// Makes the question without the machine: --gpu and --memory are not read.
[[nodiscard]] Ask ask_without_machine(const Arguments& arguments);

/// Joins groups of options, in order.
[[nodiscard]] std::vector<Option> options(std::initializer_list<std::vector<Option>> groups);

}  // namespace napkin::cli
