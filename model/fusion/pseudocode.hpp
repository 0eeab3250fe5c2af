#pragma once
// print_pseudocode shows the streamed program to people: labelled diagram and head/loop/tail pseudocode.

#include <functional>
#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin {

/// The diagram with each axis labelled: q -> g_q (group), x -> s_x (stream).
[[nodiscard]] std::string print_labels(const Streamed& streamed);
/// An axis that a statement takes in parts: {x, "u_x=32"}.
struct SubLoop {
  AxisId axis = 0;
  std::string part;
};
/// What a machine adds to a program: of a statement where its arrays lie and who runs it, and its smaller loops.
struct Colours {
  std::function<std::string(const Statement&)> of;
  std::function<std::vector<SubLoop>(const Statement&)> sub_loops;
};

/// Indented head, loop and tail, one statement a line. Sums say which axes may be taken in parts that add up; with
/// colours each statement says where it runs, and its sub-loops are loops.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed, const Colours& colours = {});
/// The derivation steps, numbered.
[[nodiscard]] std::string print_steps(const Streamed& streamed);

}  // namespace napkin
