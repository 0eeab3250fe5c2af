#include "solver/space/length_rules.hpp"

#include <algorithm>

namespace napkin {

LengthRules::LengthRules(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                         const Problem& problem)
    : streamed_(&streamed), mapping_(&mapping), machine_(&machine) {
  for (const RuleAdder add : rule_adders()) {
    std::vector<TileRule> rules;
    add(rules, streamed, mapping, machine, problem);
    if (std::any_of(rules.begin(), rules.end(), [](const TileRule& rule) { return rule.lengths; }))
      adders_.push_back(add);
  }
}

bool LengthRules::hold(const Problem& problem, const Tile& tile) const {
  std::vector<TileRule> rules;
  for (const RuleAdder add : adders_) add(rules, *streamed_, *mapping_, *machine_, problem);
  return std::none_of(rules.begin(), rules.end(), [&](const TileRule& rule) { return rule.check(tile).has_value(); });
}

}  // namespace napkin
