#pragma once
// ask_of turns a command's options into a question: --gpu, --shape, --kernel and so on mean one thing in all commands.

#include <initializer_list>
#include <vector>

#include "apps/napkin/command.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {

/// Describes the operand ALGORITHM.
[[nodiscard]] Option algorithm_operand();
/// Describes --gpu; the functions below describe --memory, --shape, --dtype, --causal, --window, --kernel, --tile,
/// --explain, --json and --lengths.
[[nodiscard]] Option gpu_option();
[[nodiscard]] Option memory_option();
[[nodiscard]] Option kernel_option();
[[nodiscard]] Option tile_option();
[[nodiscard]] Option json_option();
[[nodiscard]] Option explain_option();
[[nodiscard]] Option lengths_option();
/// Describes --split, for commands that take an island of GPUs.
[[nodiscard]] Option split_option();
/// Describes --shape, --dtype, --causal and --window.
[[nodiscard]] std::vector<Option> problem_options();
/// Describes --load, --clock and --l2.
[[nodiscard]] std::vector<Option> condition_options();
[[nodiscard]] CardConditions conditions_of(const Arguments& arguments);

/// Makes the question of these arguments, without the options that the command does not have.
[[nodiscard]] Ask ask_of(const Arguments& arguments);
/// Makes the question of a command that takes a range of sizes, without the shape.
[[nodiscard]] Ask ask_without_shape(const Arguments& arguments);
/// Makes the question without the machine: --gpu and --memory are not read.
[[nodiscard]] Ask ask_without_machine(const Arguments& arguments);

/// Joins groups of options, in order.
[[nodiscard]] std::vector<Option> options(std::initializer_list<std::vector<Option>> groups);

}  // namespace napkin::internal::cli
