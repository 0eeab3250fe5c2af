#pragma once
// escaped() makes text stand for itself in XML: "a < b" becomes "a &lt; b".

#include <string>
#include <string_view>

namespace napkin::report {

[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace napkin::report
