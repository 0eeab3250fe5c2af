#pragma once
// island_reply prints the answer to a question about several GPUs, for query and for select.

#include <string_view>

#include "apps/napkin/command.hpp"
#include "napkin/island.hpp"

namespace napkin::internal::cli {

[[nodiscard]] Reply island_reply(const IslandAnswer& answer, std::string_view command, const Arguments& arguments,
                                 const report::Style& style);

}  // namespace napkin::internal::cli
