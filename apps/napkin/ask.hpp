#pragma once
// ask_of turns a command's options into a question: --gpu, --shape, --kernel and so on mean one thing in all commands.

#include <initializer_list>
#include <vector>

#include "apps/napkin/command.hpp"
#include "napkin/napkin.hpp"

namespace napkin::cli {

/// ALGORITHM.
[[nodiscard]] Option algorithm_operand();
/// --gpu, --memory, --shape, --dtype, --causal, --window, --kernel, --tile, --explain, --json; --lengths.
[[nodiscard]] Option gpu_option();
[[nodiscard]] Option memory_option();
[[nodiscard]] Option kernel_option();
[[nodiscard]] Option tile_option();
[[nodiscard]] Option json_option();
[[nodiscard]] Option explain_option();
[[nodiscard]] Option lengths_option();
/// --split, of commands that take an island of GPUs
[[nodiscard]] Option split_option();
/// --shape, --dtype, --causal, --window
[[nodiscard]] std::vector<Option> problem_options();
/// --load, --clock
[[nodiscard]] std::vector<Option> condition_options();
[[nodiscard]] CardConditions conditions_of(const Arguments& arguments);

/// The question of these arguments; options that the command does not have are simply not there.
[[nodiscard]] Ask ask_of(const Arguments& arguments);
/// The question of a command that takes a range of sizes: the shape is left alone.
[[nodiscard]] Ask ask_without_shape(const Arguments& arguments);
/// The question without the machine: --gpu and --memory are left alone.
[[nodiscard]] Ask ask_without_machine(const Arguments& arguments);

/// Groups of options, one after the other.
[[nodiscard]] std::vector<Option> options(std::initializer_list<std::vector<Option>> groups);

}  // namespace napkin::cli
