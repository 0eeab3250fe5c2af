#pragma once
// for_each_case visits the cases that guards tell apart: {when: {stages: 1}} and {when: {overlap: on}} make four of the
// knobs' many values. Internal to mapping/.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/mapping/mapping.hpp"

namespace napkin {

using KnobValues = std::vector<std::int64_t>;  ///< by KnobId

[[nodiscard]] bool holds(const Guard& guard, const KnobValues& values);

/// Calls `visit` with knob values such that every combination that the guards can tell apart occurs once. Throws Error
/// at `where` where there are more than 4096.
void for_each_case(const Mapping& m, const std::vector<const Guard*>& guards, const Location& where,
                   const std::function<void(const KnobValues&)>& visit);

/// "stages=1,overlap=on": the knobs that a guard names.
[[nodiscard]] std::string text_of_case(const Mapping& m, const std::vector<const Guard*>& guards,
                                       const KnobValues& values);

/// The guards that no other guard implies: they hold in every case in which any of the given ones does.
[[nodiscard]] std::vector<const Guard*> weakest(const std::vector<const Guard*>& guards);

}  // namespace napkin
