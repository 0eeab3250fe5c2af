#pragma once
// parse_diagram reads the text form of a diagram: YAML whose operations are one-line texts. parse_diagram(print(d)) is
// d again.
//
//   algorithm: attention
//   about: ...
//   axes: {b: 1, h: 1, g: 1, q: , x: , d: , dv: d}          # a default number, a default axis, or nothing
//   inputs: ["Q[b,h,g,q,d]", "K[b,h,x,d]", "V[b,h,x,dv]"]
//   operations:
//     - S[b,h,g,q,x] = contract over d (Q, K)
//     - P[b,h,g,q,x] = softmax over x (S) scale d^-1/2 mask (q, x)
//     - O[b,h,g,q,dv] = contract over x (P, V)
//   outputs: [O]
//
//   roles: {dv: group, x: stream, d: whole}                  # may be left out: derive() chooses
//   folds: ...                                               # functions of one's own (diagram/fold.hpp)
//
//   operation := output {"," output} "=" kind ["over" axis {"," axis}] "(" array {"," array} ")" {attribute}
//   output    := NAME "[" [axis {"," axis}] "]"
//   input     := NAME "[" [dimension {"," dimension}] "]" ["type" TYPE]
//   dimension := axis | axis ":" row | axis ":" TABLE "[" axis {"," axis} "]"      # "X[x: 2*i + k - 1, c]"
//   row       := [N "*"] axis {"+" [N "*"] axis} [("+" | "-") N]
//   kind      := contract | softmax ["normalised"] | map FUNCTION | sum | max | add | subtract | multiply | divide
//              | copy | fold NAME | scan NAME
//   attribute := "scale" (NUMBER | AXIS "^" POWER | NUMBER "*" AXIS "^" POWER) | "mask" "(" axis "," axis ")"
//              | "type" TYPE

#include <functional>
#include <string>
#include <string_view>

#include "model/diagram/diagram.hpp"

namespace napkin::internal::yaml {
class Node;
}

namespace napkin::internal {

/// Parses and checks a diagram. `file` is used in messages. Throws Error with file:line:column.
[[nodiscard]] Diagram parse_diagram(std::string_view text, const std::string& file);
[[nodiscard]] Diagram read_diagram(const yaml::Node& root);

/// Prints the text form. Parsing it and printing again gives the same text: print(parse(print(d))) == print(d).
[[nodiscard]] std::string print(const Diagram& diagram);
/// A function that names an axis.
using AxisNames = std::function<std::string(AxisId)>;
/// Prints an array, its axes named by `name`: "X[x: 2*i + k - 1,c]".
[[nodiscard]] std::string print_array(const Diagram& diagram, ArrayId array, const AxisNames& name);
/// Prints a scale: "d^-1/2", "0.5", "2*d^1".
[[nodiscard]] std::string print_scale(const Diagram& diagram, const Scale& scale);
/// Prints an operation's line, as in the text form.
[[nodiscard]] std::string print_operation(const Diagram& diagram, OpId operation);

}  // namespace napkin::internal
