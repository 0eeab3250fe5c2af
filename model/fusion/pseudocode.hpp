#pragma once
// print_pseudocode shows the streamed program to people: labelled diagram and head/loop/tail pseudocode.

#include <functional>
#include <string>

#include "model/fusion/program.hpp"

namespace napkin {

/// The diagram with each axis labelled: q -> g_q (group), x -> s_x (stream).
[[nodiscard]] std::string print_labels(const Streamed& streamed);
/// What a machine adds to a statement: where its arrays lie and who runs it.
using Colours = std::function<std::string(const Statement&)>;

/// Indented head, loop and tail of a program of `streamed`, one statement a line. Sums say which axes may be taken in
/// parts that add up; with colours each statement says where it runs.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed, const Program& program,
                                           const Colours& colours = {});
/// Without smaller loops.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed);
/// The derivation steps, numbered.
[[nodiscard]] std::string print_steps(const Streamed& streamed);

}  // namespace napkin
