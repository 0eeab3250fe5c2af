#pragma once
// orders() lists loop interchanges: which orders of the loops keep every dependence, and which dependence an illegal
// one would reverse. (eq. 18.3)

#include <optional>
#include <string>
#include <vector>

#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

/// The reason why an order is illegal: a dependence whose vector, permuted, becomes lexicographically negative.
struct Refusal {
  std::size_t dependence = 0;       ///< index of the dependence
  std::vector<Component> vector;    ///< vector of the pairs that would be reversed, in the nest's order
  std::vector<Component> permuted;  ///< the components in the new order
  std::string text;                 ///< "S1 -> S1 RAW A[i,j]: (1, -1) becomes (-1, 1)"
};

struct Order {
  std::vector<LoopId> loops;  ///< outermost first
  std::optional<Refusal> refusal;
  [[nodiscard]] bool legal() const { return !refusal; }
};

/// Judges an order (a permutation of all loops), exactly: it is illegal if and only if two iterations that depend on
/// each other swap.
[[nodiscard]] Order judge(const Nest& nest, const std::vector<Dependence>& dependences,
                          const std::vector<LoopId>& order);

/// Lists all orders of the `outer` outermost loops, lexicographically; inner loops keep their places. Throws Error for
/// more than 6 loops (720 orders).
[[nodiscard]] std::vector<Order> orders(const Nest& nest, const std::vector<Dependence>& dependences,
                                        std::size_t outer);
constexpr std::size_t max_permuted = 6;

}  // namespace napkin::internal::dependence
