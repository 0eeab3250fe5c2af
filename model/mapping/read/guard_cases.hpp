#pragma once
// for_each_case visits the cases that guards tell apart: {when: {stages: 1}} and {when: {overlap: on}} make four of the
// knobs' many values. Internal to mapping/.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/mapping/mapping.hpp"

namespace napkin::internal {

using KnobValues = std::vector<std::int64_t>;  ///< The knobs' values, by KnobId.

[[nodiscard]] bool holds(const Guard& guard, const KnobValues& values);

/// Calls `visit` once for each combination of knobs' values that the guards can tell apart. Throws Error at `where` for
/// more than 4096.
void for_each_case(const Mapping& m, const std::vector<const Guard*>& guards, const Location& where,
                   const std::function<void(const KnobValues&)>& visit);

/// Writes the values of the knobs that the guards name: "stages=1,overlap=on".
[[nodiscard]] std::string text_of_case(const Mapping& m, const std::vector<const Guard*>& guards,
                                       const KnobValues& values);

/// Returns the guards that no other guard implies: whenever any given guard holds, one of the returned holds.
[[nodiscard]] std::vector<const Guard*> weakest(const std::vector<const Guard*>& guards);

}  // namespace napkin::internal
