#include "model/diagram/problem.hpp"

#include <algorithm>
#include <cmath>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

__extension__ typedef __int128 Wide;  // sums and products of two 64-bit sizes do not wrap in it

/// Bound of sizes and masks below which sums of a few of them fit 64 bits.
constexpr std::int64_t few_bits = std::int64_t{1} << 59;

template <class Int>
constexpr Int unbounded = Int{1} << (sizeof(Int) > sizeof(std::int64_t) ? 100 : 61);

/// The columns that row i sees: from i + below to i + above, both included, and for all rows a prefix, [0, all).
template <class Int>
struct Band {
  Int below, above;
  std::int64_t all = 0;
};

template <class Int>
Band<Int> band_of(const Mask& mask, std::int64_t rows, std::int64_t columns) {
  const Int shift = Int{columns} - rows;
  switch (mask.kind) {
    case Mask::Kind::none: return {-unbounded<Int>, unbounded<Int>};
    case Mask::Kind::causal: return {-unbounded<Int>, shift};
    case Mask::Kind::window: return {shift - mask.left, shift + mask.right};
    case Mask::Kind::prefix: return {-unbounded<Int>, shift, std::clamp<std::int64_t>(mask.left, 0, columns)};
  }
  return {};
}

/// Returns the indices of [0, count) that are in the band of at least one index of [first, last). They are a range,
/// since bands of neighbours overlap.
template <class Int>
Span seen_by(const Band<Int>& band, std::int64_t first, std::int64_t last, std::int64_t count) {
  if (first >= last || band.below > band.above) return {};
  const Int from = std::clamp<Int>(first + band.below, 0, count);
  const Int to = std::max<Int>(std::clamp<Int>(Int{last} + band.above, 0, count), band.all);
  if (from >= to) return {};
  return {static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
}

/// Returns true if sums of a few sizes and of the mask's ends fit 64 bits.
bool fits_few_bits(const Mask& mask, std::int64_t rows, std::int64_t columns) {
  return rows < few_bits && columns < few_bits && mask.left < few_bits && mask.right < few_bits &&
         mask.left > -few_bits && mask.right > -few_bits;
}

template <class Int>
Span rows_seen_by(const Mask& mask, std::int64_t first, std::int64_t last, std::int64_t rows, std::int64_t columns) {
  const Band<Int> band =
      band_of<Int>(mask, rows, columns);  // i + below <= j <= i + above  <=>  j - above <= i <= j - below
  if (first < std::min(last, band.all)) return {0, rows};
  return seen_by<Int>({-band.above, -band.below}, first, last, rows);
}

/// Returns the sum over i in [0, rows) of clamp(i + c, 0, columns).
Wide clamped_sum(Wide c, Wide rows, Wide columns) {
  const Wide rises = std::clamp<Wide>(-c, 0, rows);              // first i with i + c > 0, or so
  const Wide flat = std::clamp<Wide>(columns - c, rises, rows);  // first i with i + c >= columns
  const Wide n = flat - rises;
  const Wide ramp = n == 0 ? 0 : n * (rises + c) + n * (n - 1) / 2;
  return ramp + (rows - flat) * columns;
}

/// Returns true if the axis is the size of a dimension that others read and of nothing else.
bool is_read_by_others(const Diagram& diagram, AxisId axis) {
  bool found = false;
  for (const Array& array : diagram.arrays) {
    if (array.has(axis)) return false;
    for (const Reindex& dimension : array.reindexed) found = found || dimension.of == axis;
  }
  return found;
}

Count rows_needed(const Diagram& diagram, AxisId axis, const Sizes& sizes) {
  Count rows = 1;
  for (const Array& array : diagram.arrays) {
    for (const Reindex& dimension : array.reindexed) {
      if (dimension.of == axis) rows = std::max(rows, rows_by_default(diagram, array, dimension, sizes));
    }
  }
  return rows;
}

/// Names the axes of arrays, for messages: "of Q[q,d], K[x,d]: scores of queries and keys".
std::string described_axes(const Diagram& diagram) {
  std::vector<std::string> inputs;
  for (const ArrayId input : diagram.inputs) {
    const Array& array = diagram.arrays[static_cast<std::size_t>(input)];
    std::vector<std::string> axes;
    for (const AxisId axis : array.axes) axes.push_back(diagram.axes[static_cast<std::size_t>(axis)].name);
    inputs.push_back(array.name + "[" + joined(axes, ",") + "]");
  }
  return "of " + joined(inputs) + (diagram.about.empty() ? "" : ": " + diagram.about);
}

}  // namespace

Span visible(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows, std::int64_t columns) {
  const std::int64_t first = std::max<std::int64_t>(row_first, 0), last = std::min(row_last, rows);
  return fits_few_bits(mask, rows, columns) ? seen_by(band_of<std::int64_t>(mask, rows, columns), first, last, columns)
                                            : seen_by(band_of<Wide>(mask, rows, columns), first, last, columns);
}

Span visible_rows(const Mask& mask, std::int64_t column_first, std::int64_t column_last, std::int64_t rows,
                  std::int64_t columns) {
  const std::int64_t first = std::max<std::int64_t>(column_first, 0), last = std::min(column_last, columns);
  return fits_few_bits(mask, rows, columns) ? rows_seen_by<std::int64_t>(mask, first, last, rows, columns)
                                            : rows_seen_by<Wide>(mask, first, last, rows, columns);
}

VisibleSpans::VisibleSpans(const Mask& mask, std::int64_t rows, std::int64_t columns, bool of_columns)
    : mask_(mask),
      rows_(rows),
      columns_(columns),
      members_(of_columns ? columns : rows),
      seen_(of_columns ? rows : columns),
      of_columns_(of_columns),
      narrow_(mask.kind != Mask::Kind::prefix && fits_few_bits(mask, rows, columns)) {
  if (!narrow_) return;
  const auto band = band_of<std::int64_t>(mask, rows, columns);
  below_ = of_columns ? -band.above : band.below;
  above_ = of_columns ? -band.below : band.above;
}

Count visible_pairs(const Mask& mask, std::int64_t rows, std::int64_t columns) {
  if (mask.kind == Mask::Kind::none) return Count(rows) * Count(columns);
  const Band<Wide> band = band_of<Wide>(mask, rows, columns);
  if (band.below > band.above) return 0;
  if (band.all > 0) {  // rows that see the prefix alone, and causal ones below them
    const std::int64_t flat = std::clamp<std::int64_t>(band.all - columns + rows, 0, rows);
    return Count(flat) * Count(band.all) + visible_pairs({Mask::Kind::causal, 0, 0}, rows - flat, columns);
  }
  const Wide pairs = clamped_sum(band.above + 1, rows, columns) -
                     (band.below == -unbounded<Wide> ? 0 : clamped_sum(band.below, rows, columns));
  if (pairs > INT64_MAX) throw Overflow("the number of visible (row, column) pairs");
  return static_cast<std::int64_t>(pairs);
}

Sizes resolve_sizes(const Diagram& diagram, const std::vector<std::pair<std::string, std::int64_t>>& given,
                    const std::string& where) {
  std::vector<std::optional<std::int64_t>> known(diagram.axes.size());
  for (const auto& [name, size] : given) {
    const auto axis = diagram.find_axis(name);
    if (!axis) {
      throw Error(where, "no axis '" + name + "' in " + diagram.name,
                  one_of(name, diagram.axis_names()) + " " + described_axes(diagram));
    }
    auto& slot = known[static_cast<std::size_t>(*axis)];
    if (slot) throw Error(where, "axis '" + name + "' stands twice", "each axis once");
    if (size < 1) throw Error(where, name + "=" + std::to_string(size), "a whole number of at least 1");
    slot = size;
  }
  Sizes sizes;
  std::vector<std::string> missing;
  std::vector<AxisId> by_reach;
  for (std::size_t i = 0; i < known.size(); ++i) {
    // check() made sure that defaults end; an axis that defaults to another takes that one's resolved size.
    std::size_t at = i;
    while (!known[at] && std::holds_alternative<AxisId>(diagram.axes[at].fallback)) {
      at = static_cast<std::size_t>(std::get<AxisId>(diagram.axes[at].fallback));
    }
    if (!known[at] && std::holds_alternative<std::int64_t>(diagram.axes[at].fallback)) {
      known[at] = std::get<std::int64_t>(diagram.axes[at].fallback);
    }
    if (!known[at] && at == i && is_read_by_others(diagram, static_cast<AxisId>(i)))
      by_reach.push_back(static_cast<AxisId>(i));
    else if (!known[at] && at == i)
      missing.push_back(diagram.axes[i].name);
    sizes.push_back(known[at].value_or(1));
  }
  if (!missing.empty()) {
    throw Error(where,
                (missing.size() == 1 ? "axis " : "axes ") + joined(missing) + " of " + diagram.name +
                    (missing.size() == 1 ? " has no size" : " have no sizes"),
                "give " + joined(missing, "=N,") + "=N");
  }
  for (const AxisId axis : by_reach) sizes[static_cast<std::size_t>(axis)] = rows_needed(diagram, axis, sizes);
  return sizes;
}

double value_of(const Scale& scale, const Sizes& sizes) {
  if (!scale.axis) return scale.factor;
  const auto base = static_cast<double>(sizes[static_cast<std::size_t>(*scale.axis)]);
  return scale.factor * std::pow(base, static_cast<double>(scale.numerator) / scale.denominator);
}

std::vector<std::array<AxisId, 2>> mask_axes(const Diagram& diagram) {
  std::vector<std::array<AxisId, 2>> pairs;
  for (const Operation& op : diagram.operations) {
    if (op.mask && std::find(pairs.begin(), pairs.end(), *op.mask) == pairs.end()) pairs.push_back(*op.mask);
  }
  return pairs;
}

Values volume(const Array& array, const Sizes& sizes) {
  Count product = 1;
  try {
    for (AxisId a : stored_axes(array)) product *= sizes[static_cast<std::size_t>(a)];
  } catch (const Overflow&) {
    throw Overflow("the number of values of array " + array.name);
  }
  return Values(product);
}

}  // namespace napkin::internal
