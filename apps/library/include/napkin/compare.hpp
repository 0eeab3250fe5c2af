#pragma once
// A CompareAnswer shows one algorithm on several machines and in several element types, side by side, with the laws
// that explain the differences: attention on an A100 and an H100, in bf16 and e4m3.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/laws.hpp"

namespace napkin {

struct ComparedMachine {
  SelectAnswer selected;
  std::optional<Laws> laws;  ///< laws; none for packed sequences, and if the profile lacks a bandwidth that they need
  std::string refused;       ///< the reason why the algorithm cannot run there (no instruction for the type); empty: it
                             ///< can
};

/// The gain by another element type under the quantisation law: H* in bytes and seconds, first type over this one.
struct QuantisationAnswer {
  std::string gpu, from, to;
  double gain = 1;
  std::vector<std::pair<double, double>> terms;  ///< pairs (beta, (from / to)^(1 + beta))
};

struct CompareAnswer {
  std::vector<ComparedMachine> machines;  ///< answers by GPU, then by type, as given
  std::vector<QuantisationAnswer> quantisation;
};

}  // namespace napkin
