#pragma once
// A Fold is a function over an axis that a diagram's author defines by an accumulator: its state before any element,
// its state for one element, the state of two neighbouring parts from their two states, and the result from the last
// state. The state of a variance is count, mean and spread.
// (model/README.md, "Streams", eq. 4.5)

#include <string>
#include <vector>

#include "model/base/error.hpp"
#include "model/diagram/formula.hpp"

namespace napkin::internal {

/// A value of a fold's state.
struct FoldValue {
  std::string name;
  double empty = 0;  ///< value before any element
  Formula each;      ///< value for one element, in terms of its operands
  Formula merge;     ///< value for two neighbouring parts, in terms of their states a and b
  bool operator==(const FoldValue&) const = default;
};

struct Fold {
  std::string name;
  std::vector<std::string> of;  ///< operands: names of an element's values
  std::vector<FoldValue> state;
  Formula result;  ///< result, in terms of the state
  Location location;

  using State = std::vector<double>;  ///< values in the order of `state`
  [[nodiscard]] State empty() const;
  [[nodiscard]] State each(const std::vector<double>& element) const;
  [[nodiscard]] State merge(const State& a, const State& b) const;
};

/// Compares everything but positions in files.
[[nodiscard]] bool operator==(const Fold& a, const Fold& b);

/// Checks on states of random elements that merge is associative and the empty state neutral; only then may an axis be
/// walked in chunks of any size. Returns "" if so, else an example that refutes it.
[[nodiscard]] std::string refutation(const Fold& fold);

}  // namespace napkin::internal
