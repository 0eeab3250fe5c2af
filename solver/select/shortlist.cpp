// The pick by the event graph in milliseconds.
#include "solver/select/graph_search.hpp"

namespace napkin {
namespace {

/// Whether the event graph predicts the question's tiles. Edges and measured times are the mapping's and the machine's,
/// so that any tile says it.
bool by_graph(const Question& question) {
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  return has_event_graph(placer.place(space_of(question).tile(0)));
}

}  // namespace

Selection shortlist(const Question& question, int top) { return shortlist(question, top, graph_objective()); }

Selection shortlist(const Question& question, int top, const Objective& objective) {
  if (!by_graph(question)) return select(question, top, Objective{}, Each::size);
  return GraphSearch(question, objective).run(top, Each::size, true);
}

}  // namespace napkin
