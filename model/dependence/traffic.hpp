#pragma once
// traffic_of counts the values that each order of the loops moves between the slow memory and a cache. (eq. 18.5)
//
// The assumptions:
// - The cache holds what the `cached` innermost loops touch: of each reference, the values of one iteration of the
//   loops around them. A value stays while only loops run that its subscripts do not name, and is fetched again
//   when one of them or a loop around it has advanced.
// - Memory arrays are loaded where they are read and stored where they are written; equal references of several
//   statements are one. Initial values are loaded like given ones. No line size, no write-allocate.
// - A temporary stays in the cache. Only where the order puts other values of it between its writing and its reading
//   does it move: stored once, loaded at each read. A copy of an array that nobody writes is read there again instead.

#include <string>
#include <vector>

#include "model/base/count.hpp"
#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

/// The values that a reference moves: the product of the sizes of `loops`.
struct Move {
  Reference reference;
  bool store = false;
  std::vector<LoopId> loops;
};

struct LoopTraffic {
  std::vector<Move> moves;
  Count load, store;  ///< values moved
};

/// Returns the traffic of an order (a permutation of all loops) whose `cached` innermost loops run within the cache.
/// Loops with equal `names` (by LoopId) walk over the same values, which the cache holds once. Throws Overflow for
/// sizes whose products do not fit 64 bits.
[[nodiscard]] LoopTraffic traffic_of(const Nest& nest, const std::vector<Dependence>& dependences,
                                     const std::vector<LoopId>& order, std::size_t cached,
                                     const std::vector<std::string>& names);
/// Returns the traffic if every loop walks over values of its own.
[[nodiscard]] LoopTraffic traffic_of(const Nest& nest, const std::vector<Dependence>& dependences,
                                     const std::vector<LoopId>& order, std::size_t cached);

/// Writes the loads or the stores as a sum in these loop names, fewest loops first: "2 i + i j + i d"; "0" for none.
[[nodiscard]] std::string formula(const std::vector<std::string>& names, const LoopTraffic& traffic, bool stores);

}  // namespace napkin::internal::dependence
