#pragma once
// A Meeting is the condition under which two references of a nest touch one cell, as a system of differences: A[i] and
// A[i - 1] meet where i' = i + 1. Internal to the folder.

#include <vector>

#include "model/dependence/distance.hpp"
#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

/// All pairs (source iteration, sink iteration) that touch the same cell, narrowed step by step. A statement outside a
/// loop counts as the loop's first or last iteration.
class Meeting {
 public:
  Meeting(const Nest& nest, StatementId from, const Reference& source, StatementId to, const Reference& sink);
  /// Describes the pairs of iterations of a dependence.
  Meeting(const Nest& nest, const Dependence& dependence);

  [[nodiscard]] bool feasible() const { return system_.feasible(); }
  [[nodiscard]] Component component(LoopId loop) const;
  [[nodiscard]] std::vector<Component> vector() const;
  void require_equal(LoopId loop);
  void require_later(LoopId loop);    ///< Requires the sink's iteration to be later in that loop.
  void require_earlier(LoopId loop);  ///< Requires the sink's iteration to be earlier in that loop.

 private:
  /// A variable of the system plus a number; variable 0 is the number 0.
  struct Term {
    std::size_t variable = 0;
    std::int64_t offset = 0;
  };
  void bound(const std::vector<Term>& terms, StatementId statement);
  void same_cell(const Reference& source, const Reference& sink);
  [[nodiscard]] static Term value_of(const std::vector<Term>& terms, const Subscript& subscript);
  void difference_at_most(LoopId loop, std::int64_t c);  // sink - source <= c
  void difference_at_least(LoopId loop, std::int64_t c);

  const Nest* nest_;
  StatementId from_, to_;
  std::vector<Term> source_, sink_;  ///< terms by LoopId
  Differences system_;
};

}  // namespace napkin::internal::dependence
