#include "kernels/reference/matmul_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/base/parallel.hpp"

namespace napkin::internal {
namespace {

/// Adds columns [first, last) of the product's given rows to `out`.
void multiply(const HostMatmul& m, const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t last,
              std::vector<std::vector<double>>& out) {
  const auto width = static_cast<std::size_t>(last - first), from = static_cast<std::size_t>(first);
  std::vector<double> b(width);
  for (std::int64_t k = 0; k < m.sizes.b; ++k) {
    for (std::size_t j = 0; j < width; ++j) {
      const auto column = first + static_cast<std::int64_t>(j);
      const std::size_t at = m.type == DType::e4m3 ? m.b.at(column, k) : m.b.at(k, column);
      b[j] = static_cast<double>(decode(m.b.values[at], m.type)) * m.scale;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double a = static_cast<double>(decode(m.a.values[m.a.at(rows[i], k)], m.type));
      double* row = out[i].data() + from;
      for (std::size_t j = 0; j < width; ++j) row[j] += a * b[j];
    }
  }
}

}  // namespace

std::vector<std::vector<double>> reference_rows(const HostMatmul& m, const std::vector<std::int64_t>& rows,
                                                int threads) {
  std::vector<std::vector<double>> out(rows.size(), std::vector<double>(static_cast<std::size_t>(m.sizes.c), 0.0));
  const std::int64_t parts = std::max(threads, 1), part = (m.sizes.c + parts - 1) / parts;
  parallel_for(static_cast<std::size_t>(parts), static_cast<std::size_t>(parts), [&](std::size_t i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * part, last = std::min(first + part, m.sizes.c);
    if (first < last) multiply(m, rows, first, last, out);
  });
  return out;
}

void compare_row(std::span<const std::uint16_t> row, const std::vector<double>& reference, DType type,
                 Comparison& into) {
  for (std::size_t j = 0; j < reference.size(); ++j) {
    const double right = reference[j],
                 rounded = static_cast<double>(decode(encode(static_cast<float>(right), type), type));
    const double error = std::fabs(static_cast<double>(decode(row[j], type)) - right);
    into.max_error = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(into.max_error, error);
    into.reference_error = std::max(into.reference_error, std::fabs(rounded - right));
  }
  ++into.rows;
}

void count_poison(const HostMatrix& c, std::int64_t columns, Comparison& into) {
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const bool left = c.values[i] == poison, inside = static_cast<std::int64_t>(i) % c.row < columns;
    into.unwritten += inside && left ? 1 : 0;
    if (inside || left) continue;
    if (into.strayed++ == 0) into.beside = "C[" + std::to_string(i) + "]";
  }
}

std::vector<std::int64_t> spread_rows(std::int64_t all, std::int64_t most, std::uint64_t seed) {
  // The step is odd, so that the sample has every place within a tile of 2^n rows.
  const std::int64_t step = std::max<std::int64_t>(1, all / std::max<std::int64_t>(1, most)) | (all > most ? 1 : 0);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = all > most ? static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(step)) : 0; i < all;
       i += step)
    rows.push_back(i);
  return rows;
}

}  // namespace napkin::internal
