#pragma once
// Ways say how arrays go through memories side by side: an array passes the variables that hold it in the order in
// which the mapping lists them; what no pipe leads to from the one before comes from an earlier one, an input at last
// from device memory. Example: scores go from L0C to a buffer in the L2 and from there to a vector core's UB.

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

class Ways {
 public:
  /// `made_at`: by operation, the memory of the core that computes it.
  Ways(const Streamed& streamed, const Machine& machine, std::span<const Variable> variables,
       std::vector<LevelId> made_at)
      : s_(streamed), d_(streamed.diagram), m_(machine), variables_(variables), made_at_(std::move(made_at)) {}

  /// Every array's, in the diagram's order; `types`: by array, of results that no variable holds. An input sets out
  /// from device memory, an output arrives there behind its staging variables. From one memory to another leads the
  /// pipe that joins them, else the tree: up to what they have in common, and down. (eq. 2.4)
  [[nodiscard]] std::vector<Crossing> crossings(std::span<const DType> types);

 private:
  struct Stop {
    LevelId level = 0;
    int variable = -1;  ///< -1: device memory
  };
  struct Trip {
    ArrayId array = 0;
    Phase phase = Phase::loop;
    bool each_time = false;  ///< in every iteration although it lacks the streamed axis
    bool output = false;     ///< the last leg, to device memory
    DType type = DType::f32;
  };

  [[nodiscard]] bool streams(ArrayId array) const;
  [[nodiscard]] bool holds(int variable, ArrayId array) const;
  [[nodiscard]] std::vector<int> homes(ArrayId array, bool staging) const;
  [[nodiscard]] bool shares(int variable) const;
  [[nodiscard]] bool is_above(LevelId above, LevelId level) const;
  void input(ArrayId array);
  void result(ArrayId array, DType type);
  /// The latest of the variables before it that a pipe leads from.
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

/// Whether that level is a memory of the node that its threads share beside the way from device memory down to their
/// registers, such as tensor memory: the matrix unit reads and writes it by itself, threads by instructions that are
/// work like any other.
[[nodiscard]] bool is_beside(const PlacedDiagram& placed, LevelId level);
/// Whether a mapping whose agents are threads keeps variables there.
[[nodiscard]] bool uses_side_memory(const Mapping& mapping, const Machine& machine);

/// Whether a placed diagram's agents are cores of the machine, so that its arrays go such ways.
[[nodiscard]] bool goes_ways(const PlacedDiagram& placed);

}  // namespace napkin
