#pragma once
// derive() is the fusion theorem (model/README.md, "Streams") as a program: it gets from an unfused diagram to a
// streamed one. It knows operations, not algorithms: nothing here names attention or matmul.

#include <optional>
#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin {

/// Why an axis cannot be streamed, or the accumulators that let it.
struct Streamability {
  AxisId axis = 0;
  bool streamable = false;
  std::optional<OpId> blocker;  ///< the operation that refuses
  std::string why;              ///< "softmax over x ends with an output that carries x: ..."
};

/// Tests one axis by the accumulator table and the composition rules.
[[nodiscard]] Streamability streamability(const Diagram& diagram, AxisId axis);
[[nodiscard]] std::vector<Streamability> streamability(const Diagram& diagram);

/// Of a split it says whether the axis, although consumed, can be dealt out among groups whose partial results an
/// associative combine makes whole (flash-decode, split-K, partial dQ; eq. 19.1). An axis that no operation consumes
/// needs no combine: it is splittable.
[[nodiscard]] Streamability splittability(const Diagram& diagram, AxisId axis);

/// The default labels: every axis that all operations are weaved over is grouped; of the streamable axes that an
/// operation consumes the one that most arrays carry is streamed (ties: the first declared; if there is none, of the
/// axes that no operation consumes); the rest stays whole. A diagram without a streamable axis derives too, unstreamed.
[[nodiscard]] Streamed derive(const Diagram& diagram);

/// Derives with given roles (a mapping's levels, a user's tile). Illegal roles throw Error that names the operation
/// and the rule; a grouped axis that an operation consumes becomes AxisRole::split where the combine is associative.
[[nodiscard]] Streamed derive(const Diagram& diagram, const std::vector<AxisRole>& roles);

/// Roles as asked for by name, all others whole: roles_of(d, {"b","h","q"}, "x").
[[nodiscard]] std::vector<AxisRole> roles_of(const Diagram& diagram, const std::vector<std::string>& grouped,
                                             const std::string& streamed);

/// The value that a maintained array starts from: 0, or -infinity for a maximum.
[[nodiscard]] double initial_value(const Streamed& streamed, ArrayId array);

}  // namespace napkin
