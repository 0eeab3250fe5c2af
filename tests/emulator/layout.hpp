#pragma once
// These functions compute the places of a matrix's elements in swizzled shared memory, from a wgmma descriptor, and in
// the registers of a warp. A test compares them with tests/emulator/ptx_layouts.hpp.

#include "tests/emulator/instructions.hpp"

namespace emulator {

/// Returns an address after the swizzle of the copy engine and wgmma, which permutes 16-byte units within `span` bytes
/// (0, 32, 64 or 128) by row.
constexpr u32 swizzled(u32 address, u32 span) {
  const u32 mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
  return address ^ ((address >> 7 & mask) << 4);
}

/// The fields of a matrix descriptor, in bytes.
struct MatrixDescriptor {
  u32 address, leading, stride, span;
  constexpr explicit MatrixDescriptor(u64 bits)
      : address(static_cast<u32>(bits & 0x3FFF) << 4),
        leading(static_cast<u32>(bits >> 16 & 0x3FFF) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3FFF) << 4),
        span(bits >> 62 == 1   ? 128u
             : bits >> 62 == 2 ? 64u
             : bits >> 62 == 3 ? 32u
                               : 0u) {}

  /// Returns the address of eight elements of 16 bits, before the swizzle. K-major: row `row`, elements from 8 `eighth`
  /// on along the contracted axis. Otherwise `row` is along the contracted axis and `eighth` along the other.
  [[nodiscard]] constexpr u32 k_major(u32 row, u32 eighth) const {
    return address + row / 8 * stride + row % 8 * span + eighth * 16;
  }
  [[nodiscard]] constexpr u32 mn_major(u32 row, u32 eighth) const {
    const u32 eighths = span / 16;
    return address + eighth / eighths * leading + row / 8 * stride + row % 8 * span + eighth % eighths * 16;
  }
};

// These functions return the elements of a lane: accumulators d[0..3] of each eight columns, pairs a[0..3] of operand
// A, pairs b[0..1] of B.
constexpr u32 accumulator_row(u32 lane, u32 i) { return lane / 4 + i / 2 % 2 * 8; }
constexpr u32 accumulator_column(u32 lane, u32 i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
constexpr u32 a_row(u32 lane, u32 pair) { return lane / 4 + pair % 2 * 8; }
constexpr u32 a_column(u32 lane, u32 pair) { return pair / 2 * 8 + lane % 4 * 2; }
constexpr u32 b_row(u32 lane, u32 pair) { return pair * 8 + lane % 4 * 2; }
constexpr u32 b_column(u32 lane) { return lane / 4; }
/// Returns a lane's row in an 8 x 8 matrix of ldmatrix and stmatrix; the next function returns the first of its two
/// columns.
constexpr u32 matrix_row_of(u32 lane) { return lane / 4; }
constexpr u32 matrix_column_of(u32 lane) { return lane % 4 * 2; }

}  // namespace emulator
