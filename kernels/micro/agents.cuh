#pragma once
// This kernel runs different warpgroups on one SM at the same time: some multiply, some repeat one vector instruction,
// one warp has the copy engine write to shared memory. All start together, and work until the products are done. The
// work that each has done shows how much they slow each other down.

#include "kernels/device/matrix.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma_e4m3.cuh"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"
#include "kernels/micro/vector_work.cuh"

namespace napkin {

template <AgentsConfig C>
struct Agents {
  u32 shared;
  const AgentsArguments& arguments;

  /// Returns true, to all lanes of a warp, if the measurement is over. Vector work and copies call this after each
  /// chunk of their work.
  __device__ __forceinline__ bool over(long long start) const {
    int finished;
    asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(finished) : "r"(shared + C.over_at()) : "memory");
    return finished != 0 || clock64() - start >= arguments.window;
  }

  __device__ __forceinline__ void note(long long units, long long clocks) const {
    if (threadIdx.x % 32 != 0) return;
    unsigned long long* to =
        arguments.counts + 2 * (static_cast<long long>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32);
    to[0] = units;
    to[1] = clocks;
  }

  __device__ __forceinline__ void multiply(u32 group) const {
    float d[C.n / 2];
#pragma unroll
    for (float& each : d) each = 0.f;
    u32 a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      a[i] = C.e4m3 ? random_probabilities(threadIdx.x * 4 + i) : random_pair(threadIdx.x * 4 + i);
    const u64 in_shared = descriptor<64>((shared + group * C.a_bytes) >> 4, 0),
              b = descriptor<64>((shared + C.b_at()) >> 4, 0);
    const long long start = clock64();
#pragma unroll 1
    for (int k = 0; k < arguments.batches; ++k) {
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < C.batch(); ++i) {
        const u64 step = descriptor_offset<64, 64>(0, i % 4 * 16);  // four in a span
        if constexpr (C.e4m3 && C.a_registers)
          wgmma_e4m3<C.n>(d, a, b + step, i != 0);
        else if constexpr (C.e4m3)
          wgmma_e4m3<C.n>(d, in_shared + step, b + step, i != 0);
        else if constexpr (C.a_registers)
          wgmma<C.n, true, 0>(d, a, b + step, i != 0);
        else
          wgmma<C.n, true, 0>(d, in_shared + step, b + step, i != 0);
      }
      wgmma_commit();
      wgmma_wait<1>();
    }
    wgmma_wait<0>();
    pin(d);
    const long long clocks = clock64() - start;
    if (group == 0) store_word(shared + C.over_at(), 1);
    note(threadIdx.x % 128 == 0 ? static_cast<long long>(arguments.batches) * C.batch() : 0, clocks);
    if (arguments.kept != nullptr) arguments.kept[threadIdx.x] = summed(d);
  }

  /// Operands of a warp's products, in pairs. It loads new operands, B and then A, for two products that come six
  /// later.
  struct Operands {
    static constexpr int ring = 4;
    u32 a[ring][4], b[ring][4], address;

    __device__ __forceinline__ explicit Operands(u32 scratch) : address(scratch + 16 * (threadIdx.x % 32)) {
#pragma unroll
      for (int r = 0; r < ring; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          a[r][i] = random_pair(threadIdx.x * 16 + 4 * r + i);
          b[r][i] = random_pair((threadIdx.x * 16 + 4 * r + i) ^ 0x5555);
        }
      }
    }
    /// Loads an operand of a pair, each time from another address: the assembler would merge two loads of one address.
    __device__ __forceinline__ void load(int pair, int which) {
      u32(&to)[4] = which % 2 == 0 ? b[pair % ring] : a[pair % ring];
      const u32 from = address + 16 * (2 * pair + which);
      if constexpr (C.work == VectorWork::load_matrix || C.loads > 0) {
        load_matrices(to, from);
      } else {
        const Quad q = load_quad(from);
#pragma unroll
        for (int i = 0; i < 4; ++i) to[i] = q.word[i];
      }
    }
  };

  __device__ __forceinline__ void multiply_synchronously(u32 group) const {
    constexpr int count = C.n / 8;
    constexpr bool loads = C.among > 0 && (C.work == VectorWork::load || C.work == VectorWork::load_matrix);
    constexpr VectorWork among = C.among > 0 && !loads ? C.work : VectorWork::none;
    const u32 scratch = shared + C.scratch_at() + (4 * C.vector_groups + threadIdx.x / 32) * C.warp_bytes;
    float d[count][4];
#pragma unroll
    for (auto& each : d) each[0] = each[1] = each[2] = each[3] = 0.f;
    Operands operands(scratch);
    Repeated<among> repeated(scratch, threadIdx.x % 32, arguments.shift);
    const long long start = clock64();
#pragma unroll 1
    for (int k = 0; k < arguments.batches; ++k) {
      operands.address += arguments.shift;
#pragma unroll
      for (int i = 0; i < C.batch(); ++i) {
        const int slot = i / 2 % Operands::ring;
        mma<true>(d[i % count], operands.a[slot], operands.b[slot][i % 2 * 2], operands.b[slot][i % 2 * 2 + 1]);
        if (i % 2 == 0) continue;
        if constexpr (C.loads > 0) {
          if (i / 2 % 2 < C.loads) operands.load(i / 2, 0);
        }
#pragma unroll
        for (int j = 0; j < C.among; ++j) {
          if constexpr (loads)
            operands.load(i / 2, j);
          else
            repeated.one((i / 2 * C.among + j) % repeated.chains);
        }
      }
    }
#pragma unroll
    for (auto& each : d) pin(each);
    const long long clocks = clock64() - start;
    if (group == 0) store_word(shared + C.over_at(), 1);
    note(threadIdx.x % 128 == 0 ? static_cast<long long>(arguments.batches) * C.batch() : 0, clocks);
    if (arguments.kept == nullptr) return;
    float sum = repeated.result();
#pragma unroll
    for (auto& each : d) sum += summed(each);
    arguments.kept[threadIdx.x] = sum;
  }

  __device__ __forceinline__ void work(u32 warp) const {
    Repeated<C.work> repeated(shared + C.scratch_at() + warp * C.warp_bytes, threadIdx.x % 32, arguments.shift);
    const long long start = clock64();
    long long done = 0, clocks = 0;
    while (true) {
#pragma unroll 1
      for (int i = 0; i < repeated.chunks; ++i) repeated.chunk();
      if (__shfl_sync(0xFFFFFFFF, over(start), 0))
        break;  // the chunk during which the measurement ended does not count, nor its time
      done += repeated.chunks * repeated.units;
      clocks = clock64() - start;
    }
    note(done, clocks);
    if (arguments.kept != nullptr) arguments.kept[threadIdx.x] = repeated.result();
  }

  __device__ __forceinline__ void copy_box(int box) const {
    const u32 barrier = shared + C.barriers_at() + 8 * box;
    barrier_expect(barrier, C.box_bytes);
    load_box(shared + C.boxes_at() + box * C.box_bytes, arguments.from, barrier, 0,
             (blockIdx.x * arguments.apart + box) * 64);
  }
  __device__ __forceinline__ void copy() const {
    Ring<C.boxes> ring;
    const long long start = clock64();
    long long done = 0;
    for (int box = 0; box < C.boxes; ++box) copy_box(box);
    do {
      barrier_wait(shared + C.barriers_at() + 8 * ring.stage, ring.parity);
      copy_box(ring.stage);
      ring.advance();
      done += C.box_bytes;
    } while (!over(start));
    const long long clocks = clock64() - start;
    for (int box = 0; box < C.boxes; ++box) {
      barrier_wait(shared + C.barriers_at() + 8 * ring.stage, ring.parity);
      ring.advance();
    }
    note(done, clocks);
  }
};

template <AgentsConfig C>
__global__ void __launch_bounds__(C.threads(), 1) agents(const __grid_constant__ AgentsArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Agents<C> all{shared_address(memory), arguments};
  if constexpr (C.e4m3)
    fill_shared_bytes(all.shared, C.boxes_at());
  else
    fill_shared(all.shared, C.boxes_at());
  if (threadIdx.x == 0) {
    store_word(all.shared + C.over_at(), 0);
    for (int box = 0; box < C.boxes; ++box) barrier_init(all.shared + C.barriers_at() + 8 * box, 1);
    barrier_init_fence();
  }
  async_fence();
  __syncthreads();
  const int warp = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x / 32), 0),
            group = warp / 4;  // uniform in a warp
  if (group < C.tensor_groups) {
    if constexpr (C.tensor_groups > 0) {
      if (group < arguments.tensor_groups) {
        if constexpr (C.synchronous)
          all.multiply_synchronously(group);
        else
          all.multiply(group);
      }
    }
  } else if (group < C.tensor_groups + C.vector_groups) {
    if constexpr (C.work != VectorWork::none && C.vector_groups > 0) {
      if (group - C.tensor_groups < arguments.vector_groups) all.work(warp - 4 * C.tensor_groups);
    }
  } else if constexpr (C.copies) {
    if (arguments.copies != 0 && threadIdx.x % 32 == 0) all.copy();
  }
}

}  // namespace napkin
