#include "apps/library/choose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/library/measure.hpp"
#include "apps/library/optimum.hpp"

namespace napkin {
namespace {

/// How far from legal: violations first, then by how many powers of two they miss, all together.
struct Distance {
  std::size_t violations = std::numeric_limits<std::size_t>::max();
  double excess = 0;
  bool operator<(const Distance& other) const {
    return violations != other.violations ? violations < other.violations : excess < other.excess;
  }
};

Distance distance_of(const Placer& placer, const Tile& tile) {
  try {
    const Placement placement = place(placer, tile);
    Distance distance{placement.violations.size(), 0};
    for (const Violation& v : placement.violations) {
      distance.excess += std::abs(std::log2(std::max(v.needed, 1.0) / std::max(v.available, 1.0)));
    }
    return distance;
  } catch (const Overflow&) {
    return {};
  }
}

Tile preferred(const Mapping& mapping) {
  Tile tile;
  for (const Knob& knob : mapping.knobs) tile.values.push_back(knob.domain.empty() ? 0 : knob.domain.front());
  return tile;
}

bool is_fixed(const Layout& layout, std::size_t knob) {
  return std::any_of(layout.fixed.begin(), layout.fixed.end(),
                     [&](const auto& fix) { return static_cast<std::size_t>(fix.first) == knob; });
}

/// Leaves the kernels whose times can be compared: the first clock's time is one that no kernel reaches, so where the
/// event graph predicts some kernels, the others drop out.
void keep_comparable(std::vector<Choice>& choices) {
  const auto optimistic = [](const Choice& choice) {
    return choice.selection.ranked.front().prediction.iteration.empty();
  };
  if (!std::all_of(choices.begin(), choices.end(), optimistic)) std::erase_if(choices, optimistic);
}

/// Whether a kernel was made for that very architecture, not for all from some older one on.
bool is_native(const Mapping& mapping, const Machine& machine) {
  return std::find(mapping.runs_on.begin(), mapping.runs_on.end(), machine.architecture) != mapping.runs_on.end();
}

/// What fits, of the kernels that are native or of those that are not; `none`: where nothing does.
std::vector<Choice> fitting_of(const Subject& subject, const Layouts& layouts, bool native, int top, Choice& none) {
  std::vector<Choice> out;
  const Objective objective = graph_objective();
  for (const auto& layout : layouts) {
    if (is_native(layout->mapping, subject.machine) != native) continue;
    Choice choice{layout.get(), shortlist(question_of(subject, *layout), top, objective), objective};
    if (!choice.selection.ranked.empty())
      out.push_back(std::move(choice));
    else if (none.layout == nullptr)
      none = std::move(choice);
  }
  return out;
}

}  // namespace

Choice choose(const Subject& subject, const Layouts& layouts, int top) {
  Choice none;
  // The native ones first: measured, they are the faster ones also where predictions are closer than their errors, at
  // problems of a few blocks (tests/measured/small).
  std::vector<Choice> fitting = fitting_of(subject, layouts, true, top, none);
  if (fitting.empty()) fitting = fitting_of(subject, layouts, false, top, none);
  if (fitting.empty()) return none;
  keep_comparable(fitting);
  const auto time = [](const Choice& choice) { return choice.selection.ranked.front().prediction.time; };
  const auto best = std::min_element(fitting.begin(), fitting.end(),
                                     [&](const Choice& x, const Choice& y) { return time(x) < time(y); });
  return std::move(*best);
}

Chosen choose_tile(const Subject& subject, const Layouts& layouts) {
  if (subject.abstract()) return {layouts.front().get(), abstract_tile(subject, *layouts.front())};
  const Choice choice = choose(subject, layouts, 1);
  if (choice.selection.ranked.empty()) return {choice.layout, least_illegal(subject, *choice.layout)};
  return {choice.layout, choice.selection.ranked.front().tile};
}

Tile least_illegal(const Subject& subject, const Layout& layout) {
  const Placer placer(layout.streamed, layout.mapping, subject.machine, subject.problem);
  Tile tile = preferred(layout.mapping);
  for (const auto& [knob, value] : layout.fixed) tile.values[static_cast<std::size_t>(knob)] = value;
  Distance best = distance_of(placer, tile);
  for (bool better = true; better && best.violations > 0;) {
    better = false;
    for (std::size_t knob = 0; knob < tile.values.size(); ++knob) {
      if (is_fixed(layout, knob) || !layout.mapping.knobs[knob].searched) continue;
      Tile other = tile;
      for (const std::int64_t value : layout.mapping.knobs[knob].domain) {
        other.values[knob] = value;
        const Distance distance = distance_of(placer, other);
        if (!(distance < best)) continue;
        best = distance;
        tile = other;
        better = true;
      }
    }
  }
  return tile;
}

Tile abstract_tile(const Subject& subject, const Layout& layout) {
  const auto size_of = [&](const NamedSizes& sizes, const std::string& name) {
    for (const auto& [axis, size] : sizes) {
      if (axis == name) return size;
    }
    return std::int64_t{1};
  };
  NamedSizes named;
  for (const auto& [knob, value] : layout.fixed)
    named.emplace_back(layout.mapping.knobs[static_cast<std::size_t>(knob)].name, value);
  const std::size_t given = named.size();
  for (const Axis& axis : subject.diagram.axes) {
    const auto* one = std::get_if<std::int64_t>(&axis.fallback);
    const bool known = std::any_of(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(given),
                                   [&](const auto& n) { return n.first == axis.name; });
    if (one != nullptr && *one == 1 && !known) named.emplace_back(axis.name, 1);
  }
  const NamedSizes chosen = integer_groups(subject, layout.streamed, named);
  Tile tile;
  for (const Knob& knob : layout.mapping.knobs) tile.values.push_back(size_of(chosen, knob.name));
  return tile;
}

}  // namespace napkin
