#pragma once
// A warpgroup multiplies into accumulators of fp16, two in a 32-bit register: 64 x 16 by 16 x N numbers of fp16, or 64
// x 32 by 32 x N bytes of e4m3, in one wgmma. N is 16, 32, 64 or 128; both operands lie in shared memory. A thread has
// the numbers that it has of accumulators of fp32 (fragment.cuh), neighbours in one register. (PTX ISA section wgmma,
// sm_90a)

#include "kernels/device/wgmma.cuh"

namespace napkin {

// Operand lists: four registers a step of 16 columns.
#define NAPKIN_D4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define NAPKIN_L1(d) NAPKIN_D4(d, 0)
#define NAPKIN_L2(d) NAPKIN_L1(d), NAPKIN_D4(d, 4)
#define NAPKIN_L4(d) NAPKIN_L2(d), NAPKIN_D4(d, 8), NAPKIN_D4(d, 12)
#define NAPKIN_L8(d) NAPKIN_L4(d), NAPKIN_D4(d, 16), NAPKIN_D4(d, 20), NAPKIN_D4(d, 24), NAPKIN_D4(d, 28)
#define NAPKIN_T1 "%0, %1, %2, %3"
#define NAPKIN_T2 NAPKIN_T1 ", %4, %5, %6, %7"
#define NAPKIN_T4 NAPKIN_T2 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAPKIN_T8 NAPKIN_T4 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"

// S: step count N / 16; END: what follows the two negations; O0..: numbers of the operands after the accumulators.
#define NAPKIN_WGMMA(S, N, KIND, O0, O1, O2, END)                                                                \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                                          \
               ", 0;\n"                                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" #N KIND " {" NAPKIN_T##S "}, %" #O0 ", %" #O1 ", p, 1, 1" END \
                                                                            ";\n}"                               \
               : NAPKIN_L##S(d)                                                                                  \
               : "l"(a), "l"(b), "r"(accumulate))

/// Computes d (64 x N) = A B + (accumulate ? d : 0) of fp16; B's contiguous axis is N.
template <int N>
__device__ __forceinline__ void wgmma_halves(u32 (&d)[N / 4], u64 a, u64 b, int accumulate) {
  static_assert(N == 16 || N == 32 || N == 64 || N == 128);
  if constexpr (N == 16)
    NAPKIN_WGMMA(1, 16, "k16.f16.f16.f16", 4, 5, 6, ", 0, 1");
  else if constexpr (N == 32)
    NAPKIN_WGMMA(2, 32, "k16.f16.f16.f16", 8, 9, 10, ", 0, 1");
  else if constexpr (N == 64)
    NAPKIN_WGMMA(4, 64, "k16.f16.f16.f16", 16, 17, 18, ", 0, 1");
  else
    NAPKIN_WGMMA(8, 128, "k16.f16.f16.f16", 32, 33, 34, ", 0, 1");
}

/// Computes d = A B + (accumulate ? d : 0) of e4m3, both operands K-major.
template <int N>
__device__ __forceinline__ void wgmma_e4m3_halves(u32 (&d)[N / 4], u64 a, u64 b, int accumulate) {
  static_assert(N == 16 || N == 32 || N == 64 || N == 128);
  if constexpr (N == 16)
    NAPKIN_WGMMA(1, 16, "k32.f16.e4m3.e4m3", 4, 5, 6, "");
  else if constexpr (N == 32)
    NAPKIN_WGMMA(2, 32, "k32.f16.e4m3.e4m3", 8, 9, 10, "");
  else if constexpr (N == 64)
    NAPKIN_WGMMA(4, 64, "k32.f16.e4m3.e4m3", 16, 17, 18, "");
  else
    NAPKIN_WGMMA(8, 128, "k32.f16.e4m3.e4m3", 32, 33, 34, "");
}

#undef NAPKIN_L8
#undef NAPKIN_T8
#undef NAPKIN_L4
#undef NAPKIN_T4
#undef NAPKIN_L2
#undef NAPKIN_T2
#undef NAPKIN_L1
#undef NAPKIN_T1
#undef NAPKIN_D4
#undef NAPKIN_WGMMA

}  // namespace napkin
