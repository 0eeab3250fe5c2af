// Chains of contractions in the cheapest order. A chain is one product of many operands, summed over all axes that any
// of its contractions consumes; every binary tree over the operands computes it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "model/fusion/rewrite.hpp"
#include "model/fusion/rewrite_parts.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t most_operands = 8;  // 3^8 pairs of subsets

using Set = unsigned;  // set of operands, one bit each

std::optional<Scale> product(const Scale& a, const Scale& b) {
  if (a.axis && b.axis) return std::nullopt;
  Scale out = a.axis ? a : b;
  out.factor = a.factor * b.factor;
  return out;
}

/// A contraction, with the contractions that make its operands and whose results nothing else uses.
struct Chain {
  std::set<OpId> members;  ///< members; the last is the root
  std::vector<ArrayId> operands;
  std::vector<AxisId> own;
  Scale scale;
};

class Gathering {
 public:
  Gathering(const Diagram& diagram, OpId root) : d_(diagram) {
    chain_.members.insert(root);
    chain_.operands = op(root).inputs;
    chain_.own = op(root).own;
    chain_.scale = op(root).scale;
  }

  Chain run() {
    for (std::size_t i = 0; i < chain_.operands.size();) i = take_in(i) ? 0 : i + 1;
    return std::move(chain_);
  }

 private:
  [[nodiscard]] const Operation& op(OpId id) const { return d_.operations[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Array& array(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)]; }

  /// Returns true if the rest of the chain uses an axis, so that it cannot be summed over yet.
  [[nodiscard]] bool known(AxisId axis, ArrayId but) const {
    if (std::find(chain_.own.begin(), chain_.own.end(), axis) != chain_.own.end()) return true;
    return std::any_of(chain_.operands.begin(), chain_.operands.end(),
                       [&](ArrayId id) { return id != but && array(id).has(axis); });
  }

  bool take_in(std::size_t place) {
    const ArrayId operand = chain_.operands[place];
    const auto producer = d_.producer(operand);
    if (!producer || op(*producer).kind != OpKind::contract) return false;
    if (d_.is_output(operand) || d_.consumers(operand).size() != 1) return false;
    if (std::count(chain_.operands.begin(), chain_.operands.end(), operand) != 1) return false;
    const Operation& inner = op(*producer);
    const auto scale = product(chain_.scale, inner.scale);
    if (!scale || std::any_of(inner.own.begin(), inner.own.end(), [&](AxisId a) { return known(a, operand); }))
      return false;
    const auto at = chain_.operands.begin() + static_cast<std::ptrdiff_t>(place);
    chain_.operands.insert(chain_.operands.erase(at), inner.inputs.begin(), inner.inputs.end());
    chain_.own.insert(chain_.own.end(), inner.own.begin(), inner.own.end());
    chain_.scale = *scale;
    chain_.members.insert(*producer);
    return true;
  }

  const Diagram& d_;
  Chain chain_;
};

/// The cheapest binary tree over a chain's operands, by dynamic programming over subsets.
class Tree {
 public:
  Tree(const Diagram& diagram, const Sizes& sizes, const Chain& chain) : d_(diagram), sizes_(sizes), chain_(chain) {
    const Set all = (1U << chain.operands.size()) - 1;
    cost_.assign(all + 1, std::numeric_limits<double>::infinity());
    left_.assign(all + 1, 0);
    for (Set s = 1; s <= all; ++s) solve(s);
  }

  [[nodiscard]] double cost() const { return cost_.back(); }
  [[nodiscard]] Set all() const { return static_cast<Set>(cost_.size()) - 1; }
  [[nodiscard]] Set left(Set s) const { return left_[s]; }
  [[nodiscard]] static bool single(Set s) { return (s & (s - 1)) == 0; }

  /// Returns the axes of a set of operands' product, summed over all axes that no other array has; a single operand
  /// keeps its axes.
  [[nodiscard]] std::vector<AxisId> axes(Set s) const {
    std::vector<AxisId> out;
    for (std::size_t i = 0; i < chain_.operands.size(); ++i) {
      if (((s >> i) & 1U) == 0) continue;
      for (AxisId a : d_.arrays[static_cast<std::size_t>(chain_.operands[i])].axes) {
        if (std::find(out.begin(), out.end(), a) == out.end() && (single(s) || !summed(a, s))) out.push_back(a);
      }
    }
    return out;
  }
  [[nodiscard]] double volume(const std::vector<AxisId>& axes) const {
    double out = 1;
    for (AxisId a : axes) out *= static_cast<double>(sizes_[static_cast<std::size_t>(a)]);
    return out;
  }
  /// Returns the axes of two parts together.
  [[nodiscard]] std::vector<AxisId> together(Set a, Set b) const {
    std::vector<AxisId> out = axes(a);
    for (AxisId axis : axes(b)) {
      if (std::find(out.begin(), out.end(), axis) == out.end()) out.push_back(axis);
    }
    return out;
  }

 private:
  [[nodiscard]] bool summed(AxisId axis, Set s) const {
    if (std::find(chain_.own.begin(), chain_.own.end(), axis) == chain_.own.end()) return false;
    for (std::size_t i = 0; i < chain_.operands.size(); ++i) {
      const bool inside = ((s >> i) & 1U) != 0;
      if (!inside && d_.arrays[static_cast<std::size_t>(chain_.operands[i])].has(axis)) return false;
    }
    return true;
  }

  void solve(Set s) {
    if (single(s)) {
      cost_[s] = 0;
      return;
    }
    for (Set a = (s - 1) & s; a > 0; a = (a - 1) & s) {
      const Set b = s & ~a;
      if (a < b) continue;
      const double cost = cost_[a] + cost_[b] + volume(together(a, b));
      if (cost >= cost_[s]) continue;
      cost_[s] = cost;
      left_[s] = a;
    }
  }

  const Diagram& d_;
  const Sizes& sizes_;
  const Chain& chain_;
  std::vector<double> cost_;
  std::vector<Set> left_;
};

/// Returns the multiply-adds of the chain as it is written.
double written_cost(const Diagram& d, const Tree& tree, const Chain& chain) {
  double out = 0;
  for (OpId id : chain.members) {
    const Operation& op = d.operations[static_cast<std::size_t>(id)];
    std::vector<AxisId> all;
    for (ArrayId in : op.inputs) {
      for (AxisId a : d.arrays[static_cast<std::size_t>(in)].axes) {
        if (std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
      }
    }
    out += tree.volume(all) * static_cast<double>(op.inputs.size() - 1);
  }
  return out;
}

class Writer {
 public:
  Writer(Diagram& diagram, const Tree& tree, const Chain& chain) : d_(diagram), tree_(tree), chain_(chain) {}

  void run() {
    const OpId root = *chain_.members.rbegin();
    const Operation written = d_.operations[static_cast<std::size_t>(root)];
    part(tree_.all(), written);
    instead_.back().outputs = written.outputs;
    scale();
    d_.operations.insert(d_.operations.begin() + root + 1, instead_.begin(), instead_.end());
    for (auto at = chain_.members.rbegin(); at != chain_.members.rend(); ++at)
      d_.operations.erase(d_.operations.begin() + *at);
    rewrite::remove_unused(d_);
  }

 private:
  ArrayId part(Set s, const Operation& like) {
    if (Tree::single(s)) {
      std::size_t place = 0;
      while (((s >> place) & 1U) == 0) ++place;
      return chain_.operands[place];
    }
    const Set a = tree_.left(s), b = s & ~a;
    Operation op;
    op.location = like.location;
    op.inputs = {part(a, like), part(b, like)};
    const std::vector<AxisId> left = tree_.axes(s);
    for (AxisId axis : tree_.together(a, b)) {
      if (std::find(left.begin(), left.end(), axis) == left.end()) op.own.push_back(axis);
    }
    op.kind = op.own.empty() ? OpKind::multiply : OpKind::contract;
    const Array name = d_.arrays[static_cast<std::size_t>(like.outputs[0])];
    op.outputs = {rewrite::add_array(d_, name, left)};
    instead_.push_back(op);
    return op.outputs[0];
  }

  /// Moves the chain's scale to the last contraction, since a product of elements takes none.
  void scale() {
    for (auto op = instead_.rbegin(); op != instead_.rend(); ++op) {
      if (op->kind != OpKind::contract) continue;
      op->scale = chain_.scale;
      return;
    }
  }

  Diagram& d_;
  const Tree& tree_;
  const Chain& chain_;
  std::vector<Operation> instead_;
};

/// Rewrites the first chain from the end for which another order is cheaper. Returns true if there was one.
bool improve(Diagram& d, const Sizes& sizes) {
  for (std::size_t i = d.operations.size(); i-- > 0;) {
    if (d.operations[i].kind != OpKind::contract) continue;
    const Chain chain = Gathering(d, static_cast<OpId>(i)).run();
    if (chain.members.size() < 2 || chain.operands.size() > most_operands) continue;
    const Tree tree(d, sizes, chain);
    const double before = written_cost(d, tree, chain);
    if (!(tree.cost() < before)) continue;
    const std::string name = d.arrays[static_cast<std::size_t>(d.operations[i].outputs[0])].name;
    d.rewritings.push_back("associativity: in another order the products that make " + name + " need " +
                           std::to_string(std::llround(1000 * tree.cost() / before)) + " in 1000 of the multiply-adds");
    Writer(d, tree, chain).run();
    return true;
  }
  return false;
}

}  // namespace

Diagram reassociated(const Diagram& diagram, const Sizes& sizes) {
  Diagram out = diagram;
  while (improve(out, sizes)) {
  }
  if (out.rewritings.size() > diagram.rewritings.size()) check(out);
  return out;
}

}  // namespace napkin::internal
