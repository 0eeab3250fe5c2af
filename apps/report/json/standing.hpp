#pragma once
// lines_of words how sure a prediction is: "likely 1.45 to 1.62 ms: such predictions were 9 % too fast in the mean, +-5
// % around that". json_of gives the numbers.

#include <string>
#include <vector>

#include "apps/report/json/json.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal::report {

/// Writes "16 published speeds".
[[nodiscard]] std::string found_text(const Band& band);

/// Writes lines that say what the prediction is based on, what a bound lacks to be a prediction, and what it leaves
/// out.
[[nodiscard]] std::vector<std::string> basis_lines(const StandingAnswer& standing);

/// Writes the band, then basis_lines().
[[nodiscard]] std::vector<std::string> lines_of(const StandingAnswer& standing);

/// Writes lines with the likely times: "likely 1.45 to 1.62 ms: such predictions were 9 % too fast in the mean". None
/// for a runner-up, whose errors are not known.
[[nodiscard]] std::vector<std::string> lines_of(const PredictedAnswer& predicted);

/// Writes "749.9 us to 853.4 us"; "at least 24.0 us, up to 31.2 us" if no mapping goes below; "" if no band is known.
[[nodiscard]] std::string range_text(const PredictedAnswer& predicted);
/// Writes a line: "likely 749.9 us to 853.4 us, by 2,355 recorded times of attention_sm90 on h200-sxm"; "" for a
/// runner-up.
[[nodiscard]] std::string sure_text(const PredictedAnswer& predicted);

/// Writes a cell of a table: "event graph, derived, +6 to +19 %", "bound, published".
[[nodiscard]] std::string cell_of(const StandingAnswer& standing);

/// Writes "+6 to +19 %", or "none recorded".
[[nodiscard]] std::string cell_of(const std::optional<Band>& band);

[[nodiscard]] Json json_of(const StandingAnswer& standing);
[[nodiscard]] Json json_of(const std::optional<Band>& band);

}  // namespace napkin::internal::report
