#pragma once
// A warpgroup multiplies 64 x 32 by 32 x N bytes of e4m3 in one wgmma, N a multiple of 32 up to 256, 72 or 136:
// accumulators are fp32 registers, of whose sums the tensor cores keep about 14 bits. B, and A unless it is in
// registers, lies K-major in swizzled shared memory: 32 bytes of the contracted axis are 16 columns of 16 bits to
// descriptor() and its offsets. (PTX ISA section wgmma, sm_90a)

#include "kernels/device/wgmma.cuh"

namespace napkin {

// Operand lists: sixteen accumulators a step of 32 columns, four of the last 8 of 72 and 136.
#define NAPKIN_D16(d, i)                                                                                      \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7]), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11]), "+f"(d[i + 12]),      \
      "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define NAPKIN_L1(d) NAPKIN_D16(d, 0)
#define NAPKIN_L2(d) NAPKIN_L1(d), NAPKIN_D16(d, 16)
#define NAPKIN_L3(d) NAPKIN_L2(d), NAPKIN_D16(d, 32)
#define NAPKIN_L4(d) NAPKIN_L3(d), NAPKIN_D16(d, 48)
#define NAPKIN_L5(d) NAPKIN_L4(d), NAPKIN_D16(d, 64)
#define NAPKIN_L6(d) NAPKIN_L5(d), NAPKIN_D16(d, 80)
#define NAPKIN_L7(d) NAPKIN_L6(d), NAPKIN_D16(d, 96)
#define NAPKIN_L8(d) NAPKIN_L7(d), NAPKIN_D16(d, 112)
#define NAPKIN_D4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define NAPKIN_L72(d) NAPKIN_L2(d), NAPKIN_D4(d, 32)
#define NAPKIN_L136(d) NAPKIN_L4(d), NAPKIN_D4(d, 64)
#define NAPKIN_T1 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAPKIN_T2 NAPKIN_T1 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAPKIN_T3 NAPKIN_T2 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAPKIN_T4 NAPKIN_T3 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAPKIN_T5 NAPKIN_T4 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define NAPKIN_T6 NAPKIN_T5 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAPKIN_T7 \
  NAPKIN_T6 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define NAPKIN_T8 \
  NAPKIN_T7 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define NAPKIN_T72 NAPKIN_T2 ", %32, %33, %34, %35"
#define NAPKIN_T136 NAPKIN_T4 ", %64, %65, %66, %67"

// S: which lists (N / 32, or N); O0..: numbers of the operands after the accumulators.
#define NAPKIN_WGMMA_SS(S, N, O0, O1, O2)                                                                    \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                                      \
               ", 0;\n"                                                                                      \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" NAPKIN_T##S "}, %" #O0 ", %" #O1 \
                                                                                        ", p, 1, 1;\n}"      \
               : NAPKIN_L##S(d)                                                                              \
               : "l"(a), "l"(b), "r"(accumulate))
#define NAPKIN_WGMMA_RS(S, N, A0, A1, A2, A3, O1, O2)                                   \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                 \
               ", 0;\n"                                                                 \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" NAPKIN_T##S \
               "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #O1 ", p, 1, 1;\n}"     \
               : NAPKIN_L##S(d)                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))

/// Computes d (64 x N) = A B + (accumulate ? d : 0), both operands in shared memory.
template <int N>
__device__ __forceinline__ void wgmma_e4m3(float (&d)[N / 2], u64 a, u64 b, int accumulate) {
  static_assert(N % 32 == 0 && N >= 32 && N <= 256);
  if constexpr (N == 32)
    NAPKIN_WGMMA_SS(1, 32, 16, 17, 18);
  else if constexpr (N == 64)
    NAPKIN_WGMMA_SS(2, 64, 32, 33, 34);
  else if constexpr (N == 96)
    NAPKIN_WGMMA_SS(3, 96, 48, 49, 50);
  else if constexpr (N == 128)
    NAPKIN_WGMMA_SS(4, 128, 64, 65, 66);
  else if constexpr (N == 160)
    NAPKIN_WGMMA_SS(5, 160, 80, 81, 82);
  else if constexpr (N == 192)
    NAPKIN_WGMMA_SS(6, 192, 96, 97, 98);
  else if constexpr (N == 224)
    NAPKIN_WGMMA_SS(7, 224, 112, 113, 114);
  else if constexpr (N == 256)
    NAPKIN_WGMMA_SS(8, 256, 128, 129, 130);
}

/// Computes d = A B + (accumulate ? d : 0) with A (64 x 32) in registers: four words of four bytes a thread.
template <int N>
__device__ __forceinline__ void wgmma_e4m3(float (&d)[N / 2], const u32* a, u64 b, int accumulate) {
  static_assert((N % 32 == 0 && N >= 32 && N <= 256) || N == 72 || N == 136);
  if constexpr (N == 32)
    NAPKIN_WGMMA_RS(1, 32, 16, 17, 18, 19, 20, 21);
  else if constexpr (N == 64)
    NAPKIN_WGMMA_RS(2, 64, 32, 33, 34, 35, 36, 37);
  else if constexpr (N == 72)
    NAPKIN_WGMMA_RS(72, 72, 36, 37, 38, 39, 40, 41);
  else if constexpr (N == 96)
    NAPKIN_WGMMA_RS(3, 96, 48, 49, 50, 51, 52, 53);
  else if constexpr (N == 128)
    NAPKIN_WGMMA_RS(4, 128, 64, 65, 66, 67, 68, 69);
  else if constexpr (N == 136)
    NAPKIN_WGMMA_RS(136, 136, 68, 69, 70, 71, 72, 73);
  else if constexpr (N == 160)
    NAPKIN_WGMMA_RS(5, 160, 80, 81, 82, 83, 84, 85);
  else if constexpr (N == 192)
    NAPKIN_WGMMA_RS(6, 192, 96, 97, 98, 99, 100, 101);
  else if constexpr (N == 224)
    NAPKIN_WGMMA_RS(7, 224, 112, 113, 114, 115, 116, 117);
  else if constexpr (N == 256)
    NAPKIN_WGMMA_RS(8, 256, 128, 129, 130, 131, 132, 133);
}

#undef NAPKIN_T136
#undef NAPKIN_T72
#undef NAPKIN_L136
#undef NAPKIN_L72
#undef NAPKIN_D4
#undef NAPKIN_L8
#undef NAPKIN_T8
#undef NAPKIN_L7
#undef NAPKIN_T7
#undef NAPKIN_L6
#undef NAPKIN_T6
#undef NAPKIN_L5
#undef NAPKIN_T5
#undef NAPKIN_L4
#undef NAPKIN_T4
#undef NAPKIN_L3
#undef NAPKIN_T3
#undef NAPKIN_L2
#undef NAPKIN_T2
#undef NAPKIN_L1
#undef NAPKIN_T1
#undef NAPKIN_D16
#undef NAPKIN_WGMMA_SS
#undef NAPKIN_WGMMA_RS

}  // namespace napkin
