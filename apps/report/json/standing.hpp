#pragma once
// lines_of says how sure a prediction is, in words: "+-6.6 %: 83 published speeds of flash_attention_2 on sm_90 are so
// far from the event graph's in the mean". json_of gives the numbers.

#include <string>
#include <vector>

#include "apps/report/json/json.hpp"
#include "napkin/answers.hpp"

namespace napkin::report {

/// Lines of words: what the prediction rests on, what it lacks to be one, what it leaves out.
[[nodiscard]] std::vector<std::string> basis_lines(const StandingAnswer& standing);

/// The band, then basis_lines().
[[nodiscard]] std::vector<std::string> lines_of(const StandingAnswer& standing);

/// "event graph, derived, +-12 %", "bound, published": a cell of a table.
[[nodiscard]] std::string cell_of(const StandingAnswer& standing);

/// "+-12 %"; "none recorded".
[[nodiscard]] std::string cell_of(const std::optional<Band>& band);

[[nodiscard]] Json json_of(const StandingAnswer& standing);
[[nodiscard]] Json json_of(const std::optional<Band>& band);

}  // namespace napkin::report
