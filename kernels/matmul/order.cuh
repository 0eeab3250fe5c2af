#pragma once
// find_place returns the n-th tile of an order: tiles that are computed at the same time should share rows of A or
// columns of B, so that the L2 loads them once.

#include "kernels/device/divide.cuh"
#include "kernels/matmul/arguments.cuh"

namespace napkin {

struct Place {
  int row, column;
};

/// Returns cell `n` of the Hilbert curve over a square of `side`, counting only cells inside rows x columns. Descends
/// from the square to one cell, skipping the quadrants before the one that holds it; without branches, since the
/// slowest thread of a warp delays all.
__device__ __forceinline__ Place along_hilbert(int n, int rows, int columns, int side) {
  Place at{0, 0};
  bool flip = false,
       swap = false;  // the curve in the current square is turned by 180 degrees, mirrored at the diagonal
#pragma unroll 1
  for (side >>= 1; side > 0; side >>= 1) {
    // Cells inside the rectangle along the curve's first axis (u) and second axis (v), in the half where the curve
    // begins and in the other half.
    const int left_u = (swap ? columns - at.column : rows - at.row),
              left_v = (swap ? rows - at.row : columns - at.column);
    const int low_u = min(side, left_u), high_u = max(0, min(side, left_u - side));
    const int low_v = min(side, left_v), high_v = max(0, min(side, left_v - side));
    const int near_u = flip ? high_u : low_u, far_u = flip ? low_u : high_u;
    const int near_v = flip ? high_v : low_v, far_v = flip ? low_v : high_v;
    const int second = near_u * near_v, third = second + near_u * far_v, fourth = third + far_u * far_v;
    const bool last = n >= fourth, in_far_u = n >= third, in_far_v = n >= second && !last;
    n -= last ? fourth : in_far_u ? third : in_far_v ? second : 0;
    const int u = in_far_u != flip ? side : 0, v = in_far_v != flip ? side : 0;
    at.row += swap ? v : u;
    at.column += swap ? u : v;
    swap = swap == in_far_v;  // mirrored again in the first and the last quadrant
    flip = flip != last;
  }
  return at;
}

template <MatmulOrder Order>
__device__ __forceinline__ Place find_place(const MatmulShape& shape, int index) {
  Place at;
  if constexpr (Order == MatmulOrder::hilbert) {
    at = along_hilbert(index, shape.rows.value, shape.columns, shape.side);
  } else if constexpr (Order == MatmulOrder::grouped) {
    int within;
    const int group = divide(index, shape.group_tiles, within), first = group * shape.group.value;
    const bool last = first + shape.group.value > shape.rows.value;
    at.column = divide(within, last ? shape.last_group : shape.group, at.row);
    at.row += first;
  } else {
    at.column = divide(index, shape.rows, at.row);
  }
  return at;
}

}  // namespace napkin
