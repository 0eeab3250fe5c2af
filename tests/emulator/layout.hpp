#pragma once
// These functions say where the elements of a matrix lie: in swizzled shared memory, as a wgmma descriptor names it,
// and in the registers of a warp. Pure arithmetic, held to tests/emulator/ptx_layouts.hpp.

#include "tests/emulator/instructions.hpp"

namespace emulator {

/// An address as the copy engine and wgmma permute it: 16-byte units within `span` bytes (0, 32, 64 or 128), by row.
constexpr u32 swizzled(u32 address, u32 span) {
  const u32 mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
  return address ^ ((address >> 7 & mask) << 4);
}

/// A descriptor's fields, in bytes.
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

  /// Address of eight elements of 16 bits, before the swizzle. K-major: row `row`, elements 8 `eighth` on of the
  /// contracted axis. Otherwise row `row` of the contracted axis, and the eighth along the other.
  [[nodiscard]] constexpr u32 k_major(u32 row, u32 eighth) const {
    return address + row / 8 * stride + row % 8 * span + eighth * 16;
  }
  [[nodiscard]] constexpr u32 mn_major(u32 row, u32 eighth) const {
    const u32 eighths = span / 16;
    return address + eighth / eighths * leading + row / 8 * stride + row % 8 * span + eighth % eighths * 16;
  }
};

// What a lane holds: accumulators d[0..3] of each eight columns, operand A's pairs a[0..3], B's pairs b[0..1].
constexpr u32 accumulator_row(u32 lane, u32 i) { return lane / 4 + i / 2 % 2 * 8; }
constexpr u32 accumulator_column(u32 lane, u32 i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
constexpr u32 a_row(u32 lane, u32 pair) { return lane / 4 + pair % 2 * 8; }
constexpr u32 a_column(u32 lane, u32 pair) { return pair / 2 * 8 + lane % 4 * 2; }
constexpr u32 b_row(u32 lane, u32 pair) { return pair * 8 + lane % 4 * 2; }
constexpr u32 b_column(u32 lane) { return lane / 4; }
/// Of an 8 x 8 matrix, as ldmatrix and stmatrix have it: row, and the first of two columns.
constexpr u32 matrix_row_of(u32 lane) { return lane / 4; }
constexpr u32 matrix_column_of(u32 lane) { return lane % 4 * 2; }

}  // namespace emulator
