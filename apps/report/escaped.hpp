#pragma once
// escaped() escapes text for XML: "a < b" becomes "a &lt; b".

#include <string>
#include <string_view>

namespace napkin::internal::report {

[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace napkin::internal::report
