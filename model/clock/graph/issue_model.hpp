#pragma once
// VectorPipes are the pipes that threads share, and the rate that each keeps beside a running tensor operation: on
// Hopper half of the issue slots. The profile has these co-use rules, as measured. (model/README.md, "Time: the event
// graph")

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin::internal {

struct EventNode;

/// A pipe whose work can be divided freely: a unit of threads, or the matrix unit if threads wait for it.
struct VectorPipe {
  std::string name;
  double beside = 1;  ///< largest share of its rate while an asynchronous tensor operation runs (co-use rule)
  bool port = false;  ///< true if its work passes shared memory's port, where the tensor operation's operands have
                      ///< priority
  double least = 0;   ///< least share of that port that others keep beside it
  /// Values of `beside` for one and for two working instances, which get less: with one warp a scheduler, instructions
  /// wait for their own results.
  std::array<double, 2> beside_few = {1, 1};
  double alone = 1;  ///< largest share of its rate while no tensor operation runs
  std::array<double, 2> alone_few = {1, 1};
  /// The least share of an instance's clocks on the pipe for it to count as working there; below, other instances just
  /// lose that share.
  double least_share = 0;

  /// Returns the share of the pipe's rate that `at_work` working instances get beside that tensor operation (nullptr:
  /// none runs).
  [[nodiscard]] double left_by(const EventNode* tensor, std::size_t at_work) const;
  /// Appends all numbers that left_by() depends on.
  void say(std::vector<double>& numbers) const;
};

/// The indices of the first entries of VectorPipes::pipes.
inline constexpr std::size_t tensor_pipe = 0, issue_pipe = 1;

struct VectorPipes {
  std::vector<VectorPipe> pipes;
  std::vector<int> of_unit;  ///< pipes by the machine's units; -1: none of its own
};

/// Makes the pipes: the matrix unit for threads that wait for it, issue slots, and every unit with a known rate. Co-use
/// shares apply to the issue slots, or, if work is in steps (WorkMapping::in_steps), to the unit `in_steps` (-1: no
/// work is).
[[nodiscard]] VectorPipes vector_pipes(const Machine& machine, UnitId in_steps);

}  // namespace napkin::internal
