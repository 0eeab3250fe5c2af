#pragma once
// The readers of a nest and of its statements share these functions: is_name("m") holds, is_name("2m") does not.

#include <functional>
#include <string>
#include <string_view>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

/// Returns true for a letter followed by letters, digits or _; at most 64 characters.
[[nodiscard]] bool is_name(std::string_view word);
/// Returns true for the name of a function, or of infinity.
[[nodiscard]] bool is_reserved(std::string_view word);

/// Reads a statement: "S1(i,j) s = q[i] * k[j]". `place` gives a character's position in the file; `field` names the
/// text in messages. Throws Error.
[[nodiscard]] Statement read_statement(const Nest& nest, const std::string& text, const std::string& field,
                                       std::function<Location(std::size_t)> place);

}  // namespace napkin::internal::dependence
