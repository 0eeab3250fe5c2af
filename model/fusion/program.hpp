#pragma once
// A Program is the streamed program with its smaller loops, the one value that is printed and that the interpreter
// runs: attention in parts of 32 keys does softmax, rescaling and product of one part, then those of the next.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "model/base/count.hpp"
#include "model/fusion/accumulator.hpp"

namespace napkin::internal {

/// An axis that a statement takes in parts: {x, 32, "u_x=32"}.
struct Part {
  AxisId axis = 0;
  Count size = 1;
  std::string name;
  /// True for a streamed softmax with a maximum and a factor for every part, so that each part rescales; else the parts
  /// of a chunk share a maximum.
  bool renews = false;
};
/// The parts of a statement, the outermost loop first.
using PartsOf = std::function<std::vector<Part>(const Statement&)>;

/// A statement, a loop over the parts of an axis, or a piece of a streamed softmax whose parts share their maximum.
struct Step {
  enum class Kind {
    statement,
    loop,
    begin,         ///< mu' = mu
    raise,         ///< mu' = max(mu', scores of the part)
    shift,         ///< delta = exp(mu - mu'); mu = mu'; z = delta z
    exponentials,  ///< P = exp(scores - mu); z += their sum
  };
  Kind kind = Kind::statement;
  Statement statement;
  std::size_t place = 0;  ///< index of the statement within its phase
  Part part;              ///< loop
  std::vector<Step> body;
};

struct Program {
  std::array<std::vector<Step>, 3> phases;  ///< steps by Phase

  [[nodiscard]] const std::vector<Step>& of(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// Returns the statements of `streamed`, each in loops over its parts. Leaves out parts that would change a result: of
/// an axis that it neither has nor sums over, or of a sum that no statement has set to zero.
[[nodiscard]] Program program_of(const Streamed& streamed, const PartsOf& parts = {});

/// Fills a Streamed, whose diagram and stream are set, with operations, lists of arrays and statements, by the analysis
/// of its stream. Without a stream everything is in the head. For derive().
void write_program(Streamed& streamed, const AxisAnalysis* analysis);

}  // namespace napkin::internal
