#pragma once
// dependences() is the data-dependence graph of a loop nest: the pairs of statement instances that must stay in order,
// the loops that carry them, and the loops that are therefore parallel. The bounds are exact: each is reached by a pair
// of iterations. (eq. 18.1 to eq. 18.4)

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

enum class Kind {
  raw,  ///< read after write: a value flows
  war,  ///< write after read
  waw,  ///< write after write
};
/// Returns "RAW", "WAR" or "WAW".
[[nodiscard]] std::string_view name_of(Kind kind);

/// Iterations of one loop between source and sink: sink - source, from `least` to `most`.
struct Component {
  std::int64_t least = 0;
  std::int64_t most = 0;
  /// True if both statements are in the loop; else the one outside counts as the loop's first or last iteration.
  bool common = true;

  [[nodiscard]] bool is_zero() const { return least == 0 && most == 0; }
  bool operator==(const Component&) const = default;
};

/// Writes a distance ("2") or a direction ("+", "-", "0+", "0-", "*"); "." if the loop is not common.
[[nodiscard]] std::string text_of(const Component& component);
/// Writes a vector: "(0, +, *)".
[[nodiscard]] std::string text_of(const std::vector<Component>& vector);

/// Two references to the same cell, the source first, at least one of them a write. Pairs of iterations are grouped by
/// the outermost loop in which they differ, so two references may have several dependences.
struct Dependence {
  StatementId from = 0;
  StatementId to = 0;
  Kind kind = Kind::raw;
  Reference source, sink;
  /// The outermost loop in which the two iterations differ; none: they are the same iteration.
  std::optional<LoopId> level;
  std::vector<Component> vector;  ///< component by LoopId

  /// Returns the loop that carries the dependence: `level`, if both statements are in that loop.
  [[nodiscard]] std::optional<LoopId> carrier() const {
    return level && vector[static_cast<std::size_t>(*level)].common ? level : std::nullopt;
  }
};

/// Returns all dependences, by source, sink, kind and level.
[[nodiscard]] std::vector<Dependence> dependences(const Nest& nest);
/// Writes a dependence: "S12 -> S3 RAW m[i] (0, +, .)".
[[nodiscard]] std::string text_of(const Nest& nest, const Dependence& dependence);

/// Vertices are statements, in order; edges are dependences.
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, StatementId, Dependence>;
[[nodiscard]] Graph graph_of(const Nest& nest, const std::vector<Dependence>& dependences);

/// Finds recurrences: statements that need each other's values, or a statement its own, over RAW edges. WAR and WAW
/// edges bind storage, not values; renaming removes them. Each in statement order, sorted by first statement.
[[nodiscard]] std::vector<std::vector<StatementId>> recurrences(const Graph& graph);

/// The verdict of the dependences on a loop.
struct LoopVerdict {
  LoopId loop = 0;
  /// true if the component is 0 in every vector: all iterations may run at once, in any order of the loops
  bool parallel = false;
  std::vector<std::size_t> carried;   ///< dependences that the loop carries, as indices
  std::vector<std::size_t> blocking;  ///< dependences whose component is not 0, as indices
};
[[nodiscard]] std::vector<LoopVerdict> loop_verdicts(const Nest& nest, const std::vector<Dependence>& dependences);

}  // namespace napkin::internal::dependence
