#pragma once
// print_pseudocode prints the streamed program: labelled diagram and head/loop/tail pseudocode.

#include <functional>
#include <string>

#include "model/fusion/program.hpp"

namespace napkin::internal {

/// Prints the diagram with each axis labelled: q -> g_q (group), x -> s_x (stream).
[[nodiscard]] std::string print_labels(const Streamed& streamed);
/// A function that adds a machine's facts to a statement: where its arrays are, and the agent that runs it.
using Colours = std::function<std::string(const Statement&)>;

/// Prints head, loop and tail of a program of `streamed`, a statement a line. Sums name the axes that may be taken in
/// parts that add up; `colours` add where each statement runs.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed, const Program& program,
                                           const Colours& colours = {});
/// Prints the program with each statement over a whole chunk, without loops over parts.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed);
/// Prints the derivation steps, numbered.
[[nodiscard]] std::string print_steps(const Streamed& streamed);

}  // namespace napkin::internal
