#pragma once
// An ablation switches one term of the clock off, such as the latency of a fence, and replays recorded runs without it:
// the term is worth the growth of the errors. Needs no GPU. Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/judge/replay.hpp"

namespace napkin::internal {

/// A term that a prediction can be made without.
struct AblationTerm {
  std::string name;   ///< "constants.tma_ask", "fitted.issue.serial", "units.issue.co_use.beside", "pipes.l2.latency"
  std::string value;  ///< value with its unit
  std::string off;    ///< replacement: "0 clk", "the measured 143 clk", "the rate alone"
  Edit edit;
};

/// Returns every constant, co-use rate and latency that a prediction on this machine may read.
[[nodiscard]] std::vector<AblationTerm> terms_of(const Machine& machine);

}  // namespace napkin::internal
