// The pick by the event graph in milliseconds.
#include "solver/select/graph_search.hpp"

namespace napkin {

Selection shortlist(const Question& question, int top) { return shortlist(question, top, graph_objective()); }

Selection shortlist(const Question& question, int top, const Objective& objective) {
  if (!all_by_graph(question)) return select(question, top, Objective{}, Each::size);
  return objective.searches->search_for(question, objective).run(top, Each::size, true);
}

}  // namespace napkin
