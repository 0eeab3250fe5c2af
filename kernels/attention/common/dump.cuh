#pragma once
// AttentionDump lays out the intermediates that the attention kernels' debug variants write for every tile and chunk,
// by the names of the diagram. A thread writes its values as soon as they are computed, without a barrier.

#include "kernels/device/dump.cuh"

namespace napkin {

/// Columns of a row of DumpLayout. O is the partial one; in the place after the last chunk, the finished one.
struct AttentionDump {
  int s, p, o, mu, delta, z, pitch;
};

// `keys` of a chunk, `columns` of O.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr AttentionDump
    attention_dump(int keys, int columns) {
  const int state = 2 * keys + columns;
  return {0, keys, 2 * keys, state, state + 1, state + 2, state + 3};
}

}  // namespace napkin
