#pragma once
// derive() is the fusion theorem (model/README.md, "Streams") as a program: it turns an unfused diagram into a streamed
// one. It works on operations; no algorithm, such as attention or matmul, has a case of its own.

#include <optional>
#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin::internal {

/// Returns true if an operation consumes the axis.
[[nodiscard]] bool consumed(const Diagram& diagram, AxisId axis);

/// The reason why an axis cannot be streamed, or the accumulators by which it can.
struct Streamability {
  AxisId axis = 0;
  bool streamable = false;
  std::optional<OpId> blocker;  ///< the operation that refuses
  std::string why;              ///< "softmax over x ends with an output that carries x: ..."
};

/// Tests whether an axis can be streamed. Every operation that consumes the axis must have an accumulator, and what
/// follows it must compose with that. (model/README.md, "Streams")
[[nodiscard]] Streamability streamability(const Diagram& diagram, AxisId axis);
[[nodiscard]] std::vector<Streamability> streamability(const Diagram& diagram);

/// Tests whether an axis can be split: its groups' partial results become whole by an associative combine
/// (flash-decode, split-K, partial dQ; eq. 19.1). An axis that no operation consumes is splittable without a combine.
[[nodiscard]] Streamability splittability(const Diagram& diagram, AxisId axis);

/// Derives with default labels: grouped if all operations map over the axis; streamed for the streamable consumed axis
/// that most arrays carry (ties: the first declared; without a consumed one, any streamable axis); else whole. A
/// diagram without a streamable axis is derived unstreamed.
[[nodiscard]] Streamed derive(const Diagram& diagram);

/// Derives with given roles (a mapping's levels, a user's tile). A grouped axis that an operation consumes becomes
/// AxisRole::split if the combine is associative. Throws Error with the operation and the rule for illegal roles.
[[nodiscard]] Streamed derive(const Diagram& diagram, const std::vector<AxisRole>& roles);

/// Returns roles by name, all other axes whole: roles_of(d, {"b","h","q"}, "x").
[[nodiscard]] std::vector<AxisRole> roles_of(const Diagram& diagram, const std::vector<std::string>& grouped,
                                             const std::string& streamed);

/// Returns the initial value of a maintained array: 0, or -infinity for a maximum.
[[nodiscard]] double initial_value(const Streamed& streamed, ArrayId array);

}  // namespace napkin::internal
