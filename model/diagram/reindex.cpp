#include "model/diagram/reindex.hpp"

#include <limits>

namespace napkin::internal {
namespace {

__extension__ typedef __int128 Wide;  // sums and products of two 64-bit sizes do not wrap in it

constexpr std::int64_t most_looped = std::int64_t{1} << 22;  // pieces of all axes but the one with the most

Count narrow(Wide value) {
  if (value > INT64_MAX) throw Overflow("the number of rows that a shifted dimension reads");
  return static_cast<std::int64_t>(value);
}

Wide times(Wide a, Wide b) {
  Wide product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Overflow("the number of rows that a shifted dimension reads");
  return product;
}

/// Returns ceil(a / b) for b > 0 and any a.
Wide quotient_up(Wide a, Wide b) { return a / b + (a % b > 0 ? 1 : 0); }

/// Returns the sum over a in [0, count) of clamp(from + step a, 0, most), step > 0.
Wide clamped_sum(Wide from, Wide step, Wide count, Wide most) {
  const Wide rises = std::clamp<Wide>(quotient_up(-from, step), 0, count);
  const Wide flat = std::clamp<Wide>(quotient_up(most - from, step), rises, count);
  const Wide n = flat - rises;
  const Wide ramp = n == 0 ? 0 : times(n, from + step * rises) + times(step, n * (n - 1) / 2);
  return ramp + times(count - flat, most);
}

/// A counter of the rows that one combination of pieces reads.
class Reader {
 public:
  Reader(const Reindex& dimension, std::vector<Pieces> runs, std::int64_t rows)
      : strides_(dimension.strides), runs_(std::move(runs)), rows_(rows), first_(dimension.offset) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      reach_ += Wide{strides_[i]} * (runs_[i].length - 1);
      first_ += Wide{strides_[i]} * runs_[i].first;
      if (runs_[i].count > runs_[longest_].count) longest_ = i;
    }
  }

  [[nodiscard]] Wide rows() const {
    Wide last = first_ + reach_, pieces = 1;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      last += Wide{strides_[i]} * runs_[i].step * (runs_[i].count - 1);
      pieces = times(pieces, runs_[i].count);
    }
    if (first_ >= 0 && last <= rows_) return times(pieces, reach_);
    if (pieces / std::max<Wide>(longest().count, 1) > most_looped)
      throw Error("a shifted dimension with rows outside its array", "too many parts to count", "larger groups");
    return looped(0, first_);
  }

 private:
  [[nodiscard]] const Pieces& longest() const { return runs_[longest_]; }

  [[nodiscard]] Wide looped(std::size_t axis, Wide first) const {
    if (axis == runs_.size()) {
      const Wide step = Wide{strides_[longest_]} * longest().step;
      return clamped_sum(first + reach_, step, longest().count, rows_) -
             clamped_sum(first, step, longest().count, rows_);
    }
    if (axis == longest_) return looped(axis + 1, first);
    Wide sum = 0;
    for (std::int64_t i = 0; i < runs_[axis].count; ++i)
      sum += looped(axis + 1, first + Wide{strides_[axis]} * runs_[axis].step * i);
    return sum;
  }

  const std::vector<std::int64_t>& strides_;
  std::vector<Pieces> runs_;
  std::int64_t rows_;
  Wide first_, reach_ = 1;
  std::size_t longest_ = 0;
};

Wide rows_of_runs(const Reindex& dimension, const std::vector<std::vector<Pieces>>& pieces, std::vector<Pieces>& chosen,
                  std::int64_t rows) {
  if (chosen.size() == pieces.size()) return Reader(dimension, chosen, rows).rows();
  Wide sum = 0;
  for (const Pieces& run : pieces[chosen.size()]) {
    chosen.push_back(run);
    sum += rows_of_runs(dimension, pieces, chosen, rows);
    chosen.pop_back();
  }
  return sum;
}

void add_run(std::vector<Pieces>& runs, const Pieces& run) {
  if (run.count > 0 && run.length > 0) runs.push_back(run);
}

}  // namespace

std::vector<AxisId> stored_axes(const Array& array) {
  std::vector<AxisId> axes;
  for (std::size_t i = 0; i < array.axes.size();) {
    const auto here = std::find_if(array.reindexed.begin(), array.reindexed.end(),
                                   [&](const Reindex& dimension) { return dimension.first == i; });
    axes.push_back(here == array.reindexed.end() ? array.axes[i] : here->of);
    i += here == array.reindexed.end() ? 1 : here->strides.size();
  }
  return axes;
}

std::vector<AxisId> gathered_axes(const Array& array) {
  std::vector<AxisId> axes;
  for (std::size_t i = 0; i < array.axes.size();) {
    const Reindex* shifted = shifted_at(array, i);
    axes.push_back(shifted == nullptr ? array.axes[i] : shifted->of);
    i += shifted == nullptr ? 1 : shifted->strides.size();
  }
  return axes;
}

const Reindex* shifted_at(const Array& array, std::size_t place) {
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.first == place && !dimension.table) return &dimension;
  }
  return nullptr;
}

bool is_shifted(const Array& array) {
  return std::any_of(array.reindexed.begin(), array.reindexed.end(), [](const Reindex& r) { return !r.table; });
}

bool is_shifted(const Array& array, AxisId axis) {
  for (const Reindex& dimension : array.reindexed) {
    for (std::size_t i = 0; i < dimension.strides.size() && !dimension.table; ++i) {
      if (array.axes[dimension.first + i] == axis) return true;
    }
  }
  return false;
}

std::vector<Pieces> pieces_of(Count size, Count group, Count chunk) {
  const std::int64_t all = size.get(), g = std::min(group.get(), all), s = std::min(chunk.get(), g);
  const std::int64_t groups = all / g, rest = all % g;
  std::vector<Pieces> runs;
  if (g % s == 0) {
    add_run(runs, {0, s, groups * (g / s), s});
  } else if (groups <= g / s) {
    for (std::int64_t i = 0; i < groups; ++i) {
      add_run(runs, {i * g, s, g / s, s});
      add_run(runs, {i * g + g / s * s, s, 1, g % s});
    }
  } else {
    for (std::int64_t j = 0; j < g; j += s) add_run(runs, {j, g, groups, std::min(s, g - j)});
  }
  add_run(runs, {groups * g, s, rest / s, s});
  add_run(runs, {groups * g + rest / s * s, s, 1, rest % s});
  return runs;
}

Count rows_read(const Reindex& dimension, const std::vector<std::vector<Pieces>>& pieces, Count rows) {
  std::vector<Pieces> chosen;
  return narrow(rows_of_runs(dimension, pieces, chosen, rows.get()));
}

Count values_read(const Array& array, const Sizes& sizes) {
  const auto size = [&](AxisId axis) { return sizes[at(axis)]; };
  Count values = shifted_values(array, sizes, size, size);
  for (const AxisId axis : array.axes) values *= is_shifted(array, axis) ? Count(1) : sizes[at(axis)];
  return values;
}

Count rows_by_default(const Diagram& diagram, const Array& array, const Reindex& dimension, const Sizes& sizes) {
  const auto size = [&](AxisId axis) { return sizes[at(axis)]; };
  if (!dimension.table) return std::max(reach(array, dimension, size) + Count(dimension.offset), Count(1));
  Count rows = 1;
  for (const AxisId axis : diagram.arrays[at(*dimension.table)].axes) rows *= size(axis);
  return rows;
}

}  // namespace napkin::internal
