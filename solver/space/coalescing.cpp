#include "solver/space/coalescing.hpp"

#include <algorithm>
#include <numeric>

namespace napkin::internal {

std::vector<Granularity> merged(std::vector<Granularity> a, const std::vector<Granularity>& b) {
  for (const Granularity& one : b) {
    const auto same = std::find_if(a.begin(), a.end(), [&](const Granularity& g) { return g.axis == one.axis; });
    if (same == a.end()) {
      a.push_back(one);
      continue;
    }
    same->divisor = std::lcm(same->divisor.get(), one.divisor.get());
    same->causes.insert(same->causes.end(), one.causes.begin(), one.causes.end());
  }
  std::sort(a.begin(), a.end(), [](const Granularity& g, const Granularity& h) { return g.axis < h.axis; });
  return a;
}

std::vector<Granularity> coalescing(const Diagram& diagram, const Machine& machine, const Problem& problem) {
  Count transaction = 1;
  for (const Level& level : machine.levels) transaction = std::max(transaction, level.transaction);
  std::vector<ArrayId> moved = diagram.inputs;
  moved.insert(moved.end(), diagram.outputs.begin(), diagram.outputs.end());
  std::vector<Granularity> out;
  for (const ArrayId id : moved) {
    const Array& array = diagram.arrays[at(id)];
    const Count divisor = transaction * 8 / bits(array.type.value_or(problem.dtype));
    if (array.axes.empty() || divisor <= Count(1)) continue;
    out = merged(std::move(out), {{array.axes.back(), divisor, {{"coalescing of " + array.name, divisor}}}});
  }
  return out;
}

}  // namespace napkin::internal
