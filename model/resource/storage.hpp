#pragma once
// A SharedLayout holds the places of a block's variables in its shared memory: Q at byte 0, two copies of K after it, O
// over Q. Variables that are never alive together share a storage. Internal to model/resource. (model/README.md,
// "Configuration table")

#include <array>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

constexpr std::size_t most_variables = 64;

struct SharedStorage {
  Count size, align, offset;
};

/// The storage of each variable of the block's level, and the place of each storage.
struct SharedLayout {
  std::array<int, most_variables> of{};  // variable -> storage, -1: not at this level
  std::array<SharedStorage, most_variables> storages{};
  std::size_t count = 0;
  Count align = 1, end;  // end: bytes from the aligned base
};

/// Lays out shared memory. Throws Overflow; Error for more than 64 variables.
[[nodiscard]] SharedLayout layout_of(const PlacedDiagram& placed);

[[nodiscard]] inline const Variable& variable_at(const PlacedDiagram& placed, std::size_t v) {
  return placed.variables[v];
}

/// Returns the variable whose storage this one uses, through chains of aliases.
[[nodiscard]] std::size_t owner(const PlacedDiagram& placed, std::size_t v);

/// Returns the alignment of a variable's tiles in bytes.
[[nodiscard]] Count alignment(const PlacedDiagram& placed, const Variable& variable);

/// Returns the agent that computes the variable's arrays, else the one that reads them, else the last (auxiliaries).
[[nodiscard]] int agent_of(const PlacedDiagram& placed, const Variable& variable);

/// Returns the number of copies of the variable in a block: one, or one for each instance of its agent.
[[nodiscard]] Count instances(const PlacedDiagram& placed, const Variable& variable);

/// Returns true if an iteration's operations may run beside the next one's (a negative distance between them), so that
/// no lifetime ends early.
[[nodiscard]] bool software_pipelined(const PlacedDiagram& placed);

/// Returns the bytes to align the base for swizzled tiles.
[[nodiscard]] Count slack(const SharedLayout& layout);

}  // namespace napkin::internal
