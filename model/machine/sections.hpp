#pragma once
// These functions read the sections of a profile, one each: read_pipes fills the machine's pipes. Every reader fills
// its part of the machine and throws Error for anything that the schema does not know. (schema:
// docs/own-gpu.md, "Keys")

#include "model/base/yaml.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal::profile {

/// Reads `levels`: the tree of memory nodes, then `compute` (the level that holds the execution units).
void read_levels(const yaml::Node& node, Machine& machine);

/// Reads `pipes`; needs the levels.
void read_pipes(const yaml::Node& node, Machine& machine);

/// Reads `tensor`, matrix instructions; needs the levels.
void read_tensor(const yaml::Node& node, Machine& machine);

/// Reads `units`, the other execution units; needs the levels.
void read_units(const yaml::Node& node, Machine& machine);

/// Reads `cores`, kinds of cores by the level whose nodes they are; needs the levels.
void read_cores(const yaml::Node& node, Machine& machine);

/// Reads `limits`, which bound the blocks of one SM.
void read_limits(const yaml::Node& node, Limits& limits);

void read_clocks(const yaml::Node& node, Clocks& clocks);
void read_power(const yaml::Node& node, Power& power);
/// Derives power.burst from the limit and `burst_share`, if the profile does not state it.
void complete_power(Machine& machine);

/// Reads `constants` and `fitted`: named numbers, each in the dimension that the list of names gives it.
void read_constants(const yaml::Node& node, bool fitted, Machine& machine);
/// Says what a named number is, as in "tma_box" or "issue.serial"; "" for an unknown name.
[[nodiscard]] std::string_view about_constant(std::string_view name);

/// Returns the level that a word names. Throws Error that lists the known levels.
[[nodiscard]] LevelId level_named(const yaml::Node& word, const Machine& machine);

/// Returns true for a name that a profile may give: small letters, digits and _, at most 64, a letter first.
[[nodiscard]] bool is_identifier(const std::string& word);

}  // namespace napkin::internal::profile
