#pragma once
// A warpgroup multiplies 64 x 16 by 16 x N elements in one wgmma, N a multiple of 16 up to 256: accumulators are fp32
// registers, B, and A unless it is in registers, lies swizzled in shared memory and is named by a descriptor. (PTX ISA
// section wgmma, sm_90a)

#include "kernels/device/barrier.cuh"

namespace napkin {

/// Returns how many 16-bit elements of a row a swizzle span holds: 64 (128 B), 32 (64 B) or 16 (32 B); the widest that
/// divides the columns.
__host__ __device__ constexpr int swizzle_columns(int columns) {
  return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16;
}

/// Returns an address as descriptors have it: in units of 16 bytes, within the block's own shared memory. In a cluster
/// the bits above are the block's rank.
__device__ __forceinline__ u32 matrix_address(u32 address) { return (address & 0x3FFFF) >> 4; }

/// Makes the descriptor of a matrix in shared memory from its matrix_address() and the distance of its spans in units
/// of 16 bytes (`leading`, read only if the contracted axis is not the contiguous one). The stride is eight rows of a
/// span. No field is masked, so that adding an offset gives a part's descriptor.
template <int Columns>
__device__ __forceinline__ u64 descriptor(u32 address, u32 leading) {
  constexpr u32 layout = Columns == 64 ? 1 : Columns == 32 ? 2 : 3;
  constexpr u32 stride = 8 * Columns * 2;
  u64 both;
  asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(address + (leading << 16)), "r"(stride >> 4 | layout << 30));
  return both;
}

/// Returns the distance from a matrix's descriptor to that of its part from (row, column) on, in units of 16 bytes. The
/// matrix is stored span after span, a span having `Rows` rows of `Columns` 16-bit elements. Example: the next 16
/// elements of the contracted axis are 16 columns on in a K-major operand, 16 rows down in an MN-major one.
template <int Rows, int Columns>
__device__ __forceinline__ constexpr u32 descriptor_offset(u32 row, u32 column) {
  return (column / Columns * (Rows * Columns * 2) + row * (Columns * 2) + column % Columns * 2) >> 4;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Tells the compiler that registers of an asynchronous product may change here.
template <int N>
__device__ __forceinline__ void pin(float (&registers)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int N>
__device__ __forceinline__ void pin(u32 (&registers)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// Operand lists: eight accumulators a step of 16 columns.
#define NAPKIN_D8(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define NAPKIN_L1(d) NAPKIN_D8(d, 0)
#define NAPKIN_L2(d) NAPKIN_L1(d), NAPKIN_D8(d, 8)
#define NAPKIN_L3(d) NAPKIN_L2(d), NAPKIN_D8(d, 16)
#define NAPKIN_L4(d) NAPKIN_L3(d), NAPKIN_D8(d, 24)
#define NAPKIN_L5(d) NAPKIN_L4(d), NAPKIN_D8(d, 32)
#define NAPKIN_L6(d) NAPKIN_L5(d), NAPKIN_D8(d, 40)
#define NAPKIN_L7(d) NAPKIN_L6(d), NAPKIN_D8(d, 48)
#define NAPKIN_L8(d) NAPKIN_L7(d), NAPKIN_D8(d, 56)
#define NAPKIN_L9(d) NAPKIN_L8(d), NAPKIN_D8(d, 64)
#define NAPKIN_L10(d) NAPKIN_L9(d), NAPKIN_D8(d, 72)
#define NAPKIN_L11(d) NAPKIN_L10(d), NAPKIN_D8(d, 80)
#define NAPKIN_L12(d) NAPKIN_L11(d), NAPKIN_D8(d, 88)
#define NAPKIN_L13(d) NAPKIN_L12(d), NAPKIN_D8(d, 96)
#define NAPKIN_L14(d) NAPKIN_L13(d), NAPKIN_D8(d, 104)
#define NAPKIN_L15(d) NAPKIN_L14(d), NAPKIN_D8(d, 112)
#define NAPKIN_L16(d) NAPKIN_L15(d), NAPKIN_D8(d, 120)
#define NAPKIN_T1 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAPKIN_T2 NAPKIN_T1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAPKIN_T3 NAPKIN_T2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NAPKIN_T4 NAPKIN_T3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define NAPKIN_T5 NAPKIN_T4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define NAPKIN_T6 NAPKIN_T5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define NAPKIN_T7 NAPKIN_T6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define NAPKIN_T8 NAPKIN_T7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define NAPKIN_T9 NAPKIN_T8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define NAPKIN_T10 NAPKIN_T9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define NAPKIN_T11 NAPKIN_T10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define NAPKIN_T12 NAPKIN_T11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define NAPKIN_T13 NAPKIN_T12 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define NAPKIN_T14 NAPKIN_T13 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define NAPKIN_T15 NAPKIN_T14 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define NAPKIN_T16 NAPKIN_T15 ", %120, %121, %122, %123, %124, %125, %126, %127"

// S: step count N / 16; O0..: numbers of the operands after the accumulators.
#define NAPKIN_WGMMA_SS(S, N, TYPE, O0, O1, O2, O3)                                             \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                         \
               ", 0;\n"                                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" NAPKIN_T##S \
               "}, %" #O0 ", %" #O1 ", p, 1, 1, 0, %" #O3 ";\n}"                                \
               : NAPKIN_L##S(d)                                                                 \
               : "l"(a), "l"(b), "r"(accumulate), "n"(TransposedB))
#define NAPKIN_WGMMA_RS(S, N, TYPE, A0, A1, A2, A3, O1, O2, O3)                                 \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                         \
               ", 0;\n"                                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" NAPKIN_T##S \
               "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #O1 ", p, 1, 1, %" #O3 ";\n}"   \
               : NAPKIN_L##S(d)                                                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(TransposedB))

/// Computes d (64 x N) = A B + (accumulate ? d : 0), both operands in shared memory. TransposedB: B's contiguous axis
/// is N.
template <int N, bool Bf16, int TransposedB>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], u64 a, u64 b, int accumulate) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 256);
  if constexpr (N == 16) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(1, 16, "bf16", 8, 9, 10, 11);
    else
      NAPKIN_WGMMA_SS(1, 16, "f16", 8, 9, 10, 11);
  } else if constexpr (N == 32) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(2, 32, "bf16", 16, 17, 18, 19);
    else
      NAPKIN_WGMMA_SS(2, 32, "f16", 16, 17, 18, 19);
  } else if constexpr (N == 48) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(3, 48, "bf16", 24, 25, 26, 27);
    else
      NAPKIN_WGMMA_SS(3, 48, "f16", 24, 25, 26, 27);
  } else if constexpr (N == 64) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(4, 64, "bf16", 32, 33, 34, 35);
    else
      NAPKIN_WGMMA_SS(4, 64, "f16", 32, 33, 34, 35);
  } else if constexpr (N == 80) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(5, 80, "bf16", 40, 41, 42, 43);
    else
      NAPKIN_WGMMA_SS(5, 80, "f16", 40, 41, 42, 43);
  } else if constexpr (N == 96) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(6, 96, "bf16", 48, 49, 50, 51);
    else
      NAPKIN_WGMMA_SS(6, 96, "f16", 48, 49, 50, 51);
  } else if constexpr (N == 112) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(7, 112, "bf16", 56, 57, 58, 59);
    else
      NAPKIN_WGMMA_SS(7, 112, "f16", 56, 57, 58, 59);
  } else if constexpr (N == 128) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(8, 128, "bf16", 64, 65, 66, 67);
    else
      NAPKIN_WGMMA_SS(8, 128, "f16", 64, 65, 66, 67);
  } else if constexpr (N == 144) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(9, 144, "bf16", 72, 73, 74, 75);
    else
      NAPKIN_WGMMA_SS(9, 144, "f16", 72, 73, 74, 75);
  } else if constexpr (N == 160) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(10, 160, "bf16", 80, 81, 82, 83);
    else
      NAPKIN_WGMMA_SS(10, 160, "f16", 80, 81, 82, 83);
  } else if constexpr (N == 176) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(11, 176, "bf16", 88, 89, 90, 91);
    else
      NAPKIN_WGMMA_SS(11, 176, "f16", 88, 89, 90, 91);
  } else if constexpr (N == 192) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(12, 192, "bf16", 96, 97, 98, 99);
    else
      NAPKIN_WGMMA_SS(12, 192, "f16", 96, 97, 98, 99);
  } else if constexpr (N == 208) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(13, 208, "bf16", 104, 105, 106, 107);
    else
      NAPKIN_WGMMA_SS(13, 208, "f16", 104, 105, 106, 107);
  } else if constexpr (N == 224) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(14, 224, "bf16", 112, 113, 114, 115);
    else
      NAPKIN_WGMMA_SS(14, 224, "f16", 112, 113, 114, 115);
  } else if constexpr (N == 240) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(15, 240, "bf16", 120, 121, 122, 123);
    else
      NAPKIN_WGMMA_SS(15, 240, "f16", 120, 121, 122, 123);
  } else if constexpr (N == 256) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_SS(16, 256, "bf16", 128, 129, 130, 131);
    else
      NAPKIN_WGMMA_SS(16, 256, "f16", 128, 129, 130, 131);
  }
}

/// Computes d = A B + (accumulate ? d : 0) with A (64 x 16) in registers: four 32-bit pairs a thread.
template <int N, bool Bf16, int TransposedB>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const u32* a, u64 b, int accumulate) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 256);
  if constexpr (N == 16) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(1, 16, "bf16", 8, 9, 10, 11, 12, 13, 14);
    else
      NAPKIN_WGMMA_RS(1, 16, "f16", 8, 9, 10, 11, 12, 13, 14);
  } else if constexpr (N == 32) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(2, 32, "bf16", 16, 17, 18, 19, 20, 21, 22);
    else
      NAPKIN_WGMMA_RS(2, 32, "f16", 16, 17, 18, 19, 20, 21, 22);
  } else if constexpr (N == 48) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(3, 48, "bf16", 24, 25, 26, 27, 28, 29, 30);
    else
      NAPKIN_WGMMA_RS(3, 48, "f16", 24, 25, 26, 27, 28, 29, 30);
  } else if constexpr (N == 64) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(4, 64, "bf16", 32, 33, 34, 35, 36, 37, 38);
    else
      NAPKIN_WGMMA_RS(4, 64, "f16", 32, 33, 34, 35, 36, 37, 38);
  } else if constexpr (N == 80) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(5, 80, "bf16", 40, 41, 42, 43, 44, 45, 46);
    else
      NAPKIN_WGMMA_RS(5, 80, "f16", 40, 41, 42, 43, 44, 45, 46);
  } else if constexpr (N == 96) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(6, 96, "bf16", 48, 49, 50, 51, 52, 53, 54);
    else
      NAPKIN_WGMMA_RS(6, 96, "f16", 48, 49, 50, 51, 52, 53, 54);
  } else if constexpr (N == 112) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(7, 112, "bf16", 56, 57, 58, 59, 60, 61, 62);
    else
      NAPKIN_WGMMA_RS(7, 112, "f16", 56, 57, 58, 59, 60, 61, 62);
  } else if constexpr (N == 128) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(8, 128, "bf16", 64, 65, 66, 67, 68, 69, 70);
    else
      NAPKIN_WGMMA_RS(8, 128, "f16", 64, 65, 66, 67, 68, 69, 70);
  } else if constexpr (N == 144) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(9, 144, "bf16", 72, 73, 74, 75, 76, 77, 78);
    else
      NAPKIN_WGMMA_RS(9, 144, "f16", 72, 73, 74, 75, 76, 77, 78);
  } else if constexpr (N == 160) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(10, 160, "bf16", 80, 81, 82, 83, 84, 85, 86);
    else
      NAPKIN_WGMMA_RS(10, 160, "f16", 80, 81, 82, 83, 84, 85, 86);
  } else if constexpr (N == 176) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(11, 176, "bf16", 88, 89, 90, 91, 92, 93, 94);
    else
      NAPKIN_WGMMA_RS(11, 176, "f16", 88, 89, 90, 91, 92, 93, 94);
  } else if constexpr (N == 192) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(12, 192, "bf16", 96, 97, 98, 99, 100, 101, 102);
    else
      NAPKIN_WGMMA_RS(12, 192, "f16", 96, 97, 98, 99, 100, 101, 102);
  } else if constexpr (N == 208) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(13, 208, "bf16", 104, 105, 106, 107, 108, 109, 110);
    else
      NAPKIN_WGMMA_RS(13, 208, "f16", 104, 105, 106, 107, 108, 109, 110);
  } else if constexpr (N == 224) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(14, 224, "bf16", 112, 113, 114, 115, 116, 117, 118);
    else
      NAPKIN_WGMMA_RS(14, 224, "f16", 112, 113, 114, 115, 116, 117, 118);
  } else if constexpr (N == 240) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(15, 240, "bf16", 120, 121, 122, 123, 124, 125, 126);
    else
      NAPKIN_WGMMA_RS(15, 240, "f16", 120, 121, 122, 123, 124, 125, 126);
  } else if constexpr (N == 256) {
    if constexpr (Bf16)
      NAPKIN_WGMMA_RS(16, 256, "bf16", 128, 129, 130, 131, 132, 133, 134);
    else
      NAPKIN_WGMMA_RS(16, 256, "f16", 128, 129, 130, 131, 132, 133, 134);
  }
}

#undef NAPKIN_L16
#undef NAPKIN_T16
#undef NAPKIN_L15
#undef NAPKIN_T15
#undef NAPKIN_L14
#undef NAPKIN_T14
#undef NAPKIN_L13
#undef NAPKIN_T13
#undef NAPKIN_L12
#undef NAPKIN_T12
#undef NAPKIN_L11
#undef NAPKIN_T11
#undef NAPKIN_L10
#undef NAPKIN_T10
#undef NAPKIN_L9
#undef NAPKIN_T9
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
#undef NAPKIN_D8
#undef NAPKIN_WGMMA_SS
#undef NAPKIN_WGMMA_RS

}  // namespace napkin
