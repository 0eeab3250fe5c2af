#pragma once
// A Term is a factor in a rule of knobs: the product 2 x stages has two terms, and a relation compares two products.
// Internal to space/.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/mapping/asked.hpp"
#include "model/mapping/mapping.hpp"
#include "solver/space/constraints.hpp"

namespace napkin::internal {

/// A literal, or a knob plus a literal: a value with every axis replaced by its size.
struct Term {
  std::int64_t literal = 0;
  KnobId knob = -1;
  [[nodiscard]] Count in(const Tile& tile) const {
    return knob < 0 ? literal : tile.values[static_cast<std::size_t>(knob)] + literal;
  }
};

/// The conversion of a mapping's values to terms, for a problem.
class Resolver {
 public:
  Resolver(const Streamed& streamed, const Mapping& mapping, const Problem& problem)
      : streamed_(streamed), diagram_(streamed.diagram), mapping_(mapping), problem_(problem) {}

  [[nodiscard]] Count size(const std::string& axis) const {
    const AxisId id = diagram_.axis(axis);
    lengths_ = lengths_ || streamed_.grouped(id) || streamed_.stream == id;
    return problem_.sizes[static_cast<std::size_t>(id)];
  }
  /// Returns true if a size asked for since the last call belongs to an axis that blocks or chunks divide.
  [[nodiscard]] bool read_lengths() const { return std::exchange(lengths_, false); }
  [[nodiscard]] Term term(const Value& value) const {
    if (value.kind == Value::Kind::knob) return {value.more, value.knob};
    if (value.kind != Value::Kind::axis) return {value.literal, -1};
    (void)size(value.axis);  // records that it reads lengths
    return {held_size(mapping_, diagram_, problem_, diagram_.axis(value.axis)).get(), -1};
  }
  [[nodiscard]] std::vector<Term> terms(const std::vector<Value>& values) const {
    std::vector<Term> out;
    for (const Value& value : values) out.push_back(term(value));
    return out;
  }
  [[nodiscard]] Guarded<Term> alternatives(const Guarded<Value>& values) const {
    Guarded<Term> out;
    for (const auto& [guard, value] : values) out.emplace_back(guard, term(value));
    return out;
  }

 private:
  const Streamed& streamed_;
  const Diagram& diagram_;
  const Mapping& mapping_;
  const Problem& problem_;
  mutable bool lengths_ = false;
};

/// Returns true if the problem meets the guard: its mask, and the sizes of axes held whole.
[[nodiscard]] bool is_meant(const Guard& guard, const Mapping& mapping, const Diagram& diagram, const Problem& problem);

[[nodiscard]] Count product(const std::vector<Term>& terms, const Tile& tile);
/// Returns the alternative whose guard the tile meets; 1 if it meets none.
[[nodiscard]] Count chosen(const Guarded<Term>& alternatives, const Tile& tile);
[[nodiscard]] KnobSet knobs_of(const std::vector<Value>& values);

/// Compares two counts: nothing if `left` is in the relation to `right`, else both.
[[nodiscard]] std::optional<Excess> compare(Relation::Kind kind, Count left, Count right);

}  // namespace napkin::internal
