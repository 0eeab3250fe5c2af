// The pick by the event graph in milliseconds.
#include <algorithm>

#include "solver/select/graph_search.hpp"

namespace napkin {

Selection shortlist(const Question& question, int top) { return shortlist(question, top, graph_objective()); }

Selection shortlist(const Question& question, int top, const Objective& objective, int breadth) {
  GraphSearch* search = objective.searches->search_for(question, objective);
  if (search == nullptr) return select(question, top, Objective{}, Each::size);
  Selection out = search->run(std::max(top, breadth), Each::size, true);
  const auto asked = static_cast<std::size_t>(std::max(top, 0));
  if (out.ranked.size() > asked) out.ranked.resize(asked);
  return out;
}

}  // namespace napkin
