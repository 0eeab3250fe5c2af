#pragma once
// MatmulConfig and MatmulArguments hold the parameters of the matrix-product kernel, a tile of 128 x 256 and the
// address of A: plain structs that host and device code include.

#include "kernels/device/tensor_map.cuh"

namespace napkin {

/// Orders of tiles. grid: one block a tile, row after row. The others launch as many blocks, n, as the device holds at
/// once, each for every n-th tile; grouped: groups of rows, column by column within one; hilbert: along a Hilbert
/// curve.
enum class MatmulOrder { grid, grouped, hilbert };

struct MatmulConfig {
  int a, c, b, warpgroups, stages, cluster;
  MatmulOrder order;
  bool bf16;
  bool ragged;  // true if the columns of C are no multiple of 8: threads store the last ones, not the copy engine
  bool cycles;  // true if each SM notes its first block's start and its last one's end
  int a_offset, b_offset, c_offset, barriers_offset;  // offsets in shared memory, bytes; c: the staged result
  int producer_registers, consumer_registers;
  // true if several blocks divide a tile's chunks: the last to finish adds up their parts, and the result is not staged
  bool split;
  bool fp8;     // true if A and B are e4m3: `b` counts pairs, 16 bits like other elements; `bf16` is of C
  bool merges;  // fp8: true if chunks are summed outside of the tensor cores, which keep about 14 bits of a running sum
};

/// Sizes of a product in tiles. A tile here is a cluster's: `cluster` tiles, each of one block, below each other.
struct MatmulShape {
  int tiles, chunks;                       // tiles in all; ceil(b / tile b)
  Divisor rows;                            // tiles down
  int columns;                             // tiles across
  int side;                                // hilbert: power of two, at least rows and columns
  Divisor group, group_tiles, last_group;  // grouped: rows of a group, tiles of it, rows of the last one
};

/// Parts that a tile's chunks are divided into, each a block's work: 40 chunks in parts of 12 are four parts, the last
/// of 4.
struct MatmulParts {
  Divisor tiles;      // tiles of a part
  int count, chunks;  // parts of a tile; chunks of a part
  // [tile, block of the cluster, part, warp]: sums of its threads: four of each thread, then four more of each
  float* sums;
  // [tile, block of the cluster, warp] number of parts that are complete; zero before a launch and after it
  int* arrived;
};

struct MatmulArguments {
  TensorMap a_map, b_map, c_map;
  MatmulShape shape;
  void* c;
  long long c_row;                 // elements from row to row
  int c_rows, c_columns;           // rows and columns of C
  unsigned long long* cycles;      // first start and last end, by SM
  MatmulParts parts;               // parts, with `split`; shape.tiles then counts every part's tiles
  const float *a_scale, *b_scale;  // fp8: scales of A and B; null: 1
};

static_assert(sizeof(MatmulConfig) == 60 && sizeof(MatmulShape) == 64 && sizeof(MatmulParts) == 40 &&
              sizeof(MatmulArguments) == 576);

}  // namespace napkin
