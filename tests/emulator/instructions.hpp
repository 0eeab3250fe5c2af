#pragma once
// These functions of the emulator are what kernels/device/ asks of a GPU: each stands for one instruction, is called by
// one thread, and is an error with its place where the hardware would read, write or wait wrongly. (README.md)

#include <cstdint>

/// Where a kernel calls: the last parameters of every instruction.
#define EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define EMULATOR_AT file, line

namespace emulator {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Place {
  const char* file;
  int line;
};

/// Of the thread that runs.
struct Position {
  u32 thread = 0, threads = 0, block = 0, blocks = 0, rank = 0;
};
extern const Position* position;

/// Counted by every thread: too many calls to be a function each.
extern u64 exponentials;

// ---- shared memory --------------------------------------------------------------------------------------------------

/// Where a block's dynamic shared memory begins.
u32 shared_base();
void shared_read(void* to, u32 address, u32 bytes, Place at);
void shared_write(u32 address, const void* from, u32 bytes, Place at);
/// fence.proxy.async
void async_fence(Place at);

// ---- barriers -------------------------------------------------------------------------------------------------------

void barrier_init(u32 barrier, u32 arrivals, Place at);
void barrier_init_fence(Place at);
/// `bytes`: that the phase waits for beside; `rank`: the block of the cluster, negative: this one.
void barrier_arrive(u32 barrier, u32 bytes, int rank, Place at);
void barrier_wait(u32 barrier, u32 parity, Place at);
void named_barrier(u32 number, u32 threads, bool wait, Place at);
void cluster_barrier(Place at);
/// setmaxnreg; `grow`: may wait.
void set_registers(u32 registers, bool grow, Place at);

// ---- a warp's threads together --------------------------------------------------------------------------------------

void warp_barrier(u32 mask, Place at);
/// The value of lane `source`.
u32 shuffle(u32 mask, u32 value, u32 source, Place at);
/// The lanes whose predicate holds.
u32 ballot(u32 mask, bool predicate, Place at);

// ---- copies ---------------------------------------------------------------------------------------------------------

/// An array as the copy engine sees it, innermost axis first: what a tensor map points at.
struct TensorBoxes {
  const char* name;
  unsigned char* base;
  u32 rank, element_bytes, swizzle_bytes;
  u64 sizes[5], strides[5];  ///< elements; bytes, the innermost too
  u32 box[5];                ///< elements
};

/// cp.async.bulk.tensor, device to shared memory; `blocks`: ranks by bit, 0: this one alone.
void load_box(u32 to, const TensorBoxes& map, u32 barrier, u32 blocks, const int* corner, u32 rank, Place at);
/// The other way.
void store_box(u32 from, const TensorBoxes& map, const int* corner, u32 rank, Place at);
void store_commit(Place at);
/// `read`: until shared memory was read; else until device memory was written.
void store_wait(u32 pending, bool read, Place at);

/// cp.async.bulk of bytes one behind the other, device to shared memory.
void load_bytes(u32 to, const void* from, u32 bytes, u32 barrier, Place at);
/// cp.reduce.async.bulk.add.f32: the other way.
void add_floats(float* to, u32 from, u32 bytes, Place at);

/// cp.async of 16 bytes; not `inside`: zeros.
void copy_async(u32 to, const void* from, bool inside, Place at);
void copy_commit(Place at);
void copy_wait(u32 pending, Place at);

// ---- products -------------------------------------------------------------------------------------------------------

/// ldmatrix.x4, stmatrix.x4
void load_matrices(u32* registers, u32 address, bool transposed, Place at);
void store_matrices(u32 address, const u32* registers, bool transposed, Place at);
/// mma.sync.m16n8k16
void mma(bool bf16, float* d, const u32* a, u32 b0, u32 b1, Place at);

/// wgmma.mma_async.m64nNk16, of e4m3 m64nNk32; `a`: registers, or null and a descriptor.
struct Product {
  int n;
  bool bf16, transposed_b, accumulate;
  u64 a_matrix, b_matrix;
  bool e4m3 = false;
  bool halves = false;  ///< accumulators of fp16, two a register
};
void wgmma(const Product& product, float* d, const u32* a, Place at);
void wgmma_fence(Place at);
void wgmma_commit(Place at);
void wgmma_wait(u32 pending, Place at);
/// These registers are about to be used.
void use_registers(const void* registers, u32 bytes, Place at);

// ---- turns among blocks
// ----------------------------------------------------------------------------------------------

/// red.add.v4.f32
void add_four(float* to, const float* four, Place at);
/// Until the counter says so: an error where no block that has run has counted so far, for blocks run one by one.
void await_turn(const u32* counter, u32 turn, Place at);
void end_turn(u32* counter, Place at);

// ---- arithmetic -----------------------------------------------------------------------------------------------------

float to_float(u16 bits, bool bf16);
/// Rounded to nearest even.
u16 to_16_bits(float value, bool bf16);
float from_e4m3(unsigned char bits);
/// Rounded to nearest even; beyond 448: 448.
unsigned char to_e4m3(float value);
/// ex2.approx.ftz
float exp2_approx(float x);

/// Device memory that a kernel uses by plain pointers may be read through this one only where it is allocated.
void check_device_memory(const void* address, u64 bytes, bool write, Place at);

}  // namespace emulator
