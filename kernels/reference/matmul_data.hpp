#pragma once
// MatmulData holds inputs and output of one matrix product on the device, made for a measurement or a test: fresh
// random inputs, a poisoned output, rows at multiples of 16 bytes. Of e4m3 B lies as [c, b], and A and B have a scale
// each.

#include <cstdint>

#include "kernels/plans/matmul.hpp"
#include "kernels/reference/matmul_reference.hpp"
#include "kernels/runtime/banded_memory.hpp"
#include "kernels/runtime/measure.hpp"

namespace napkin::internal {

struct MatmulLayout {
  MatmulSizes sizes;
  DType type = DType::bf16;
  std::int64_t gap = 0;  ///< unused elements between rows, beside those up to a multiple of 16 bytes
  double deviation = 1;  ///< standard deviation of the inputs
  std::uint64_t seed = 1;
};

/// The scales of A and of B: 1, unless the type is e4m3.
struct MatmulScales {
  float a = 1, b = 1;
};
[[nodiscard]] MatmulScales scales_of(const MatmulLayout& layout);

/// Returns the elements from row to row of a matrix with that many columns.
[[nodiscard]] std::int64_t row_of(const MatmulLayout& layout, std::int64_t columns, DType type);

class MatmulData {
 public:
  /// Allocates and fills. Throws CudaFailure.
  MatmulData(Runtime& runtime, const MatmulLayout& layout);

  /// Returns the call, with memory for the parts of a placement that has any.
  [[nodiscard]] MatmulCall call(const LaunchScratch& scratch = {}) const;
  /// Returns the call that also writes cycles (measure_cycles()).
  [[nodiscard]] MatmulCall counting_call(const LaunchScratch& scratch = {}) const;
  [[nodiscard]] const DeviceMemory& spans() const { return spans_; }

  /// Sets every output element to a NaN that no kernel writes.
  void poison() const { c_.memory.set(device_, poison_byte); }
  [[nodiscard]] HostMatmul inputs() const;
  /// Returns a row of the output as it is now, without the gap after it; output() returns all rows with their gaps.
  [[nodiscard]] std::vector<std::uint16_t> row(std::int64_t index) const;
  [[nodiscard]] HostMatrix output() const;
  /// Returns an element outside of C, its parts' sums or their counters that was written; empty if there is none.
  [[nodiscard]] std::string beside() const;

 private:
  struct Matrix {
    BandedMemory memory;
    MatrixView view;
    std::int64_t count = 0;  ///< elements, gaps included
    DType type = DType::bf16;
  };
  [[nodiscard]] Matrix make(std::int64_t rows, std::int64_t columns, DType type) const;
  [[nodiscard]] HostMatrix fetch(const Matrix& matrix) const;

  Device device_;
  MatmulLayout layout_;
  Matrix a_, b_, c_;
  DeviceMemory spans_, scales_;
  mutable std::vector<BandedMemory> counters_, sums_;  // the last is the largest; launches may still use the others
};

}  // namespace napkin::internal
