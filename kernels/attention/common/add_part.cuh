#pragma once
// add_part adds a part of attention's result, of some keys, to the running result of the keys before, each weighted by
// its log-sum-exp (eq. 19.2). A warp has a row of a head; a lane four columns at a time.

#include "kernels/attention/common/add_part_arguments.cuh"
#include "kernels/device/global.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

struct alignas(8) WordPair {
  u32 word[2];
};

/// A row of the part, counted over b, rows and heads, and its place in the running result.
struct AddedRow {
  long long part, part_lse, running, running_lse;

  __device__ __forceinline__ AddedRow(const AddPartArguments& a, long long index) : part(index * a.d) {
    const long long head = index % a.heads, row = index / a.heads % a.rows, batch = index / a.heads / a.rows;
    part_lse = (batch * a.heads + head) * a.rows + row;
    running_lse = (batch * a.heads + head) * a.all + a.first_row + row;
    running = ((batch * a.all + a.first_row + row) * a.heads + head) * a.d;
  }
};

/// Calls work(row, column) for every four columns of this block's rows; whole warps have one row.
template <class Work>
__device__ __forceinline__ void for_rows(const AddPartArguments& a, const Work& work) {
  const long long rows = static_cast<long long>(a.b) * a.rows * a.heads, step = gridDim.x * (blockDim.x / 32);
  for (long long i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < rows; i += step) work(AddedRow(a, i));
}

template <AddPartConfig C>
__device__ __forceinline__ FloatQuad quad_of(const WordPair& pair) {
  return {unpack<C.bf16>(pair.word[0], false), unpack<C.bf16>(pair.word[0], true), unpack<C.bf16>(pair.word[1], false),
          unpack<C.bf16>(pair.word[1], true)};
}

template <AddPartConfig C>
__global__ void add_part(const __grid_constant__ AddPartArguments a) {
  for_rows(a, [&](const AddedRow& row) {
    const float added = a.part_lse[row.part_lse], before = C.first ? -infinity : a.running_lse[row.running_lse];
    const float top = fmaxf(added, before);
    // A side whose log-sum-exp is -infinity, which has seen no key, gets weight 0.
    const float of_added = added == -infinity ? 0.f : __expf(added - top),
                of_before = before == -infinity ? 0.f : __expf(before - top), sum = of_added + of_before;
    const float w = sum > 0 ? of_added / sum : 0.f, v = sum > 0 ? of_before / sum : 0.f;
    for (int column = threadIdx.x % 32 * 4; column < a.d; column += 128) {
      const FloatQuad part = quad_of<C>(*reinterpret_cast<const WordPair*>(a.part + row.part + column));
      FloatQuad* to = reinterpret_cast<FloatQuad*>(a.running + row.running + column);
      FloatQuad out = C.first ? part : *to;
#pragma unroll
      for (int i = 0; i < 4; ++i) out.value[i] = C.first ? part.value[i] : v * out.value[i] + w * part.value[i];
      *to = out;
    }
    __syncwarp();  // all lanes have read the log-sum-exp that is written now
    if (threadIdx.x % 32 == 0) a.running_lse[row.running_lse] = sum > 0 ? top + __logf(sum) : -infinity;
  });
}

/// Writes the running result in the part's type: all rows, to `part`.
template <AddPartConfig C>
__global__ void finish_parts(const __grid_constant__ AddPartArguments a) {
  for_rows(a, [&](const AddedRow& row) {
    for (int column = threadIdx.x % 32 * 4; column < a.d; column += 128) {
      const FloatQuad q = *reinterpret_cast<const FloatQuad*>(a.running + row.running + column);
      *reinterpret_cast<WordPair*>(a.part + row.part + column) = {pack<C.bf16>(q.value[0], q.value[1]),
                                                                  pack<C.bf16>(q.value[2], q.value[3])};
    }
  });
}

}  // namespace napkin
