#pragma once
// identifier() makes a name of a knob or a word one of C++ and Python: "dq_from" stays, "2d" becomes "_2d".

#include <string>
#include <string_view>

namespace napkin::emit {

/// The name with every character that no identifier may hold as '_'; a keyword of C++ or Python gets a '_' behind, and
/// a leading digit one in front. "registers.q" -> "registers_q", "register" -> "register_".
[[nodiscard]] std::string identifier(std::string_view name);

/// In upper case: "q" -> "Q".
[[nodiscard]] std::string upper_identifier(std::string_view name);

/// As a type's name: "p_in" -> "PIn", "attention_sm90" -> "AttentionSm90".
[[nodiscard]] std::string type_identifier(std::string_view name);

}  // namespace napkin::emit
