#pragma once
// A Problem gives a diagram its numbers: the size of each axis, the mask, the element type. For attention: q=4096,
// x=4096, d=128, causal, bf16.

#include <string>
#include <utility>
#include <vector>

#include "model/diagram/diagram.hpp"
#include "model/diagram/mask.hpp"

namespace napkin::internal {

/// The columns that a row, or any row of a range, sees: [first, last). Empty where first >= last.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] std::int64_t size() const { return last > first ? last - first : 0; }
  bool operator==(const Span&) const = default;
};

/// Returns the columns visible to at least one of the rows [row_first, row_last), clipped to [0, columns).
[[nodiscard]] Span visible(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows,
                           std::int64_t columns);
/// Returns the rows that see at least one of the columns [column_first, column_last).
[[nodiscard]] Span visible_rows(const Mask& mask, std::int64_t column_first, std::int64_t column_last,
                                std::int64_t rows, std::int64_t columns);
/// The visible spans of many ranges of a plane, computed faster than by visible(), or by visible_rows() for
/// `of_columns`.
class VisibleSpans {
 public:
  VisibleSpans(const Mask& mask, std::int64_t rows, std::int64_t columns, bool of_columns);
  [[nodiscard]] Span operator()(std::int64_t first, std::int64_t last) const {
    if (!narrow_)
      return of_columns_ ? visible_rows(mask_, first, last, rows_, columns_)
                         : visible(mask_, first, last, rows_, columns_);
    first = first > 0 ? first : 0;
    last = last < members_ ? last : members_;
    std::int64_t from = first + below_, to = last + above_;
    from = from > 0 ? from : 0;
    to = to < seen_ ? to : seen_;
    return first < last && below_ <= above_ && from < to ? Span{from, to} : Span{};
  }

 private:
  Mask mask_;
  std::int64_t rows_, columns_, members_, seen_;
  bool of_columns_, narrow_;
  std::int64_t below_ = 0, above_ = 0;
};

/// Returns the unmasked (row, column) pairs, exact. Throws Overflow.
[[nodiscard]] Count visible_pairs(const Mask& mask, std::int64_t rows, std::int64_t columns);

using Sizes = std::vector<Count>;  ///< The size of each axis, by AxisId.

/// The sequences of a packed batch. The mask applies to each by itself.
struct Packing {
  AxisId batch = -1, rows = -1, columns = -1;
  std::vector<SequenceLengths> sequences;  ///< empty: all are as long as the sizes say
  bool operator==(const Packing&) const = default;
};

struct Problem {
  Sizes sizes;  ///< sizes; for a packed batch those of the longest sequence
  Mask mask;
  DType dtype = DType::bf16;
  Packing packing = {};
};

/// Resolves the sizes of a diagram's axes from "name -> number" pairs, with defaults. Throws Error at `where` (for
/// example "--shape") for missing, unknown, repeated, zero or negative sizes.
[[nodiscard]] Sizes resolve_sizes(const Diagram& diagram,
                                  const std::vector<std::pair<std::string, std::int64_t>>& given,
                                  const std::string& where);

/// Returns the number that a scale stands for at these sizes.
[[nodiscard]] double value_of(const Scale& scale, const Sizes& sizes);

/// Returns the distinct (row, column) axes by which operations are masked; the question's mask applies to each pair.
[[nodiscard]] std::vector<std::array<AxisId, 2>> mask_axes(const Diagram& diagram);

/// Returns the values of an array at full size, as it is stored.
[[nodiscard]] Values volume(const Array& array, const Sizes& sizes);

}  // namespace napkin::internal
