#include "model/dependence/order.hpp"

#include <algorithm>
#include <numeric>

#include "model/dependence/meeting.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

/// Returns true if the bounds alone show that the order keeps the dependence.
bool surely_kept(const Dependence& d, const std::vector<LoopId>& order) {
  for (LoopId loop : order) {
    const Component& c = d.vector[static_cast<std::size_t>(loop)];
    if (c.least > 0) return true;
    if (c.least < 0) return false;
  }
  return true;
}

/// Returns the text of a vector with its directions for loops that are not common too: a refusal may be due to such a
/// loop.
std::string full_text(const std::vector<Component>& vector) {
  std::vector<Component> all = vector;
  for (Component& c : all) c.common = true;
  return text_of(all);
}

std::optional<Refusal> refusal_of(const Nest& nest, const Dependence& d, std::size_t index,
                                  const std::vector<LoopId>& order) {
  Meeting pairs(nest, d);
  for (LoopId loop : order) {
    if (pairs.component(loop).least < 0) {
      pairs.require_earlier(loop);
      Refusal refusal{index, pairs.vector(), {}, {}};
      for (LoopId l : order) refusal.permuted.push_back(refusal.vector[static_cast<std::size_t>(l)]);
      refusal.text = nest.statements[static_cast<std::size_t>(d.from)].name + " -> " +
                     nest.statements[static_cast<std::size_t>(d.to)].name + " " + std::string(name_of(d.kind)) + " " +
                     print_reference(nest, d.source) + ": " + full_text(refusal.vector) + " becomes " +
                     full_text(refusal.permuted);
      return refusal;
    }
    pairs.require_equal(loop);
    if (!pairs.feasible()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Order judge(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order) {
  Order judged{order, std::nullopt};
  for (std::size_t i = 0; i < all.size() && judged.legal(); ++i) {
    if (all[i].level && !surely_kept(all[i], order)) judged.refusal = refusal_of(nest, all[i], i, order);
  }
  return judged;
}

std::vector<Order> orders(const Nest& nest, const std::vector<Dependence>& all, std::size_t outer) {
  outer = std::min(outer, nest.loops.size());
  if (outer > max_permuted) throw Error(nest.name, "too many loops to try every order", "at most 6");
  std::vector<LoopId> order(nest.loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Order> judged;
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(outer);
  do judged.push_back(judge(nest, all, order));
  while (std::next_permutation(order.begin(), end));
  return judged;
}

}  // namespace napkin::internal::dependence
