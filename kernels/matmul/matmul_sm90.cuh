#pragma once
// This kernel multiplies matrices on Hopper, C[a, c] = A[a, b] B[b, c]: one thread moves boxes with the copy engine; 1
// to 3 consumer warpgroups divide a tile's rows and multiply in steps of 64. Blocks persist, so that the next tile's
// loads run while this one's result is stored. Knobs are those of matmul_sm90.yaml; offsets and register counts come
// from the plan.

#include "kernels/device/clock.cuh"
#include "kernels/device/fragment.cuh"
#include "kernels/device/global.cuh"
#include "kernels/device/matrix.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma_e4m3.cuh"
#include "kernels/matmul/order.cuh"

namespace napkin {

template <MatmulConfig C>
struct Matmul {
  static constexpr int rows = C.a / C.warpgroups, steps = rows / 64;  // rows of a consumer warpgroup
  static constexpr int b_span = swizzle_columns(C.b), c_span = swizzle_columns(C.c);
  static constexpr u32 a_bytes = C.a * C.b * 2, b_bytes = C.b * C.c * 2;
  static constexpr int accumulators = C.c / 2;  // registers a thread and step
  using Accumulators = float[steps][accumulators];
  static_assert(rows * C.warpgroups == C.a && steps * 64 == rows);
  static_assert(C.stages >= 2);  // a stage is released when the next one's products have been issued

  /// Columns of a staged part of the result: a warp stores parts of 16 rows and 64 columns through a ring of buffers.
  static constexpr int part = C.c < 64 ? C.c : 64, buffers = 2;
  static constexpr u32 part_bytes = 16 * part * 2;

  static constexpr int full = 0, empty = C.stages;  // barriers by stage

  u32 shared;
  const MatmulArguments& arguments;
  u32 wg;  // consumer warpgroup

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }

  __device__ __forceinline__ void initialise() const {
    prefetch(arguments.a_map);
    prefetch(arguments.b_map);
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(barrier(full + s), 1);
      barrier_init(barrier(empty + s), C.warpgroups * C.cluster);
    }
    barrier_init_fence();
  }

  static __device__ __forceinline__ int first_tile() { return blockIdx.x / C.cluster; }
  static __device__ __forceinline__ int next_tile(int index) { return index + grid_blocks() / C.cluster; }

  /// Returns the part that an index names, and leaves the tile's number in `index`; without `split` a tile has one
  /// part.
  __device__ __forceinline__ int part_of(int& index) const {
    if constexpr (!C.split) return 0;
    return divide(index, arguments.parts.tiles, index);
  }

  /// Returns the first of the chunks that a block adds up: all of the tile's, or those of its part.
  __device__ __forceinline__ int first_chunk(int index) const { return part_of(index) * arguments.parts.chunks; }
  __device__ __forceinline__ int chunks_of(int index) const {
    if constexpr (!C.split) return arguments.shape.chunks;
    return min(arguments.parts.chunks, arguments.shape.chunks - first_chunk(index));
  }

  /// Returns the first row and column of this block's share of that tile.
  __device__ __forceinline__ Place corner(int index) const {
    part_of(index);
    const Place tile = find_place<C.order>(arguments.shape, index);
    const u32 rank = C.cluster > 1 ? cluster_rank() : 0;
    return {(tile.row * C.cluster + static_cast<int>(rank)) * C.a, tile.column * C.c};
  }

  // ---- producer: one thread ----------------------------------------------------------------------------------------

  /// Loads this block's own A and, for all blocks of a cluster, its share of B's rows. In e4m3 B's rows are C's
  /// columns, since tensor cores take it only with the contracted axis innermost.
  __device__ __forceinline__ void load_chunk(u32 stage, int row, int column, int k) const {
    constexpr int share = (C.fp8 ? C.c : C.b) / C.cluster;
    const u32 rank = C.cluster > 1 ? cluster_rank() : 0, ready = barrier(full + stage);
    barrier_expect(ready, a_bytes + b_bytes);
    const u32 a = shared + C.a_offset + stage * a_bytes;
#pragma unroll
    for (int i = 0; i < C.b; i += b_span) load_box(a + i * C.a * 2, arguments.a_map, ready, k + i, row);
    const u32 b = shared + C.b_offset + stage * b_bytes + rank * (share * (C.fp8 ? b_span : c_span) * 2);
    if constexpr (C.fp8) {
      const int first = column + static_cast<int>(rank) * share;
#pragma unroll
      for (int i = 0; i < C.b; i += b_span) {
        if constexpr (C.cluster > 1) {
          load_box_multicast(b + i * C.c * 2, arguments.b_map, ready, (1 << C.cluster) - 1, k + i, first);
        } else {
          load_box(b + i * C.c * 2, arguments.b_map, ready, k + i, first);
        }
      }
      return;
    }
    const int first = k + static_cast<int>(rank) * share;
#pragma unroll 1
    for (int i = 0; i < C.c; i += c_span) {
      if constexpr (C.cluster > 1) {
        load_box_multicast(b + i * C.b * 2, arguments.b_map, ready, (1 << C.cluster) - 1, column + i, first);
      } else {
        load_box(b + i * C.b * 2, arguments.b_map, ready, column + i, first);
      }
    }
  }

  __device__ __forceinline__ void produce() const {
    Ring<C.stages> ring;
    for (int index = first_tile(); index < arguments.shape.tiles; index = next_tile(index)) {
      const Place at = corner(index);
      const int begin = C.split ? first_chunk(index) * C.b : 0;
#pragma unroll 1
      for (int chunk = 0; chunk < chunks_of(index); ++chunk) {
        barrier_wait(barrier(empty + ring.stage), ring.parity ^ 1);
        load_chunk(ring.stage, at.row, at.column, begin + chunk * C.b);
        ring.advance();
      }
    }
  }

  // ---- consumers ---------------------------------------------------------------------------------------------------

  /// Frees the stage for every block that writes to it. (Reads threadIdx.x itself: warpgroup_thread() gives other
  /// code.)
  __device__ __forceinline__ void release(u32 stage) const {
    if constexpr (C.cluster > 1) {
      if (threadIdx.x % warpgroup_threads < C.cluster)
        barrier_arrive_remote(barrier(empty + stage), threadIdx.x % warpgroup_threads);
    } else {
      if (threadIdx.x % warpgroup_threads == 0) barrier_arrive(barrier(empty + stage));
    }
  }

  /// Issues and commits the products of one chunk.
  template <bool Accumulate>
  __device__ __forceinline__ void issue(Accumulators& d, u32 stage) const {
    const u64 a =
        descriptor<b_span>(matrix_address(shared + C.a_offset + stage * a_bytes + wg * (rows * b_span * 2)), 0);
    const u32 b_matrix = matrix_address(shared + C.b_offset + stage * b_bytes);
    const u64 b = C.fp8 ? descriptor<b_span>(b_matrix, 0)
                        : descriptor<c_span>(b_matrix, descriptor_offset<C.b, c_span>(0, c_span));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.b; k += 16) {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        const u64 rows_of_a = a + descriptor_offset<C.a, b_span>(64 * s, k);
        if constexpr (C.fp8) {
          wgmma_e4m3<C.c>(d[s], rows_of_a, b + descriptor_offset<C.c, b_span>(0, k), Accumulate || k != 0);
        } else {
          wgmma<C.c, C.bf16, 1>(d[s], rows_of_a, b + descriptor_offset<C.b, c_span>(k, 0), Accumulate || k != 0);
        }
      }
    }
    wgmma_commit();
  }

  /// Stores rows of C by the copy engine, which clips ragged ends. Each warp stores its own: no barrier among them.
  __device__ __forceinline__ void store(const Accumulators& d, int row, int column) const {
    const u32 lane = threadIdx.x % warp_threads, warp = threadIdx.x % warpgroup_threads / warp_threads;
    const u32 base = shared + C.c_offset + (wg * 4 + warp) * (buffers * part_bytes);
    int count = 0;
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const int first = row + static_cast<int>(wg * rows + s * 64 + warp * 16);
#pragma unroll
      for (int c = 0; c < C.c; c += part, ++count) {
        const u32 to = base + count % buffers * part_bytes;
        if (count == 0 && lane == 0) store_wait_read();  // the last tile's
        if (count >= buffers && lane == 0) store_wait_read<buffers - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < part && c + i < C.c; i += 16) {
          const float* v = d[s] + (c + i) / 2;
          store_matrices(to + swizzled<16, c_span>(matrix_row(lane), i + matrix_column(lane)), pack<C.bf16>(v[0], v[1]),
                         pack<C.bf16>(v[2], v[3]), pack<C.bf16>(v[4], v[5]), pack<C.bf16>(v[6], v[7]));
        }
        async_fence();
        __syncwarp();
        if (lane == 0) {
#pragma unroll
          for (int i = 0; i < part && c + i < C.c; i += c_span) {
            store_box(to + i * 16 * 2, arguments.c_map, column + c + i, first);
          }
          store_commit();
        }
      }
    }
  }

  /// Stores C straight from registers, for rows whose ends are not multiples of the 16 bytes that the copy engine
  /// writes at a time.
  __device__ __forceinline__ void store_elements(const Accumulators& d, int row, int column) const {
    const int lane = threadIdx.x % warp_threads, warp = threadIdx.x % warpgroup_threads / warp_threads;
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int at =
            row + static_cast<int>(wg) * rows + s * 64 + warp * 16 + fragment_row(lane, fragment_index(0, r, 0));
        if (at >= arguments.c_rows) continue;
        const int first = column + fragment_column(lane, 0);
        unsigned short* to = static_cast<unsigned short*>(arguments.c) + at * arguments.c_row + first;
#pragma unroll
        for (int i = 0; i < accumulators / 4; ++i) {
          const int left = arguments.c_columns - first - 8 * i;
          const u32 pair = pack<C.bf16>(d[s][fragment_index(i, r, 0)], d[s][fragment_index(i, r, 1)]);
          if (left >= 2) *reinterpret_cast<u32*>(to + 8 * i) = pair;
          if (left == 1) to[8 * i] = static_cast<unsigned short>(pair);
        }
      }
    }
  }

  // ---- parts of a tile: a warp of one block meets the warps of its rows in the others -------------------------------

  static constexpr int warps = C.warpgroups * 4, quads = accumulators / 4;

  /// Returns the address of this thread's first four sums of a part; its next four come after the first four of the
  /// warp's other threads.
  __device__ __forceinline__ float* sums_of(int meeting, int warp, int part) const {
    const long long first = (static_cast<long long>(meeting) * arguments.parts.count + part) * warps + warp;
    return arguments.parts.sums + (first * (steps * quads * warp_threads) + threadIdx.x % warp_threads) * 4;
  }

  /// Calls each(step, quad, offset) for the quads of this thread whose rows exist: beyond the last row nothing is
  /// moved.
  template <class Each>
  __device__ __forceinline__ void each_quad(int row, const Each& each) const {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      if (row + s * 64 >= arguments.c_rows) continue;
#pragma unroll
      for (int i = 0; i < quads; ++i) each(s, i, (s * quads + i) * (warp_threads * 4));
    }
  }

  /// Returns true if all other parts of these rows are complete; then sets the counter to zero for the next launch.
  __device__ __forceinline__ bool comes_last(int* arrived) const {
    __threadfence();
    __syncwarp();
    int before = 0;
    if (threadIdx.x % warp_threads == 0) before = atomicAdd(arrived, 1);
    const bool last = __shfl_sync(0xffffffffu, before, 0) == arguments.parts.count - 1;
    if (last && threadIdx.x % warp_threads == 0) *arrived = 0;
    __threadfence();
    return last;
  }

  /// Writes this warp's part to device memory. The last warp to arrive for these rows adds up the parts, in the order
  /// of their numbers, and returns true. For the other warps it returns false, and d is not the result.
  __device__ __forceinline__ bool combine(Accumulators& d, int index, int row) const {
    if (arguments.parts.count == 1) return true;
    const int warp = static_cast<int>(threadIdx.x / warp_threads) - 4, own = part_of(index);
    const int meeting = index * C.cluster + (C.cluster > 1 ? static_cast<int>(cluster_rank()) : 0);
    row += static_cast<int>(wg) * rows + warp % 4 * 16;
    if (row >= arguments.c_rows) return false;
    float* part = sums_of(meeting, warp, own);
    each_quad(row, [&](int s, int i, int at) {
      const float* v = d[s] + 4 * i;
      *reinterpret_cast<FloatQuad*>(part + at) = {v[0], v[1], v[2], v[3]};
    });
    if (!comes_last(arguments.parts.arrived + meeting * warps + warp)) return false;
    part = sums_of(meeting, warp, 0);
    each_quad(row, [&](int s, int i, int) {
#pragma unroll
      for (int j = 0; j < 4; ++j) d[s][4 * i + j] = 0;
    });
#pragma unroll 1
    for (int n = 0; n < arguments.parts.count; ++n, part += warps * steps * quads * warp_threads * 4) {
      each_quad(row, [&](int s, int i, int at) {
        const FloatQuad other = load_quad_from_others(part + at);
#pragma unroll
        for (int j = 0; j < 4; ++j) d[s][4 * i + j] += other.value[j];
      });
    }
    return true;
  }

  /// Computes d = the sum of all chunks of the tile, each from the tensor cores by itself and added by the threads; the
  /// other warpgroups multiply meanwhile.
  __device__ __forceinline__ void merge_chunks(Accumulators& d, Ring<C.stages>& ring, int index) const {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int i = 0; i < accumulators; ++i) d[s][i] = 0;
    }
#pragma unroll 1
    for (int chunk = 0; chunk < chunks_of(index); ++chunk) {
      Accumulators one;
      barrier_wait(barrier(full + ring.stage), ring.parity);
      issue<false>(one, ring.stage);
      wgmma_wait<0>();
#pragma unroll
      for (int s = 0; s < steps; ++s) pin(one[s]);
      release(ring.stage);
      ring.advance();
#pragma unroll
      for (int s = 0; s < steps; ++s) {
#pragma unroll
        for (int i = 0; i < accumulators; ++i) d[s][i] += one[s][i];
      }
    }
  }

  /// Multiplies the sums by the scales of A and B.
  __device__ __forceinline__ void scale(Accumulators& d) const {
    const float a = arguments.a_scale != nullptr ? *arguments.a_scale : 1.f;
    const float factor = arguments.b_scale != nullptr ? a * *arguments.b_scale : a;
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int i = 0; i < accumulators; ++i) d[s][i] *= factor;
    }
  }

  /// Stores the tile. With parts, writes this block's part, and stores the sum if the block is the last.
  __device__ __forceinline__ void leave(Accumulators& d, int index, Place at) const {
    if constexpr (C.fp8) scale(d);
    if constexpr (C.split) {
      if (combine(d, index, at.row)) store_elements(d, at.row, at.column);
    } else if (C.ragged && at.column + C.c > arguments.c_columns) {
      store_elements(d, at.row, at.column);
    } else {
      store(d, at.row, at.column);
    }
  }

  __device__ __forceinline__ void consume() const {
    Ring<C.stages> ring;
    for (int index = first_tile(); index < arguments.shape.tiles; index = next_tile(index)) {
      Accumulators d;
      if constexpr (C.merges) {
        merge_chunks(d, ring, index);
        leave(d, index, corner(index));
        continue;
      }
      barrier_wait(barrier(full + ring.stage), ring.parity);
      issue<false>(d, ring.stage);
#pragma unroll 1
      for (int chunk = 1; chunk < chunks_of(index); ++chunk) {
        const u32 before = ring.stage;
        ring.advance();
        barrier_wait(barrier(full + ring.stage), ring.parity);
        issue<true>(d, ring.stage);
        wgmma_wait<1>();
        release(before);
      }
      const Place at = corner(index);  // found while the last products run
      wgmma_wait<0>();
#pragma unroll
      for (int s = 0; s < steps; ++s) pin(d[s]);
      release(ring.stage);
      ring.advance();
      leave(d, index, at);
    }
    if (threadIdx.x % warp_threads == 0) store_wait_read();
  }
};

template <MatmulConfig C>
__device__ __forceinline__ void matmul_block(const MatmulArguments& arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  // A shuffle tells the compiler that the number is uniform: descriptors are then in uniform registers.
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  Matmul<C> kernel{shared, arguments, warpgroup - 1};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) kernel.initialise();
  if constexpr (C.cluster > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    if (threadIdx.x == 0) kernel.produce();
  } else {
    registers_grow<C.consumer_registers>();
    kernel.consume();
    if (C.cycles && threadIdx.x % warpgroup_threads == 0) note_end(arguments.cycles);
  }
  // No block ends while another may still write to its memory.
  if constexpr (C.cluster > 1) cluster_sync();
}

template <MatmulConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, 1)
    matmul_sm90(const __grid_constant__ MatmulArguments arguments) {
  matmul_block<C>(arguments);
}

}  // namespace napkin
