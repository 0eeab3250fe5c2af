#pragma once
// These functions compute the places of 16-bit elements, written from the PTX ISA (9.0) alone: tests compare the
// emulator's and the kernels' arithmetic with them.

#include <array>
#include <cstdint>

namespace ptx {

struct Place {
  unsigned row, column;
  bool operator==(const Place&) const = default;
};

// ---- "Matrix fragments for mma.m16n8k16 with floating point type", .f16 and .bf16
// -------------------------------------
//   groupID = %laneid >> 2, threadID_in_group = %laneid % 4

/// Returns the place of a_i: row groupID for i in {0, 1, 4, 5}, else groupID + 8; column 2 threadID_in_group + (i & 1),
/// + 8 from i = 4 on.
constexpr Place mma_a(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, member = lane % 4;
  return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, i < 4 ? member * 2 + (i & 1) : member * 2 + (i & 1) + 8};
}
/// Returns the place of b_i: row 2 threadID_in_group + (i & 1), + 8 from i = 2 on; column groupID.
constexpr Place mma_b(unsigned lane, unsigned i) {
  const unsigned member = lane % 4;
  return {i < 2 ? member * 2 + (i & 1) : member * 2 + (i & 1) + 8, lane >> 2};
}
/// Returns the place of c_i: row groupID, + 8 from i = 2 on; column 2 threadID_in_group + (i & 1).
constexpr Place mma_c(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, member = lane % 4;
  return {i < 2 ? group : group + 8, member * 2 + (i & 1)};
}

// ---- "Register fragments and shared memory matrix layouts", wgmma.mma_async.m64nNk16
// ----------------------------------

/// Warp w of a warpgroup has the rows from 16 w on: those of A like a_i of mma, those of D like c_i, each further four
/// accumulators 8 columns on.
constexpr Place wgmma_a(unsigned thread, unsigned i) {
  const Place in_warp = mma_a(thread % 32, i);
  return {thread / 32 * 16 + in_warp.row, in_warp.column};
}
constexpr Place wgmma_d(unsigned thread, unsigned i) {
  const Place in_warp = mma_c(thread % 32, i % 4);
  return {thread / 32 * 16 + in_warp.row, i / 4 * 8 + in_warp.column};
}

// ---- "ldmatrix": .m8n8, .x4
// ------------------------------------------------------------------------------------------

/// Threads 0-7 give the rows of the first matrix, 8-15 of the second, ...: {matrix, row}.
constexpr Place address_of(unsigned thread) { return {thread / 8, thread % 8}; }
/// Returns the place of thread t's element i. Row r of a matrix is in the threads 4 r to 4 r + 3, two elements each.
constexpr Place element_of(unsigned thread, unsigned i) { return {thread / 4, thread % 4 * 2 + i}; }

// ---- "Swizzling modes" of a tensor's shared memory layout
// -------------------------------------------------------------- The 16-byte unit in which unit `unit` of a row of the
// pattern is found. A pattern of the 128-byte mode has eight rows of eight units; of the 64-byte mode, four rows of 128
// bytes, which hold units 0-3 and 4-7; of the 32-byte mode, two.

constexpr std::array<std::array<unsigned, 8>, 8> swizzle_128 = {{{0, 1, 2, 3, 4, 5, 6, 7},
                                                                 {1, 0, 3, 2, 5, 4, 7, 6},
                                                                 {2, 3, 0, 1, 6, 7, 4, 5},
                                                                 {3, 2, 1, 0, 7, 6, 5, 4},
                                                                 {4, 5, 6, 7, 0, 1, 2, 3},
                                                                 {5, 4, 7, 6, 1, 0, 3, 2},
                                                                 {6, 7, 4, 5, 2, 3, 0, 1},
                                                                 {7, 6, 5, 4, 3, 2, 1, 0}}};
constexpr std::array<std::array<unsigned, 8>, 4> swizzle_64 = {
    {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}}};
constexpr std::array<std::array<unsigned, 8>, 2> swizzle_32 = {{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}};

/// Returns a byte's place within the swizzle's pattern, which begins at 0 and repeats.
constexpr unsigned swizzled(unsigned byte, unsigned mode) {
  const unsigned row = byte / 128, unit = byte % 128 / 16, rest = byte % 16;
  const unsigned to = mode == 128  ? swizzle_128[row % 8][unit]
                      : mode == 64 ? swizzle_64[row % 4][unit]
                                   : swizzle_32[row % 2][unit];
  return row * 128 + to * 16 + rest;
}

// ---- "Matrix descriptor" and "Canonical layouts" of wgmma
// --------------------------------------------------------------

/// Bits 13-0 address, 29-16 leading and 45-32 stride byte offset, each >> 4; 51-49 base offset; 63-62 swizzle: 1, 2, 3
/// for 128, 64 and 32 bytes.
constexpr std::uint64_t descriptor(unsigned address, unsigned leading, unsigned stride, unsigned mode) {
  const std::uint64_t word = mode == 128 ? 1 : mode == 64 ? 2 : 3;
  return std::uint64_t{(address & 0x3FFFF) >> 4} | std::uint64_t{(leading & 0x3FFFF) >> 4} << 16 |
         std::uint64_t{(stride & 0x3FFFF) >> 4} << 32 | word << 62;
}

// In units of T = 8 elements (16 bytes), before the swizzle. K-major, of 128, 64 and 32 bytes:
//   ((8, m), (T, 2)) : ((8T | 4T | 2T, SBO), (1, T))
// MN-major:
//   ((T, 8 | 4 | 2, m), (8, k)) : ((1, T, LBO), (8T | 4T | 2T, SBO))
constexpr unsigned k_major(unsigned mn, unsigned k, unsigned stride, unsigned mode) {
  const unsigned row = mode == 128 ? 8 * 16 : mode == 64 ? 4 * 16 : 2 * 16;  // bytes
  return mn % 8 * row + mn / 8 * stride + k % 8 * 2 + k / 8 * 16;
}
constexpr unsigned mn_major(unsigned mn, unsigned k, unsigned leading, unsigned stride, unsigned mode) {
  const unsigned units = mode == 128 ? 8 : mode == 64 ? 4 : 2;
  return mn % 8 * 2 + mn / 8 % units * 16 + mn / 8 / units * leading + k % 8 * units * 16 + k / 8 * stride;
}

}  // namespace ptx
