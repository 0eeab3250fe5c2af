#include "solver/optimum/integer.hpp"

#include <algorithm>
#include <string>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

using Int = std::int64_t;
constexpr Int too_large = INT64_MAX;  // stands for a number of more than 64 bits, and exceeds every other

Int times(Int a, Int b) {
  Int product = 0;
  return a == too_large || b == too_large || __builtin_mul_overflow(a, b, &product) ? too_large : product;
}

Int plus(Int a, Int b) {
  Int sum = 0;
  return a == too_large || b == too_large || __builtin_add_overflow(a, b, &sum) ? too_large : sum;
}

Int groups_of(Int size, Int group) { return size / group + (size % group != 0 ? 1 : 0); }

/// The legal sizes of one axis, addressed by index, ascending: multiples k, 2k, ..., or a list of divisors.
struct GroupSizes {
  Int size = 1, multiple = 1, count = 1;
  bool divides = false;
  bool lacked = false;
  std::vector<Int> divisors;

  [[nodiscard]] Int at(Int index) const {
    return divides ? divisors[static_cast<std::size_t>(index)] : multiple * (index + 1);
  }
  /// Returns the index of the smallest size that makes no more groups than `groups`.
  [[nodiscard]] Int smallest(Int groups) const {
    const Int least = groups_of(size, groups);
    if (!divides) return groups_of(least, multiple) - 1;
    return std::lower_bound(divisors.begin(), divisors.end(), least) - divisors.begin();
  }
};

GroupSizes sizes_of(const IntegerAxis& axis, bool lacked) {
  GroupSizes s;
  s.size = axis.size.get();
  s.multiple = axis.multiple.get();
  s.divides = axis.divides;
  s.lacked = lacked;
  if (s.size < 1 || s.multiple < 1 || (axis.fixed && *axis.fixed < 1))
    throw Error("optimum", "an axis size or multiple below 1", "at least 1");
  if (axis.fixed) {
    s.divides = true;
    s.divisors = {axis.fixed->get()};
    s.count = 1;
  } else if (axis.divides) {
    for (Int d = 1; d <= s.size / d; ++d) {
      if (s.size % d != 0) continue;
      if (d % s.multiple == 0) s.divisors.push_back(d);
      if (d != s.size / d && s.size / d % s.multiple == 0) s.divisors.push_back(s.size / d);
    }
    std::sort(s.divisors.begin(), s.divisors.end());
    s.count = static_cast<Int>(s.divisors.size());
  } else {
    s.count = s.size / s.multiple + (s.size % s.multiple != 0 ? 1 : 0);
    if (times(s.count, s.multiple) == too_large) s.count = 1;  // round_up(a, k) itself is beyond 64 bits
  }
  return s;
}

class Search {
 public:
  Search(const IntegerProblem& problem, Int chunk) : problem_(problem), chunk_(chunk) {
    for (std::size_t i = 0; i < problem.axes.size(); ++i) {
      const bool lacked = std::any_of(problem.terms.begin(), problem.terms.end(),
                                      [&](const IntegerTerm& t) { return ((t.lacks >> i) & 1U) != 0; });
      axes_.push_back(sizes_of(problem.axes[i], lacked));
      feasible_ = feasible_ && axes_.back().count > 0;
    }
  }

  void run() {
    if (!feasible_) return;
    group_.clear();
    for (const GroupSizes& axis : axes_) group_.push_back(axis.at(0));
    if (!fits()) return;
    counts_.resize(axes_.size());
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      // The fewest groups that this axis can have: those with all other axes at their smallest sizes.
      counts_[i] = axes_[i].lacked ? groups_of(axes_[i].size, axes_[i].at(largest(i))) : 1;
      if (axes_[i].lacked) order_.push_back(i);
    }
    for (std::size_t i : order_) last_ = i;
    // The axis with the most sizes is found by bisection, the others are enumerated, those with few sizes first.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return axes_[a].count < axes_[b].count; });
    descend(0);
  }

  [[nodiscard]] const std::optional<IntegerOptimum>& best() const { return best_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  /// Returns true if the memory of group_ is within the limit; a memory beyond 64 bits is not.
  [[nodiscard]] bool fits() const {
    try {
      return problem_.memory(group_, chunk_) <= problem_.limit;
    } catch (const Overflow&) {
      return false;
    }
  }

  /// Returns the index of the largest size of axis i that fits beside the others' present sizes; leaves group_
  /// unchanged.
  Int largest(std::size_t i) {
    const Count kept = group_[i];
    Int good = 0, bad = axes_[i].count;  // the size of index 0 is known to fit
    for (Int step = 1; step < bad - good; step = step < (Int{1} << 61) ? 2 * step : step) {
      group_[i] = axes_[i].at(good + step);
      if (!fits()) {
        bad = good + step;
        break;
      }
      good += step;
    }
    while (bad - good > 1) {
      const Int middle = good + (bad - good) / 2;
      group_[i] = axes_[i].at(middle);
      (fits() ? good : bad) = middle;
    }
    group_[i] = kept;
    return good;
  }

  /// Returns H of counts_; too_large beyond 64 bits.
  [[nodiscard]] Int transfer() const {
    Int sum = 0;
    for (const IntegerTerm& t : problem_.terms) {
      Int term = t.coefficient.get();
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        if (((t.lacks >> i) & 1U) != 0) term = times(term, counts_[i]);
      }
      sum = plus(sum, term);
    }
    return sum;
  }

  [[nodiscard]] bool hopeless(Int lower_bound) const { return best_ && lower_bound > best_->transfer.get(); }

  void descend(std::size_t depth) {
    if (depth == order_.size()) return keep();
    const std::size_t axis = order_[depth];
    const std::vector<Int> optimistic = counts_;
    const GroupSizes& sizes = axes_[axis];
    Int index = largest(axis);
    if (depth + 1 == order_.size()) {
      place(axis, index);
      keep();
    } else {
      // From large groups to small ones: the number of groups only grows, so the first hopeless size ends the row.
      for (index = sizes.smallest(groups_of(sizes.size, sizes.at(index)));;) {
        place(axis, index);
        const Int bound = transfer();
        overflowed_ = overflowed_ || bound == too_large;
        if (bound == too_large || hopeless(bound)) break;
        if (!tightened_hopeless(depth + 1)) descend(depth + 1);
        std::copy(optimistic.begin(), optimistic.end(), counts_.begin());
        if (index == 0) break;
        index = sizes.smallest(groups_of(sizes.size, sizes.at(index - 1)));
      }
    }
    counts_ = optimistic;
    group_[axis] = sizes.at(0);
  }

  void place(std::size_t axis, Int index) {
    group_[axis] = axes_[axis].at(index);
    counts_[axis] = groups_of(axes_[axis].size, group_[axis].get());
  }

  /// Returns true if the best cannot be improved: with the sizes placed so far, and each later axis alone as large as
  /// it can be, H is no better.
  bool tightened_hopeless(std::size_t from) {
    if (from + 1 >= order_.size()) return false;
    for (std::size_t k = from; k < order_.size(); ++k) {
      const std::size_t i = order_[k];
      counts_[i] = groups_of(axes_[i].size, axes_[i].at(largest(i)));
    }
    return hopeless(transfer());
  }

  /// Compares the complete assignment with the best one, and keeps the better by the tie rule.
  void keep() {
    ++examined_;
    const Int h = transfer();
    if (h == too_large) overflowed_ = true;
    if (h == too_large || hopeless(h)) return;
    const std::vector<Count> placed = group_;
    for (std::size_t i : order_) group_[i] = axes_[i].at(axes_[i].smallest(counts_[i]));
    if (!order_.empty()) group_[last_] = axes_[last_].at(largest_from_first(last_));
    const bool better = !best_ || h < best_->transfer.get() || group_ < best_->group;
    if (better) best_ = IntegerOptimum{h, group_, chunk_, problem_.memory(group_, chunk_), examined_};
    group_ = placed;
    best_->examined = examined_;
  }

  Int largest_from_first(std::size_t i) {
    const Count kept = group_[i];
    group_[i] = axes_[i].at(0);
    const Int index = largest(i);
    group_[i] = kept;
    return index;
  }

  const IntegerProblem& problem_;
  Int chunk_;
  std::vector<GroupSizes> axes_;
  bool feasible_ = true, overflowed_ = false;
  std::vector<Count> group_;
  std::vector<Int> counts_;         // groups of each axis: placed ones as placed, others at their best
  std::vector<std::size_t> order_;  // axes that matter, in search order
  std::size_t last_ = 0;
  std::optional<IntegerOptimum> best_;
  std::int64_t examined_ = 0;
};

}  // namespace

std::optional<IntegerOptimum> integer_optimum(const IntegerProblem& problem) {
  // H is a step function of each group size, so on all axes but one only the smallest multiple with a given number of
  // groups is tried; the remaining axis is as large as fits. Ties prefer the larger chunk, then the smaller group of
  // the first axis, of the second, and so on. The last axis that some array lacks takes spare memory; an axis that no
  // array lacks has its smallest group.
  if (problem.axes.size() > 64) throw Error("optimum", "more than 64 grouped axes", "at most 64");
  std::optional<IntegerOptimum> best;
  bool overflowed = false;
  for (Count chunk : problem.chunks) {
    if (chunk < 1) throw Error("optimum", "a stream size below 1", "at least 1");
    Search search(problem, chunk.get());
    search.run();
    overflowed = overflowed || search.overflowed();
    const auto& found = search.best();
    if (!found) continue;
    const bool tie = best && found->transfer == best->transfer;
    if (!best || found->transfer < best->transfer || (tie && chunk > best->chunk)) best = found;
  }
  if (!best && overflowed) throw Overflow("the transfers of every choice of group sizes");
  return best;
}

Count transfer_of(const IntegerProblem& problem, std::span<const Count> group) {
  Count sum = 0;
  for (const IntegerTerm& t : problem.terms) {
    Count term = t.coefficient;
    for (std::size_t i = 0; i < problem.axes.size(); ++i) {
      if (((t.lacks >> i) & 1U) != 0) term *= ceil_div(problem.axes[i].size, group[i]);
    }
    sum += term;
  }
  return sum;
}

}  // namespace napkin::internal
