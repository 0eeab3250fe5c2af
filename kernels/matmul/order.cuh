#pragma once
// Which tile comes when: neighbours in time should share rows of A or columns of B, so that they meet in the L2.

#include "kernels/device/divide.cuh"
#include "kernels/matmul/arguments.cuh"

namespace napkin {

struct Place {
  int row, column;
};

// Cell `n` of the Hilbert curve over a square of `side`, counting only cells inside rows x columns: from the whole square
// down to one cell, skip the quadrants before the one that holds it.
__device__ __forceinline__ Place along_hilbert(int n, int rows, int columns, int side) {
  Place at{0, 0};
  int flip = 0, swap = 0;  // how the curve lies in the current square: turned half round, mirrored at the diagonal
#pragma unroll 1
  for (side >>= 1; side > 0; side >>= 1) {
    Place corner;
    int quadrant = 0;
#pragma unroll 1
    for (;; ++quadrant) {
      const int u = quadrant >> 1 ^ flip, v = ((quadrant ^ quadrant >> 1) & 1) ^ flip;
      corner = {at.row + (swap ? v : u) * side, at.column + (swap ? u : v) * side};
      const int inside = max(0, min(side, rows - corner.row)) * max(0, min(side, columns - corner.column));
      if (n < inside) break;
      n -= inside;
    }
    at = corner;
    swap ^= quadrant == 0 || quadrant == 3;
    flip ^= quadrant == 3;
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
