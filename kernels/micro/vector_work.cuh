#pragma once
// Repeated has the work that an agent's threads repeat: chains of one vector instruction, or the softmax of a chunk of
// scores as in an attention kernel. Repeated<VectorWork::ex2> keeps only the special unit busy.

#include "kernels/device/mma.cuh"
#include "kernels/device/softmax.cuh"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"

namespace napkin {

/// Registers of a thread and the instruction that it repeats: independent chains, in which each instruction needs the
/// result of the one before.
template <VectorWork W>
struct Repeated {
  static constexpr int chains = 8, repeats = 16;
  static constexpr bool pairs =
      W == VectorWork::convert_fp8 || W == VectorWork::special_register || W == VectorWork::ex2_maximum;
  static constexpr bool triples = W == VectorWork::ex2_fma || W == VectorWork::maximum_fma;
  /// Warp instructions of a chunk.
  static constexpr int units = chains * repeats * (triples ? 3 : pairs ? 2 : 1);

  static constexpr bool slow = W == VectorWork::ex2 || W == VectorWork::shuffle || W == VectorWork::mix ||
                               W == VectorWork::ex2_fma || W == VectorWork::ex2_maximum;
  /// Chunks between two reads of the clock, fewer of slow instructions: some thousand clocks, of which a read takes
  /// some hundred.
  static constexpr int chunks = W >= VectorWork::load ? 1 : slow ? 8 : 32;

  float x[chains], y[chains], z[chains], factor, term;
  u32 w[chains];
  u32 address, shift, pair;

  __device__ __forceinline__ Repeated(u32 scratch, u32 lane, u32 shift) : address(scratch + 16 * lane), shift(shift) {
#pragma unroll
    for (int i = 0; i < chains; ++i) {
      x[i] = 0.5f + 0.01f * static_cast<float>(i + lane);
      y[i] = x[i] + 1.f;
      z[i] = x[i] + 2.f;
      w[i] = random_pair(lane * chains + i);
    }
    factor = 0.97f + 0.0001f * static_cast<float>(lane);
    term = 0.03f + 0.0001f * static_cast<float>(lane);
    pair = w[0] & 0xBFFFBFFF;
  }

  __device__ __forceinline__ void one(int i) {
    if constexpr (W == VectorWork::special_register) {
      u64 now;
      asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
      w[i] ^= static_cast<u32>(now) ^ static_cast<u32>(now >> 32);
    }
    if constexpr (W == VectorWork::ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
    if constexpr (W == VectorWork::fma)
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(factor), "f"(term));
    if constexpr (W == VectorWork::add) asm volatile("add.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(term));
    if constexpr (W == VectorWork::multiply) asm volatile("mul.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(factor));
    if constexpr (W == VectorWork::maximum) asm volatile("max.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[(i + 1) % chains]));
    if constexpr (W == VectorWork::logic)
      asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(w[i]) : "r"(w[(i + 1) % chains]), "r"(address));
    if constexpr (W == VectorWork::fma16)
      asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(w[i]) : "r"(pair), "r"(address));
    if constexpr (W == VectorWork::convert) {
      asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w[i]) : "f"(__uint_as_float(w[i])), "f"(x[i]));
    }
    if constexpr (W == VectorWork::convert_fp8) {
      asm volatile(
          "{\n.reg .b16 low, high;\n"
          "cvt.rn.satfinite.e4m3x2.f32 low, %1, %2;\n"
          "cvt.rn.satfinite.e4m3x2.f32 high, %2, %1;\n"
          "mov.b32 %0, {low, high};\n}"
          : "=r"(w[i])
          : "f"(__uint_as_float(w[i])), "f"(x[i]));
    }
    if constexpr (W == VectorWork::shuffle) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(w[i]));
    if constexpr (W == VectorWork::mix) {
      asm volatile(
          "fma.rn.f32 %0, %0, %1, %2;\n"
          "max.f32 %0, %0, %3;\n"
          "ex2.approx.ftz.f32 %0, %0;\n"
          "add.f32 %0, %0, %2;"
          : "+f"(x[i])
          : "f"(0.25f), "f"(-1.f), "f"(-4.f));
    }
    if constexpr (W == VectorWork::ex2_fma || W == VectorWork::ex2_maximum)
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
    if constexpr (W == VectorWork::ex2_maximum)
      asm volatile("max.f32 %0, %0, %1;" : "+f"(y[i]) : "f"(y[(i + 1) % chains]));
    if constexpr (W == VectorWork::maximum_fma)
      asm volatile("max.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[(i + 1) % chains]));
    if constexpr (triples) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(y[i]) : "f"(factor), "f"(term));
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(z[i]) : "f"(factor), "f"(term));
    }
    if constexpr (W == VectorWork::store)
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address + 512 * i), "r"(w[i]) : "memory");
    if constexpr (W == VectorWork::store_matrix) store_matrices(address + 512 * i, w[i], w[i], w[i], w[i]);
  }

  __device__ __forceinline__ void chunk() {
    if constexpr (W == VectorWork::load || W == VectorWork::load_matrix)
      loads();
    else if constexpr (W == VectorWork::mix)
      mixed();
    else
      ones();
  }

  __device__ __forceinline__ void ones() {
#pragma unroll
    for (int r = 0; r < repeats; ++r) {
#pragma unroll
      for (int i = 0; i < chains; ++i) one(i);
    }
  }

  /// Loads from shared memory, with one load in flight for each chain.
  __device__ __forceinline__ void loads() {
#pragma unroll
    for (int r = 0; r < repeats; ++r) {
      Quad q[chains];
      address += shift;
#pragma unroll
      for (int i = 0; i < chains; ++i) {
        const u32 from = address + 512 * i;
        if constexpr (W == VectorWork::load) {
          q[i] = load_quad(from);
        } else {
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(q[i].word[0]), "=r"(q[i].word[1]), "=r"(q[i].word[2]), "=r"(q[i].word[3])
                       : "r"(from)
                       : "memory");
        }
      }
#pragma unroll
      for (int i = 0; i < chains; ++i) w[i] = folded(w[i], q[i]);
    }
  }

  __device__ __forceinline__ float result() const {
    u32 all = 0;
#pragma unroll
    for (int i = 0; i < chains; ++i) all ^= w[i];
    return summed(x) + summed(y) + summed(z) + __uint_as_float(all);
  }

  __device__ __forceinline__ void mixed() {
#pragma unroll
    for (int r = 0; r < repeats / 4; ++r) {
#pragma unroll
      for (int i = 0; i < chains; ++i) one(i);
    }
  }
};

/// Turns scores of a chunk into pairs of exponentials and their sums, as an attention kernel does: while exponentials
/// of one step of `Step` elements are under way, the next step's arguments are computed and the last step's results
/// added. In one step of all N the assembler chooses the order.
template <int Step, int N>
__device__ __forceinline__ void exponentials(float (&s)[N], const float (&maximum)[2], float (&sum)[2],
                                             u32 (&packed)[2]) {
  float p[N];
#pragma unroll
  for (int first = -Step; first < N + Step; first += Step) {
#pragma unroll
    for (int k = first; k < first + Step; ++k) {
      if (k >= 0 && k < N) p[k] = exp2_fast(p[k]);
      if (k + Step < N) p[k + Step] = fmaf(s[k + Step], 1.44f, -maximum[(k + Step) % 2]);
      if (k >= Step && k - Step < N) sum[(k - Step) % 2] += p[k - Step];
    }
    if (Step < N && first >= 0 && first < N) scheduling_fence();
  }
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed[i % 2]) : "f"(p[2 * i]), "f"(__uint_as_float(packed[i % 2])));
  }
  pin(sum);
  pin(packed);
}

/// A thread's two rows of scores. Their maximum is found first; or, `Kept`, is kept from before, as with
/// attention_sm90's rescale=rarely: then with fewer columns, since threads of three warpgroups beside products have 128
/// registers.
template <bool Kept, bool Stepped>
struct Softmax {
  static constexpr int columns = Kept ? 24 : 32, units = 2 * columns, chunks = 8;  // elements

  float s[2 * columns];
  float maximum[2], sum[2] = {0.f, 0.f};
  u32 packed[2] = {0, 0}, shift;

  __device__ __forceinline__ Softmax(u32, u32 lane, u32 shift) : shift(shift) {
#pragma unroll
    for (int i = 0; i < 2 * columns; ++i)
      s[i] = static_cast<float>(static_cast<int>(random_pair(lane * 2 * columns + i) & 0xFF)) / 64.f - 2.f;
    maximum[0] = Kept ? 0.01f * static_cast<float>(lane) : -4.f;
    maximum[1] = Kept ? maximum[0] + 0.5f : -4.f;
  }

  __device__ __forceinline__ void chunk() {
    pin(s);
    if constexpr (Kept) {
      // A step of 0 that the compiler does not know: the assembler ignores pin() and would compute the exponentials
      // once for all chunks.
#pragma unroll
      for (int r = 0; r < 2; ++r) maximum[r] = __uint_as_float(__float_as_uint(maximum[r]) + shift);
    } else {
#pragma unroll
      for (int i = 0; i < 2 * columns; ++i) maximum[i % 2] = fmaxf(maximum[i % 2], s[i]);
      pin(maximum);
    }
    exponentials<Stepped ? 3 : 2 * columns>(s, maximum, sum, packed);
  }

  __device__ __forceinline__ float result() const {
    return summed(sum) + summed(maximum) + __uint_as_float(packed[0] ^ packed[1]);
  }
};

template <>
struct Repeated<VectorWork::softmax> : Softmax<false, false> {
  using Softmax::Softmax;
};
template <>
struct Repeated<VectorWork::softmax_kept> : Softmax<true, false> {
  using Softmax::Softmax;
};
template <>
struct Repeated<VectorWork::softmax_steps> : Softmax<true, true> {
  using Softmax::Softmax;
};

}  // namespace napkin
