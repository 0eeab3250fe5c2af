#pragma once
// This kernel times the copy engine: latency of a box (one stage), bandwidth (several), by multicast too. A block is
// one thread: if other lanes of its warp wait elsewhere, each test of a barrier takes 150 clocks.

#include "kernels/device/tma.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <BoxesConfig C>
struct Boxes {
  static constexpr u32 bytes = C.kib * 1024;
  static constexpr int share = C.rows() / C.cluster;  // rows that a block loads, for all

  u32 shared, rank;
  const BoxesArguments& arguments;

  __device__ __forceinline__ u32 full(int stage) const { return shared + C.barriers_at() + 16 * stage; }
  __device__ __forceinline__ u32 empty(int stage) const { return full(stage) + 8; }

  /// Place of a block's next box: boxes are consecutive from the block's first row, and begin there again after
  /// `around`.
  struct Place {
    int row = 0, box = 0;
  };
  __device__ __forceinline__ void advance(Place& place) const {
    if constexpr (C.shared_tiles) {
      if (++place.box % 2 == 0) place.row += C.rows();
    } else {
      place.row += C.rows();
      ++place.box;
    }
    if (place.box == arguments.around) place = {};
  }

  __device__ __forceinline__ int first_row(const Place& place) const {
    const int block = static_cast<int>(blockIdx.x);
    if constexpr (!C.shared_tiles) return block / C.cluster * arguments.block_rows;
    const SharedTile tile = arguments.tiles[place.box % 2];
    return (tile.before + block / tile.divide % tile.modulo) * arguments.block_rows;
  }

  __device__ __forceinline__ void issue(int stage, const Place& place) const {
    const u32 to = shared + stage * bytes;
    barrier_expect(full(stage), bytes);
    if constexpr (C.cluster > 1) {
      const int first = static_cast<int>(rank) * share;
      load_box_multicast(to + first * 128, arguments.from, full(stage), (1 << C.cluster) - 1, 0,
                         first_row(place) + place.row + first);
    } else {
      load_box(to, arguments.from, full(stage), 0, first_row(place) + place.row);
    }
  }

  __device__ __forceinline__ void wait(u32 barrier, u32 parity) const {
    if constexpr (C.spin) {
      u32 done = 0;
      while (done == 0) {
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
      }
    } else {
      barrier_wait(barrier, parity);
    }
  }

  /// Tells every block of the cluster that this one has read the stage.
  __device__ __forceinline__ void release(int stage) const {
    if constexpr (C.cluster > 1) {
      for (int block = 0; block < C.cluster; ++block) barrier_arrive_remote(empty(stage), block);
    }
  }

  __device__ __forceinline__ void run() const {
    unsigned long long* clocks = arguments.clocks + static_cast<long long>(blockIdx.x) * (1 + arguments.count);
    long long start = clock64(), worked = start;
    // In a cluster a stage is filled again only when the box after the next has arrived: by then the other blocks have
    // released it too.
    constexpr int behind = C.cluster > 1 ? 2 : 0;
    Ring<C.stages> ring, free;
    Place place;
    if constexpr (C.stages > 1) {
      for (int stage = 0; stage < C.stages; ++stage, advance(place)) issue(stage, place);
    }
#pragma unroll 1
    for (int box = 0; box < arguments.count; ++box) {
      const long long now = clock64();
      if (box == arguments.warm) start = now;
      if constexpr (C.stages == 1) issue(0, place);
      wait(full(ring.stage), ring.parity);
      if constexpr (C.shared_tiles) {
        worked = max(worked, clock64()) + arguments.work;
        while (clock64() < worked) {
        }
      }
      if constexpr (C.stages == 1) {
        clocks[1 + box] = clock64() - now;
        advance(place);
      }
      release(ring.stage);
      if (C.stages > 1 && box >= behind && box - behind + C.stages < arguments.count) {
        if constexpr (C.cluster > 1) wait(empty(free.stage), free.parity);
        issue(free.stage, place);
        advance(place);
        free.advance();
      }
      ring.advance();
    }
    clocks[0] = clock64() - start;
  }
};

template <BoxesConfig C>
__global__ void __launch_bounds__(1) boxes(const __grid_constant__ BoxesArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Boxes<C> all{shared_address(memory), C.cluster > 1 ? cluster_rank() : 0, arguments};
  prefetch(arguments.from);
  for (int stage = 0; stage < C.stages; ++stage) {
    barrier_init(all.full(stage), 1);
    barrier_init(all.empty(stage), C.cluster);
  }
  barrier_init_fence();
  if constexpr (C.cluster > 1) cluster_sync();
  all.run();
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
