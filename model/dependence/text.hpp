#pragma once
// parse_nest reads the text form of a loop nest: YAML whose statements are one-line texts. parse_nest(print(n)) is n
// again.
//
//   nest: attention_forward
//   about: ...
//   loops: {i: 4, j: 5, d: 1..4}                    # outermost first; a count, or from 1 to below 4
//   arrays: {Q: , K: , V: , m: -infinity, l: 0, O: 0}   # the slow memory: given, or with an initial value
//   statements:
//     - S3(i,j) m_i = m[i]
//     - S6(i,j) m_ij = max(m_i, S_ij)
//     - S10(i,j,d) o_ijd = o_id * l_i * exp(m_i - m_ij) / l_ij + exp(S_ij - m_ij) * v_jd / l_ij
//   outputs: [O, m, l]
//   claims: {parallel: [i, d], same_as: attention_reference}     # optional; see defects.hpp
//
//   statement  := NAME "(" [loop {"," loop}] ")" reference "=" expression
//   reference  := NAME ["[" subscript {"," subscript} "]"]
//   subscript  := loop [("+" | "-") INTEGER] | ["-"] INTEGER
//   expression := term {("+" | "-") term}           term := factor {("*" | "/") factor}
//   factor     := "-" factor | NUMBER | "infinity" | FUNCTION "(" expression {"," expression} ")" | reference
//               | "(" expression ")"
//   FUNCTION   := exp | log | sqrt | tanh | erf | abs | max | min | row_at
//
// row_at(K[n,d], page[n]) is K[n,d], a row that stands elsewhere: page[n] says where, so that its read waits for
// page[n].

#include <string>
#include <string_view>

#include "model/dependence/nest.hpp"

namespace napkin::internal::yaml {
class Node;
}

namespace napkin::internal::dependence {

/// Parses and checks a nest. `file` is used in messages. Throws Error with file:line:column.
[[nodiscard]] Nest parse_nest(std::string_view text, const std::string& file);
[[nodiscard]] Nest read_nest(const yaml::Node& root);
/// Parses a statement's line, over the loops of `nest`. Throws Error with the column in `where`.
[[nodiscard]] Statement parse_statement(const Nest& nest, const std::string& text, const std::string& where);

/// Prints the text form. Parsing it and printing again gives the same text: print(parse(print(n))) == print(n).
[[nodiscard]] std::string print(const Nest& nest);
[[nodiscard]] std::string print_reference(const Nest& nest, const Reference& reference);
[[nodiscard]] std::string print_expression(const Nest& nest, const Expression& expression);
/// Prints a statement: "S6(i,j) m_ij = max(m_i, S_ij)".
[[nodiscard]] std::string print_statement(const Nest& nest, const Statement& statement);

}  // namespace napkin::internal::dependence
