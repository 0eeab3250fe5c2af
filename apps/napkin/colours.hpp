#pragma once
// colours_of prints where each array of a program lies, in which type and how many copies, and which agent computes an
// operation on which unit. For attention on an H200: "O += contract over x (P, V)   wgmma by softmax; P in registers, V
// in shared; O in registers as f32". (the paper's steps 2 and 3)

#include "model/fusion/pseudocode.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal::cli {

/// Returns the colours of a placed diagram, to which they keep a pointer.
[[nodiscard]] Colours colours_of(const PlacedDiagram& placed);

/// Prints the program of a group as the placed kernel runs it, with its smaller loops and colours.
[[nodiscard]] std::string coloured_program(const PlacedDiagram& placed);

}  // namespace napkin::internal::cli
