#pragma once
// reference_row computes one row of attention on the CPU in float64, by code that shares nothing with the kernels:
// their results are compared with it.

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/dtype.hpp"
#include "model/diagram/problem.hpp"

namespace napkin::internal {

struct AttentionSizes {
  std::int64_t b = 1, h = 1, g = 1, q = 1, x = 1, d = 64, dv = 64;  ///< packed: q and x are the longest
};

/// Numbers of 16 bits (or of 8, each in the low byte) on the host, with the strides of their rows (batch, head, row).
struct HostArray {
  std::vector<std::uint16_t> values;
  std::int64_t batch = 0, head = 0, row = 0;  ///< strides in elements
  [[nodiscard]] std::size_t at(std::int64_t b, std::int64_t head_index, std::int64_t r) const {
    return static_cast<std::size_t>(b * batch + head_index * head + r * row);
  }
};

/// The scales of e4m3 numbers: strides in scales, `block` between groups of 128 rows.
struct HostScales {
  std::vector<float> values;  ///< empty: all are 1
  std::int64_t batch = 0, head = 0, block = 0;
  [[nodiscard]] double at(std::int64_t b, std::int64_t head_index, std::int64_t row) const {
    if (values.empty()) return 1;
    return static_cast<double>(values[static_cast<std::size_t>(b * batch + head_index * head + row / 128 * block)]);
  }
};

struct HostAttention {
  AttentionSizes sizes;
  Mask mask;
  DType type = DType::bf16;  ///< type of the inputs, and of the output except for e4m3: output_type()
  /// Keys whose outputs are summed in fp16 at a time, with scores in fp16 too: as in napkin_fp8_sm90. 0: the type's
  /// formula.
  std::int64_t summed_keys = 0;
  double scale = 1;
  HostArray q, k, v, o;
  HostScales q_scale, k_scale, v_scale;          ///< scales by sequence of the batch
  std::vector<float> log_sum_exp;                ///< empty: not wanted
  std::vector<std::int32_t> q_starts, x_starts;  ///< packed: b + 1 each; else empty
  std::string beside;                            ///< element outside of an array that was written; empty: none
};

/// Returns the output's type: bf16 for inputs of fewer bits.
[[nodiscard]] constexpr DType output_type(DType inputs) { return inputs == DType::e4m3 ? DType::bf16 : inputs; }

/// Converts a bf16, f16 or e4m3 number.
[[nodiscard]] float decode(std::uint16_t bits, DType type);
/// Rounds to nearest even; e4m3 numbers beyond 448 become 448.
[[nodiscard]] std::uint16_t encode(float value, DType type);

struct ReferenceRow {
  std::vector<double> o;
  double log_sum_exp = 0;  ///< log-sum-exp; -infinity if the row sees no key
  double rounding = 0;     ///< error of the log-sum-exp where scores are rounded: two roundings of the largest
};

/// Computes a query of a query head (0 to h g - 1), counted within its sequence.
[[nodiscard]] ReferenceRow reference_row(const HostAttention& a, std::int64_t batch, std::int64_t head,
                                         std::int64_t query);

/// Computes the row like a framework's unfused attention: scores, probabilities and output rounded to the type. For
/// e4m3: scores summed as by tensor cores (e4m3_sum), exponentials (the row's largest is 1) rounded to e4m3 and divided
/// by their sum after the product, the output rounded to its own type.
[[nodiscard]] ReferenceRow unfused_row(const HostAttention& a, std::int64_t batch, std::int64_t head,
                                       std::int64_t query);

/// Returns the log-sum-exp that a kernel must have: float64's; for e4m3 the formula's, as the tensor cores' sums are
/// known exactly and differ from float64's by up to 0.03.
[[nodiscard]] inline double log_sum_exp_to_hold(DType type, const ReferenceRow& reference,
                                                const ReferenceRow& unfused) {
  return type == DType::e4m3 ? unfused.log_sum_exp : reference.log_sum_exp;
}

/// Returns the larger of two errors; NaN counts as infinite.
[[nodiscard]] double larger_error(double most, double error);
/// Returns the error of a log-sum-exp: the difference, divided by |reference| / 100 for references beyond 100; 0 if
/// both are -infinity.
[[nodiscard]] double lse_difference(double measured, double reference);

/// Returns a rounding of the largest result in its type: half a step between numbers as large as it.
[[nodiscard]] double rounding_of(double largest, DType type);

/// Returns the error allowed to a kernel, 2 e + r, for e the error of the unfused formula. The factor 2 is for another
/// order of sums; r, a rounding, for comparisons of one or two rows, in which the formula may happen to round every
/// number well.
[[nodiscard]] constexpr double allowed_error(double unfused, double rounding = 0) {
  return 2 * unfused + rounding + 1e-5;
}

struct Comparison {
  double max_error = 0;        ///< largest |o - reference| over the rows compared
  double reference_error = 0;  ///< largest error of unfused_row
  double largest = 0;          ///< largest |reference|
  double rounding = 0;         ///< error allowed beside: rounding_of(largest) for few rows
  double lse_error = 0;        ///< error against log_sum_exp_to_hold()
  std::int64_t rows = 0;       ///< rows compared
  std::int64_t unwritten = 0;  ///< output elements, of all, that still hold the poison
  std::int64_t strayed = 0;    ///< elements between and around the rows that lost the poison
  std::string beside;          ///< first element written between rows or outside of an array: "O[1040]"
  [[nodiscard]] bool good() const {
    return rows > 0 && max_error <= allowed_error(reference_error, rounding) && lse_error <= 1e-3 && unwritten == 0 &&
           strayed == 0 && beside.empty();
  }
};

constexpr std::uint16_t poison = 0xFFFF;  // a NaN that no kernel produces
constexpr std::uint8_t poison_byte = 0xFF;
constexpr std::uint32_t lse_poison = 0xFFFFFFFF;

/// Compares up to `most` rows, evenly spread from a random start, and all elements with the poison.
[[nodiscard]] Comparison compare(const HostAttention& a, std::int64_t most, std::uint64_t seed);

}  // namespace napkin::internal
