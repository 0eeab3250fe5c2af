#pragma once
// why_text says in two lines what limits a prediction: "the tensor cores are the limit: 2048 of 2048 clk an iteration;
// the longest chain of waits takes 1413".

#include <string>
#include <vector>

#include "napkin/answers.hpp"

namespace napkin::internal::report {

/// Names the limit: "the tensor cores", "L2 -> shared", "a chain of waits".
[[nodiscard]] std::string limit_of(const Head& head, const PredictedAnswer& predicted);
/// Writes the limit of the time, the clocks of an iteration, and the largest loss if it is a fifth of the time.
[[nodiscard]] std::string why_text(const Head& head, const PredictedAnswer& predicted);
/// Returns the reasons for a tile without those that its why_text() has.
[[nodiscard]] std::vector<std::string> further_reasons(const Head& head, const PredictedAnswer& predicted,
                                                       const std::vector<std::string>& reasons);
/// Writes the longest chain of waits: "P.exp[0] > P.convert[0]"; "" if there is none.
[[nodiscard]] std::string chain_text(const PredictedAnswer& predicted);

}  // namespace napkin::internal::report
