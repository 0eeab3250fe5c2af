#pragma once
// A Streamed is the program that the fusion theorem derives from a diagram: the roles of its axes (grouped, streamed,
// whole), the arrays that the loop maintains, and the statements of head, loop and tail. (model/README.md, "Groups" and
// "Streams")

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

/// The way in which an operation runs over the streamed axis.
enum class AccumulatorKind {
  concatenate,  ///< chunk by chunk; the output carries the streamed axis
  sum,          ///< running sum of a contraction or sum over the streamed axis
  max,
  fold,            ///< running state of a function of the author's own; its result is made in the tail
  scan,            ///< the same state, with a result for every element, chunk by chunk
  online_softmax,  ///< running state (mu, delta, z); the output is right up to a later rescale
};

/// Returns true if the operation keeps a state beside the arrays.
[[nodiscard]] constexpr bool keeps_state(std::optional<AccumulatorKind> kind) {
  return kind == AccumulatorKind::online_softmax || kind == AccumulatorKind::fold || kind == AccumulatorKind::scan;
}

enum class Phase { head, loop, tail };

/// A value per row that a state machine keeps beside the arrays. Allocated by the head, live to the end of the tail.
struct Auxiliary {
  std::string name;  ///< "mu", "delta", "z"; with ".P" appended where a diagram has several
  std::vector<AxisId> axes;
  OpId owner = 0;
  double initial = 0;  ///< initial value: -infinity for mu
};

/// An operation's part in the streamed program.
struct StreamedOp {
  Phase phase = Phase::loop;
  std::optional<AccumulatorKind> accumulator;  ///< loop operations only
  std::optional<OpId> rescaled_by;             ///< softmax by whose delta a sum accumulator is rescaled: y *= delta
  bool normalised_in_tail = false;             ///< true if y /= z after the loop
};

/// An applied rule, for people: "fusion theorem 1 (input composition)", its operation and its result.
struct DerivationStep {
  std::string rule;
  std::optional<OpId> operation;
  std::optional<AxisId> axis;
  std::string text;
};

/// A statement of the streamed program, in order. Loads come first in their phase, in input order; an output is stored
/// as soon as it is final; the rescale of an array comes right before its accumulation.
struct Statement {
  enum class Kind { initialise, load, compute, rescale, normalise, store };
  Kind kind = Kind::compute;
  /// The operation to compute; the softmax whose delta rescales or whose z normalises; the softmax or fold whose
  /// auxiliaries are initialised (there is no array then).
  std::optional<OpId> operation;
  /// The array of the statement. For compute only of results that the tail makes from a state: the log-sum-exp, the
  /// maximum or the sum of a streamed softmax, the result of a fold.
  std::optional<ArrayId> array;
};

/// The combining of the partial results that the groups of a split axis store. (eq. 19.1)
struct Combine {
  enum class Kind {
    sum,  ///< sum of the parts
    max,
    weighted,     ///< weighted sum of normalised parts, with weights exp(lse_i - lse)
    log_sum_exp,  ///< log-sum-exp of the parts' lse
  };
  AxisId axis = 0;
  ArrayId array = 0;  ///< an output of the diagram
  Kind kind = Kind::sum;
  std::optional<ArrayId> log_sum_exp;  ///< output that holds lse_i, for a weighted sum
};

/// A diagram with the roles of its axes: the input of place(), of the closed-form optimum and of the interpreter.
struct Streamed {
  /// The given diagram; a split softmax gets its log-sum-exp as a further array and output (at the end), which its
  /// combine needs.
  Diagram diagram;
  std::vector<AxisRole> roles;  ///< role by AxisId
  /// The axis with AxisRole::stream; without one, a split axis that streams within its groups.
  std::optional<AxisId> stream;
  std::vector<StreamedOp> operations;  ///< operation by OpId
  std::vector<Auxiliary> auxiliaries;
  std::vector<ArrayId> maintained;  ///< arrays that the loop accumulates and carries (y of eq. 4.3)
  std::vector<ArrayId> persistent;  ///< inputs loaded once by the head and read by every iteration (Q)
  std::vector<Combine> combines;    ///< outputs that are partial results of a split axis
  std::vector<ArrayId> statistics;  ///< outputs that derive() added because a combine needs them as weights
  /// The (row, column) axes of the mask, one of them the stream, if chunks that no row of the group sees may be left
  /// out: all that the loop would add or store there is zero.
  std::optional<std::array<AxisId, 2>> skips;
  std::vector<Statement> head, loop, tail;
  std::vector<DerivationStep> steps;

  [[nodiscard]] bool grouped(AxisId axis) const {
    const AxisRole r = roles[static_cast<std::size_t>(axis)];
    return r == AxisRole::group || r == AxisRole::split;
  }
  [[nodiscard]] const Combine* combine_of(ArrayId array) const {
    for (const Combine& c : combines) {
      if (c.array == array) return &c;
    }
    return nullptr;
  }
};

}  // namespace napkin::internal
