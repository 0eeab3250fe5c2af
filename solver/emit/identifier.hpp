#pragma once
// identifier() turns the name of a knob or a word into an identifier of C++ and Python: "dq_from" stays, "2d" becomes
// "_2d".

#include <string>
#include <string_view>

namespace napkin::internal::emit {

/// Returns the name with '_' for every character that identifiers exclude, after a keyword of C++ or Python, and before
/// a leading digit: "registers.q" -> "registers_q", "register" -> "register_".
[[nodiscard]] std::string identifier(std::string_view name);

/// Returns the identifier in upper case: "q" -> "Q".
[[nodiscard]] std::string upper_identifier(std::string_view name);

/// Returns the identifier as a type's name: "p_in" -> "PIn", "attention_sm90" -> "AttentionSm90".
[[nodiscard]] std::string type_identifier(std::string_view name);

}  // namespace napkin::internal::emit
