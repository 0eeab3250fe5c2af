// How the parts of results of split axes become one: by the mapping, else added where the copy engine adds, else by a
// second launch.
#include <algorithm>

#include "model/mapping/compile/compiled.hpp"

namespace napkin::internal {
namespace {

using By = CombineMapping::By;

}  // namespace

/// Returns true if every result with parts is a sum whose variable has a copy engine that adds in place.
bool Placer::Compiled::adds_up() const {
  return std::all_of(streamed_->combines.begin(), streamed_->combines.end(), [&](const Combine& c) {
    if (c.kind != Combine::Kind::sum) return false;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const auto& arrays = variables_[i].arrays;
      const bool holds = std::find(arrays.begin(), arrays.end(), c.array) != arrays.end();
      if (holds && adds(mapping_->variables[i].engine)) return true;
    }
    return false;
  });
}

/// Checks an exchange: the groups must exchange every result that has parts, and the maximum and sum of the softmax
/// that weighs it.
void Placer::Compiled::check_exchange(const CombineMapping& combine) const {
  const Diagram& d = streamed_->diagram;
  std::vector<std::string> needed, possible;
  for (const Combine& c : streamed_->combines) {
    const auto& added = streamed_->statistics;
    if (std::find(added.begin(), added.end(), c.array) == added.end()) needed.push_back(d.arrays[at(c.array)].name);
    for (const Auxiliary& a : streamed_->auxiliaries) {
      const bool weighs = c.log_sum_exp && d.producer(*c.log_sum_exp) == a.owner;
      if (weighs && !a.name.starts_with("delta")) needed.push_back(a.name);
    }
  }
  for (const std::string& name : needed) {
    if (lists(combine.values, name)) continue;
    throw Error(combine.location, "combine.values", "'" + name + "' is missing: no group has all of it",
                "[" + joined(needed) + "]");
  }
  for (const std::string& name : combine.values) {
    if (lists(needed, name)) continue;
    throw Error(combine.location, "combine.values", "'" + name + "' is no part of a result",
                "[" + joined(needed) + "]");
  }
}

void Placer::Compiled::compile_combine() {
  if (streamed_->combines.empty()) {
    if (mapping_->combine)
      throw Error(mapping_->combine->location, "combine", "no result has parts: no axis that is summed over is grouped",
                  "no 'combine', or such an axis under 'group'");
    return;
  }
  PlacedCombine out;
  CombineMapping combine;
  if (mapping_->combine) {
    combine = *mapping_->combine;
  } else if (adds_up()) {
    combine.by = By::adds;
    combine.at = machine_->levels[at(levels_.front().id)].name;
  }
  out.by = combine.by;
  if (!CombineMapping::keeps_apart(combine.by) && combine.at != machine_->levels.front().name) {
    const auto position = position_of(combine.at);
    if (!position || *position >= block_) {
      throw Error(combine.location, "combine.at", "the parts of blocks do not meet in '" + combine.at + "'",
                  "a level above the blocks' that the mapping uses");
    }
    out.at = *position;
  }
  switch (combine.by) {
    case By::launch:
    case By::last: out.launch = combine_launch(*streamed_); break;
    case By::adds:
      if (!adds_up())
        throw Error(combine.location, "combine.by", "not every part is a sum that is added where it is stored",
                    "engine: atomic or bulk_reduce on sums; launch, last, turns or barriers otherwise");
      break;
    case By::turns:
    case By::barriers: check_exchange(combine);
  }
  out.steps = combine.by == By::barriers ? Count(static_cast<std::int64_t>(combine.values.size())) : Count(1);
  combine_ = std::make_shared<const PlacedCombine>(std::move(out));
}

}  // namespace napkin::internal
