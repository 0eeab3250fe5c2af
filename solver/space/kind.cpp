#include "solver/space/kind.hpp"

#include <algorithm>
#include <functional>

#include "model/base/byte_stream.hpp"
#include "model/diagram/packing.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin::internal {
namespace {

bool is_divided(const Streamed& streamed, AxisId axis) { return streamed.grouped(axis) || streamed.stream == axis; }

/// Returns the first type that the mapping takes and that costs as much as the question's: bf16 for f16.
DType cost_type(const Setup& setup) {
  const DType own = setup.problem.dtype;
  const std::vector<std::string>& taken = setup.mapping->dtypes;
  const auto type_of = [&](const std::string& name) { return parse_dtype(name, setup.mapping->name); };
  if (std::none_of(taken.begin(), taken.end(), [&](const auto& name) { return type_of(name) == own; })) return own;
  return type_of(*std::find_if(taken.begin(), taken.end(),
                               [&](const auto& name) { return setup.machine->cost_alike(type_of(name), own); }));
}

}  // namespace

bool cuts_into_parts(const Mapping& mapping) {
  return std::any_of(mapping.levels.begin(), mapping.levels.end(),
                     [](const LevelMapping& level) { return !level.parts.empty(); });
}

std::string kind_of(const Setup& setup) {
  ByteWriter key;
  const Problem& problem = setup.problem;
  key.put(static_cast<std::int32_t>(cost_type(setup)));
  key.put(static_cast<std::int32_t>(problem.mask.kind));
  const auto& sequences = problem.packing.sequences;
  const bool equal = std::adjacent_find(sequences.begin(), sequences.end(), std::not_equal_to<>()) == sequences.end();
  key.put(static_cast<std::int32_t>(sequences.empty() ? 0 : equal ? 1 : 2));
  for (std::size_t a = 0; a < problem.sizes.size(); ++a) {
    const bool divided = is_divided(*setup.streamed, static_cast<AxisId>(a)) && !setup.mapping->exact_groups;
    key.put(divided ? std::int64_t{-1} : problem.sizes[a].get());
  }
  for (const auto& [knob, domain] : domains_of_kind(setup)) {
    key.put(static_cast<std::int64_t>(knob));
    key.put(domain);
  }
  return key.take();
}

}  // namespace napkin::internal
