#pragma once
// LengthRules are the rules of a mapping that read lengths: whether blocks fill whole clusters at 4097 queries. At
// another length of one question they alone can answer otherwise.

#include <span>
#include <vector>

#include "solver/space/constraints.hpp"

namespace napkin {

/// A function that appends rules of one kind, in the order of Rules.
using RuleAdder = void (*)(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                           const Machine& machine, const Problem& problem);
[[nodiscard]] std::span<const RuleAdder> rule_adders();

class LengthRules {
 public:
  /// Finds the rules. The arguments but the problem must outlive this.
  LengthRules(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem);

  /// Returns true if a tile keeps the rules at the lengths of a problem, otherwise equal to the one of the constructor.
  [[nodiscard]] bool hold(const Problem& problem, const Tile& tile) const;

 private:
  const Streamed* streamed_;
  const Mapping* mapping_;
  const Machine* machine_;
  std::vector<RuleAdder> adders_;  ///< functions with a rule that reads lengths
};

}  // namespace napkin
