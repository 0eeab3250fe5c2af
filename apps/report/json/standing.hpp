#pragma once
// lines_of says how sure a prediction is, in words: "likely 1.45 to 1.62 ms: such predictions were 9 % too fast in the
// mean, +-5 % around that". json_of gives the numbers.

#include <string>
#include <vector>

#include "apps/report/json/json.hpp"
#include "napkin/answers.hpp"

namespace napkin::report {

/// "16 published speeds"
[[nodiscard]] std::string found_text(const Band& band);

/// Lines of words: what the prediction rests on, what it lacks to be one, what it leaves out.
[[nodiscard]] std::vector<std::string> basis_lines(const StandingAnswer& standing);

/// The band, then basis_lines().
[[nodiscard]] std::vector<std::string> lines_of(const StandingAnswer& standing);

/// Lines of words with the likely times: "likely 1.45 to 1.62 ms: such predictions were 9 % too fast in the mean". None
/// of a runner-up, of which nothing is known.
[[nodiscard]] std::vector<std::string> lines_of(const PredictedAnswer& predicted);

/// "749.9 us to 853.4 us"; "at least 24.0 us, up to 31.2 us" where no mapping goes below; "" where no band is known.
[[nodiscard]] std::string range_text(const PredictedAnswer& predicted);
/// In one line: "likely 749.9 us to 853.4 us, by 2,355 recorded times of attention_sm90 on h200-sxm"; "" of a
/// runner-up.
[[nodiscard]] std::string sure_text(const PredictedAnswer& predicted);

/// "event graph, derived, +6 to +19 %", "bound, published": a cell of a table.
[[nodiscard]] std::string cell_of(const StandingAnswer& standing);

/// "+6 to +19 %"; "none recorded".
[[nodiscard]] std::string cell_of(const std::optional<Band>& band);

[[nodiscard]] Json json_of(const StandingAnswer& standing);
[[nodiscard]] Json json_of(const std::optional<Band>& band);

}  // namespace napkin::report
