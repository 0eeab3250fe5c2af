#include "solver/space/length_rules.hpp"

#include <algorithm>

namespace napkin::internal {

const std::vector<LengthRules::Add>& tile_rule_adders() {
  using List = std::vector<TileRule>;
  static const std::vector<LengthRules::Add> all{
      [](List& to, const Streamed&, const Mapping& mapping, const Machine& machine, const Problem&) {
        add_architecture(to, mapping, machine);
      },
      [](List& to, const Streamed&, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_dtype(to, mapping, problem);
      },
      [](List& to, const Streamed&, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_masks(to, mapping, problem);
      },
      [](List& to, const Streamed& streamed, const Mapping&, const Machine& machine, const Problem& problem) {
        add_device_memory(to, streamed, machine, problem);
      },
      [](List& to, const Streamed& streamed, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_supported_sizes(to, streamed, mapping, problem);
      },
      [](List& to, const Streamed& streamed, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_packing(to, streamed, mapping, problem);
      },
      [](List& to, const Streamed& streamed, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_relations(to, streamed, mapping, problem);
      },
      add_granularity,
      [](List& to, const Streamed& streamed, const Mapping& mapping, const Machine&, const Problem& problem) {
        add_agent_rows(to, streamed, mapping, problem);
      },
      add_threads,
      add_cluster,
      add_combine};
  return all;
}

LengthRules::LengthRules(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                         const Problem& like) {
  std::vector<TileRule> rules;
  for (const Add add : tile_rule_adders()) {
    const std::size_t first = rules.size();
    add(rules, streamed, mapping, machine, like);
    const auto own = rules.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::any_of(own, rules.end(), [](const TileRule& rule) { return rule.lengths; }))
      sources_.push_back({add, first});
  }
}

std::vector<LengthRules::Placed> LengthRules::at(const Streamed& streamed, const Mapping& mapping,
                                                 const Machine& machine, const Problem& problem) const {
  std::vector<Placed> out;
  std::vector<TileRule> own;
  for (const Source& source : sources_) {
    own.clear();
    source.add(own, streamed, mapping, machine, problem);
    for (std::size_t r = 0; r < own.size(); ++r) {
      if (own[r].lengths) out.emplace_back(source.first + r, std::move(own[r]));
    }
  }
  return out;
}

bool LengthRules::hold(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem,
                       const Tile& tile) const {
  const std::vector<Placed> rules = at(streamed, mapping, machine, problem);
  return std::none_of(rules.begin(), rules.end(),
                      [&](const Placed& rule) { return rule.second.check(tile).has_value(); });
}

}  // namespace napkin::internal
