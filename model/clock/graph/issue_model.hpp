#pragma once
// VectorPipes are the pipes that threads share, and what is left of each beside a running tensor operation: on Hopper
// half of the issue slots. The profile has these co-use rules, as measured. (model/README.md, "Time: the event graph")

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

struct EventNode;

/// A pipe whose work can be cut into any parts: a unit of threads, or the matrix unit where threads wait for it.
struct VectorPipe {
  std::string name;
  double beside =
      1;  ///< share of its rate that is left, at most, while an asynchronous tensor operation runs (co-use rule)
  bool port = false;  ///< passes shared memory's port, which the tensor operation's operands take first
  double least = 0;   ///< of that port, the share that others keep beside it
  /// `beside` for one and for two instances at work on it, where so few get less: one warp a scheduler waits for its
  /// own results.
  std::array<double, 2> beside_few = {1, 1};
  double alone = 1;  ///< `beside` while no tensor operation runs
  std::array<double, 2> alone_few = {1, 1};
  /// Of an instance's own clocks, the least share on the pipe with which it counts as at work on it: less is what its
  /// other instructions take from those who are.
  double least_share = 0;

  /// Share of its rate beside that tensor operation, or beside none (nullptr), for so many instances of agents at work
  /// on it.
  [[nodiscard]] double left_by(const EventNode* tensor, std::size_t at_work) const;
  /// Appends all that left_by depends on.
  void say(std::vector<double>& numbers) const;
};

/// The first of VectorPipes::pipes.
inline constexpr std::size_t tensor_pipe = 0, issue_pipe = 1;

struct VectorPipes {
  std::vector<VectorPipe> pipes;
  std::vector<int> of_unit;  ///< by the machine's units; -1: none of its own
};

/// The matrix unit for those whose threads wait for it, the schedulers' slots, and every unit with a known rate. A mix
/// of instructions gets the co-use shares of the schedulers' slots; where work is in steps (WorkMapping::in_steps),
/// what is short are not slots but that work's unit: `in_steps` gets its co-use shares. -1: no work is.
[[nodiscard]] VectorPipes vector_pipes(const Machine& machine, UnitId in_steps);

}  // namespace napkin
