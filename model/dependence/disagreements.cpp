// The labels of a streamed program against its dependences.

#include "model/dependence/from_streamed.hpp"
#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

std::vector<std::string> disagreements(const Streamed& streamed) {
  const StreamedNest made = nest_of(streamed);
  const std::vector<Dependence> all = dependences(made.nest);
  const std::vector<LoopVerdict> verdicts = loop_verdicts(made.nest, all);
  std::vector<std::string> found;
  for (const auto& group : made.grouped) {
    if (!group || verdicts[static_cast<std::size_t>(*group)].parallel) continue;
    const Dependence& d = all[verdicts[static_cast<std::size_t>(*group)].blocking.front()];
    found.push_back("axis " + made.nest.loops[static_cast<std::size_t>(*group)].name +
                    " is grouped, but not parallel: " + text_of(made.nest, d));
  }
  if (!made.stream) return found;
  const LoopVerdict& stream = verdicts[static_cast<std::size_t>(*made.stream)];
  const std::string& name = made.nest.loops[static_cast<std::size_t>(*made.stream)].name;
  const bool maintains = !streamed.maintained.empty() || !streamed.auxiliaries.empty();
  if (maintains && stream.carried.empty())
    found.push_back("axis " + name + " streams what is maintained, but carries nothing");
  if (!maintains && !stream.carried.empty()) {
    found.push_back("axis " + name + " maintains nothing, but carries " +
                    text_of(made.nest, all[stream.carried.front()]));
  }
  return found;
}

}  // namespace napkin::internal::dependence
