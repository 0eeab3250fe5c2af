#include "solver/space/enumerate.hpp"

#include <algorithm>
#include <optional>

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

/// Cuts the axis's domain to useful sizes; with `of_kind`, only that of a packed axis, so that no length matters.
void cut_axis(const Setup& setup, const LevelMapping& block, const std::string& axis, bool of_kind, Space& space) {
  const int place = place_in_rows(*setup.mapping, axis);
  if (place == 0 || (place < 0 && of_kind)) return;
  const auto value = size_of_axis(*setup.mapping, block, axis);
  const auto id = setup.streamed->diagram.find_axis(axis);
  if (!value || value->kind != Value::Kind::knob || !id) return;
  const std::int64_t size = setup.problem.sizes[static_cast<std::size_t>(*id)].get();
  std::vector<std::int64_t>& domain = space.domains[static_cast<std::size_t>(value->knob)];
  if (place > 0)
    cut(domain, size);
  else if (!is_pinned(setup, value->knob))
    cut(domain, covering(domain, padded(setup, *id)));
}

}  // namespace

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
  space.domains.reserve(setup.mapping->knobs.size());
  for (const Knob& knob : setup.mapping->knobs) {
    if (knob.domain.empty()) throw Error(setup.mapping->name, "knob '" + knob.name + "' has no values");
    space.domains.push_back(knob.searched ? knob.domain : std::vector{knob.domain.front()});
  }
  if (const LevelMapping* block = block_level_of(*setup.mapping)) {
    for (const std::string& axis : block->group) cut_axis(setup, *block, axis, of_kind, space);
    for (const std::string& axis : block->stream) cut_axis(setup, *block, axis, of_kind, space);
  }
  for (const auto& [knob, value] : setup.fixed) {
    if (knob < 0 || static_cast<std::size_t>(knob) >= space.domains.size()) {
      throw Error(setup.mapping->name, "no knob number " + std::to_string(knob));
    }
    std::vector<std::int64_t>& domain = space.domains[static_cast<std::size_t>(knob)];
    if (!of_kind || std::find(domain.begin(), domain.end(), value) == domain.end()) domain = {value};
  }
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
