#include "solver/space/enumerate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "solver/space/granularity.hpp"
#include "solver/space/knobs.hpp"
#include "solver/space/rule_terms.hpp"

namespace napkin::internal {
namespace {

/// Keeps the values up to `most`; the smallest value if that leaves none.
void cut(std::vector<std::int64_t>& domain, std::int64_t most) {
  const std::int64_t least = *std::min_element(domain.begin(), domain.end());
  std::erase_if(domain, [&](std::int64_t v) { return v > most && v != least; });
}

/// Returns the least value that covers `size`, or the largest value.
std::int64_t covering(const std::vector<std::int64_t>& domain, std::int64_t size) {
  std::int64_t found = *std::max_element(domain.begin(), domain.end());
  for (const std::int64_t v : domain) {
    if (v >= size) found = std::min(found, v);
  }
  return found;
}

/// Returns an axis's place among the axes that an agent's instances divide: 0 for the first, 1 for a later one, -1 for
/// none.
int place_in_rows(const Mapping& mapping, const std::string& axis) {
  for (const Agent& agent : mapping.agents) {
    const auto at = std::find(agent.splits.begin(), agent.splits.end(), axis);
    if (at != agent.splits.end()) return at == agent.splits.begin() ? 0 : 1;
  }
  return -1;
}

/// Returns the axis's size, rounded up to whole instructions and transfers if the mapping's sizes may be any numbers.
std::int64_t padded(const Setup& setup, AxisId axis) {
  const Count size = setup.problem.sizes[static_cast<std::size_t>(axis)];
  if (!setup.mapping->exact_groups) return size.get();
  for (const Granularity& one : granularities(*setup.streamed, *setup.mapping, *setup.machine, setup.problem)) {
    if (one.axis == axis) return round_up(std::min(size, Count(std::int64_t{1} << 40)), one.divisor).get();
  }
  return size.get();
}

/// Returns true if a relation leaves the knob one value at this problem: the kernel has no tile of another size.
bool is_pinned(const Setup& setup, KnobId knob) {
  const auto& all = setup.mapping->relations;
  return std::any_of(all.begin(), all.end(), [&](const Relation& one) {
    return one.kind == Relation::Kind::equal && one.when.all.empty() && one.left.size() == 1 && one.right.size() == 1 &&
           one.left.front().knob == knob && one.right.front().kind == Value::Kind::literal &&
           is_meant(one.when, *setup.mapping, setup.streamed->diagram, setup.problem);
  });
}

/// Returns the values of a knob that the search takes.
std::vector<std::int64_t> whole_domain(const Mapping& mapping, KnobId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= mapping.knobs.size())
    throw Error(mapping.name, "no knob number " + std::to_string(id));
  const Knob& knob = mapping.knobs[static_cast<std::size_t>(id)];
  if (knob.domain.empty()) throw Error(mapping.name, "knob '" + knob.name + "' has no values");
  return knob.searched ? knob.domain : std::vector{knob.domain.front()};
}

/// Returns the cuts, or those of packed axes alone.
std::vector<AxisCut> cuts_by(const Setup& setup, bool packed_alone) {
  std::vector<AxisCut> out;
  const LevelMapping* const block = block_level_of(*setup.mapping);
  if (block == nullptr) return out;
  for (const std::vector<std::string>* axes : {&block->group, &block->stream}) {
    for (const std::string& axis : *axes) {
      const int place = place_in_rows(*setup.mapping, axis);
      if (place == 0 || (place < 0 && packed_alone)) continue;
      const auto value = size_of_axis(*setup.mapping, *block, axis);
      const auto id = setup.streamed->diagram.find_axis(axis);
      if (value && value->kind == Value::Kind::knob && id) out.push_back({value->knob, *id, place > 0});
    }
  }
  return out;
}

/// Returns the domains that the question changes.
ChangedDomains changed_domains(const Setup& setup, bool of_kind) {
  ChangedDomains out;
  const auto domain = [&](KnobId knob) -> std::vector<std::int64_t>& {
    const auto known = out.find(knob);
    return known != out.end() ? known->second : out.emplace(knob, whole_domain(*setup.mapping, knob)).first->second;
  };
  for (const AxisCut& one : cuts_by(setup, of_kind)) cut_to_axis(setup, one, domain(one.knob));
  for (const auto& [knob, value] : setup.fixed) {
    std::vector<std::int64_t>& own = domain(knob);
    if (!of_kind || std::find(own.begin(), own.end(), value) == own.end()) own = {value};
  }
  std::erase_if(out, [&](const auto& one) { return one.second == whole_domain(*setup.mapping, one.first); });
  return out;
}

}  // namespace

std::vector<AxisCut> axis_cuts(const Setup& setup) { return cuts_by(setup, false); }
ChangedDomains domains_of_kind(const Setup& setup) { return changed_domains(setup, true); }

void cut_to_axis(const Setup& setup, const AxisCut& by, std::vector<std::int64_t>& domain) {
  if (by.packed)
    cut(domain, setup.problem.sizes[static_cast<std::size_t>(by.axis)].get());
  else if (!is_pinned(setup, by.knob))
    cut(domain, covering(domain, padded(setup, by.axis)));
}

void Space::tile(std::int64_t rank, Tile& into) const {
  into.values.resize(domains.size());
  for (std::size_t k = 0; k < domains.size(); ++k) {
    const auto index = static_cast<std::size_t>(rank / strides[k]);
    into.values[k] = domains[k][index];
    rank %= strides[k];
  }
}

Tile Space::tile(std::int64_t rank) const {
  Tile out;
  tile(rank, out);
  return out;
}

std::int64_t Space::rank(const Tile& tile) const {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < domains.size(); ++k)
    out += (std::find(domains[k].begin(), domains[k].end(), tile.values[k]) - domains[k].begin()) * strides[k];
  return out;
}

namespace {

Space make_space(const Setup& setup, bool of_kind) {
  Space space;
  for (std::size_t k = 0; k < setup.mapping->knobs.size(); ++k)
    space.domains.push_back(whole_domain(*setup.mapping, static_cast<KnobId>(k)));
  for (auto& [knob, domain] : changed_domains(setup, of_kind))
    space.domains[static_cast<std::size_t>(knob)] = std::move(domain);
  space.candidates = 1;
  space.strides.resize(space.domains.size());
  for (std::size_t k = space.domains.size(); k-- > 0;) {
    space.strides[k] = space.candidates.get();
    space.candidates *= Count(static_cast<std::int64_t>(space.domains[k].size()));
  }
  return space;
}

}  // namespace

/// Makes the space of a question. A size is wasteful, and cut, above the least that covers a streamed or grouped axis
/// whole; above the axis, for an axis packed into an agent's rows after the first (Agent::splits), since only the first
/// split axis pads an instruction's rows.
Space space_of(const Setup& setup) { return make_space(setup, false); }
Space space_of_kind(const Setup& setup) { return make_space(setup, true); }

}  // namespace napkin::internal
