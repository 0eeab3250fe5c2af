#include "model/interpret/global_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace napkin::internal::interpret {

template <class T>
GlobalMemory<T>::GlobalMemory(const Streamed& streamed, const Sizes& sizes, const Partition& partition,
                              std::vector<Block<T>> inputs)
    : streamed_(streamed),
      sizes_(sizes),
      partition_(partition),
      inputs_(std::move(inputs)),
      results_(streamed.diagram.arrays.size()) {
  for (ArrayId out : streamed.diagram.outputs) {
    Result& result = results_[index(out)];
    std::size_t parts = 1;
    for (const Combine& c : streamed.combines) {
      if (c.array != out) continue;
      result.axes.push_back(c.axis);
      parts *= index(groups_of(c.axis));
    }
    // Zeros: what a group leaves out of a sum counts for nothing.
    result.parts.assign(parts, Block<T>(streamed.diagram.arrays[index(out)].axes, full_box(sizes), T(0)));
  }
}

template <class T>
std::int64_t GlobalMemory<T>::groups_of(AxisId axis) const {
  return ceil_div(sizes_[index(axis)], partition_.group[index(axis)]).get();
}

template <class T>
Block<T>& GlobalMemory<T>::part(Result& result, const Coordinates& at) const {
  std::int64_t i = 0;
  for (AxisId a : result.axes) i = i * groups_of(a) + at[index(a)];
  return result.parts[index(i)];
}

template <class T>
std::int64_t GlobalMemory<T>::write(ArrayId array, const Block<T>& block, const Box& box) {
  Coordinates at(box.size(), 0);
  for (AxisId a : results_[index(array)].axes) at[index(a)] = box[index(a)].first / partition_.group[index(a)].get();
  return copy_common(block, part(results_[index(array)], at));
}

template <class T>
void GlobalMemory<T>::combine(LevelCounts& counts) {
  const bool in_parts =
      std::any_of(results_.begin(), results_.end(), [](const Result& result) { return result.parts.size() > 1; });
  for (ArrayId out : streamed_.diagram.outputs) {
    const Result& result = results_[index(out)];
    if (result.axes.empty() || !in_parts) continue;  // a single part is the result
    for (const Block<T>& p : result.parts) counts.arrays[index(out)].loaded += p.volume();
    counts.arrays[index(out)].stored += result.parts[0].volume();
  }
  for (std::size_t i = 0; i < streamed_.roles.size(); ++i) {
    std::vector<std::pair<ArrayId, Result>> done;  // apart: the weights are read until all arrays are combined
    for (const Combine& c : streamed_.combines) {
      if (c.axis == static_cast<AxisId>(i)) done.emplace_back(c.array, combined(c));
    }
    for (auto& [array, result] : done) results_[index(array)] = std::move(result);
  }
}

/// Returns the result without the combine's axis: each of its parts is made of the parts of all groups of that axis.
template <class T>
typename GlobalMemory<T>::Result GlobalMemory<T>::combined(const Combine& how) {
  Result& from = results_[index(how.array)];
  Result to;
  std::size_t parts = 1;
  for (AxisId a : from.axes) {
    if (a == how.axis) continue;
    to.axes.push_back(a);
    parts *= index(groups_of(a));
  }
  to.parts.resize(parts);
  Coordinates at(sizes_.size(), 0);
  for (std::size_t i = 0; i < parts; ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    for (std::size_t k = to.axes.size(); k-- > 0;) {
      at[index(to.axes[k])] = rest % groups_of(to.axes[k]);
      rest /= groups_of(to.axes[k]);
    }
    combine_parts(how, at, to.parts[i]);
  }
  return to;
}

template <class T>
void GlobalMemory<T>::combine_parts(const Combine& how, Coordinates at, Block<T>& target) {
  Result& from = results_[index(how.array)];
  const std::int64_t groups = groups_of(how.axis);
  if (how.kind == Combine::Kind::log_sum_exp) {
    target = combined_log_sum_exp(how.array, at, how.axis);
    return;
  }
  at[index(how.axis)] = 0;
  target = part(from, at);
  if (how.kind == Combine::Kind::weighted) {
    const Block<T> total = combined_log_sum_exp(*how.log_sum_exp, at, how.axis);
    target.data.assign(target.data.size(), T(0));
    for (std::int64_t g = 0; g < groups; ++g) {
      at[index(how.axis)] = g;
      Block<T> weight = part(results_[index(*how.log_sum_exp)], at);
      Block<T> unused(weight.axes, full_box(sizes_), T(0));
      exponentials(weight, total, unused);
      Block<T> share = part(from, at);
      multiply_rows(share, weight);
      add_into(target, share);
    }
    return;
  }
  for (std::int64_t g = 1; g < groups; ++g) {
    at[index(how.axis)] = g;
    how.kind == Combine::Kind::max ? maximum_into(target, part(from, at)) : add_into(target, part(from, at));
  }
}

template <class T>
Block<T> GlobalMemory<T>::combined_log_sum_exp(ArrayId array, Coordinates at, AxisId axis) {
  Result& from = results_[index(array)];
  Block<T> mu(from.parts[0].axes, full_box(sizes_), -std::numeric_limits<T>::infinity());
  Block<T> z(from.parts[0].axes, full_box(sizes_), T(0));
  for (std::int64_t g = 0; g < groups_of(axis); ++g) {
    at[index(axis)] = g;
    maximum_into(mu, part(from, at));
  }
  for (std::int64_t g = 0; g < groups_of(axis); ++g) {
    at[index(axis)] = g;
    Block<T> term = part(from, at);
    exponentials(term, mu, z);
  }
  return log_sum_exp(mu, z);
}

template class GlobalMemory<double>;
template class GlobalMemory<float>;

}  // namespace napkin::internal::interpret
