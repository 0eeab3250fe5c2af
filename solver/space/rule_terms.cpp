#include "solver/space/rule_terms.hpp"

namespace napkin::internal {

Count product(const std::vector<Term>& terms, const Tile& tile) {
  Count result = 1;
  for (const Term& term : terms) result *= term.in(tile);
  return result;
}

Count chosen(const Guarded<Term>& alternatives, const Tile& tile) {
  const Term* term = choose(alternatives, tile);
  return term ? term->in(tile) : Count(1);
}

KnobSet knobs_of(const std::vector<Value>& values) {
  KnobSet set = 0;
  for (const Value& value : values) set |= internal::knobs_of(value);
  return set;
}

std::optional<Excess> compare(Relation::Kind kind, Count left, Count right) {
  switch (kind) {
    case Relation::Kind::equal:
      if (left == right) return std::nullopt;
      break;
    case Relation::Kind::at_most:
      if (left <= right) return std::nullopt;
      break;
    case Relation::Kind::less:
      if (left < right) return std::nullopt;
      break;
    case Relation::Kind::multiple:
      if (right <= Count(0) || left % right == Count(0)) return std::nullopt;
      return Excess{real(right), real(left)};
  }
  return Excess{real(left), real(right)};
}

}  // namespace napkin::internal
