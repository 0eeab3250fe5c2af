#pragma once
// Ways finds the routes of arrays through memories that are beside each other: an array passes the variables that hold
// it in the order in which the mapping lists them. If no pipe leads to a variable from the one before, it is filled
// from the latest earlier one from which a pipe leads, an input if need be from device memory. Example: scores go from
// L0C to a buffer in the L2 and from there to a vector core's UB.

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

class Ways {
 public:
  /// Prepares the routes. `made_at` has, for each operation, the memory of the core that computes it.
  Ways(const Streamed& streamed, const Machine& machine, std::span<const Variable> variables,
       std::vector<LevelId> made_at)
      : s_(streamed), d_(streamed.diagram), m_(machine), variables_(variables), made_at_(std::move(made_at)) {}

  /// Finds every array's route, in the diagram's order. `types` by array give the types of results that no variable
  /// holds. An input starts in device memory; an output arrives there through its staging variables. Memories are
  /// joined by their pipe, else by the tree: up to the common ancestor, and down. (eq. 2.4)
  [[nodiscard]] std::vector<Crossing> crossings(std::span<const DType> types);

 private:
  struct Stop {
    LevelId level = 0;
    int variable = -1;  ///< -1: device memory
  };
  struct Trip {
    ArrayId array = 0;
    Phase phase = Phase::loop;
    bool each_time = false;  ///< true if read in every iteration although it lacks the streamed axis
    bool output = false;     ///< true for an output's last copy, to device memory
    DType type = DType::f32;
  };

  [[nodiscard]] bool streams(ArrayId array) const;
  [[nodiscard]] bool holds(int variable, ArrayId array) const;
  [[nodiscard]] std::vector<int> homes(ArrayId array, bool staging) const;
  [[nodiscard]] bool shares(int variable) const;
  [[nodiscard]] bool is_above(LevelId above, LevelId level) const;
  void input(ArrayId array);
  void result(ArrayId array, DType type);
  /// Returns the latest of the variables before it from which a pipe leads there.
  [[nodiscard]] std::optional<Stop> source(const std::vector<int>& before, LevelId to) const;
  void go(Trip trip, Stop from, Stop to);
  void cross(const Trip& trip, LevelId into, bool store, int pipe, int variable);
  [[nodiscard]] int pipe_index(LevelId from, LevelId to) const;

  const Streamed& s_;
  const Diagram& d_;
  const Machine& m_;
  std::span<const Variable> variables_;
  std::vector<LevelId> made_at_;
  std::vector<Crossing> out_;
};

/// Returns true for a memory of the node that is not on the way from device memory to its threads' registers, such as
/// tensor memory: the matrix unit accesses it directly, threads by instructions that count as work.
[[nodiscard]] bool is_beside(const PlacedDiagram& placed, LevelId level);
/// Returns true if a mapping whose agents are threads keeps variables in such a memory.
[[nodiscard]] bool uses_side_memory(const Mapping& mapping, const Machine& machine);

/// Returns true if the agents of a placed diagram are cores of the machine, so that its arrays take these routes.
[[nodiscard]] bool goes_ways(const PlacedDiagram& placed);

}  // namespace napkin::internal
