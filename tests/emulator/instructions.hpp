#pragma once
// These functions of the emulator replace the GPU's instructions in kernels/device/. One thread calls each; a read,
// write or wait that would be wrong on hardware is an error with its place in the source. (README.md)

#include <cstdint>

/// The place of a call in a kernel: the last parameters of every instruction.
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

/// The position of the running thread in its block and grid.
struct Position {
  u32 thread = 0, threads = 0, block = 0, blocks = 0, rank = 0;
};
extern const Position* position;

/// The exponentials of all threads, counted in place since there are too many for a call each.
extern u64 exponentials;

// ---- shared memory --------------------------------------------------------------------------------------------------

/// Returns the address at which a block's dynamic shared memory begins.
u32 shared_base();
void shared_read(void* to, u32 address, u32 bytes, Place at);
void shared_write(u32 address, const void* from, u32 bytes, Place at);
/// fence.proxy.async
void async_fence(Place at);

// ---- barriers -------------------------------------------------------------------------------------------------------

void barrier_init(u32 barrier, u32 arrivals, Place at);
void barrier_init_fence(Place at);
/// Arrives at a barrier. `bytes` are further bytes for which the phase waits; `rank` is the block of the cluster,
/// negative for this one.
void barrier_arrive(u32 barrier, u32 bytes, int rank, Place at);
void barrier_wait(u32 barrier, u32 parity, Place at);
void named_barrier(u32 number, u32 threads, bool wait, Place at);
void cluster_barrier(Place at);
/// Executes setmaxnreg; waits for free registers if `grow`.
void set_registers(u32 registers, bool grow, Place at);

// ---- a warp's threads together --------------------------------------------------------------------------------------

void warp_barrier(u32 mask, Place at);
/// Returns the value of lane `source`.
u32 shuffle(u32 mask, u32 value, u32 source, Place at);
/// Returns the lanes whose predicate holds.
u32 ballot(u32 mask, bool predicate, Place at);

// ---- copies ---------------------------------------------------------------------------------------------------------

/// An array as a tensor map describes it, innermost axis first.
struct TensorBoxes {
  const char* name;
  unsigned char* base;
  u32 rank, element_bytes, swizzle_bytes;
  u64 sizes[5], strides[5];  ///< sizes in elements; strides in bytes, that of the innermost axis included
  u32 box[5];                ///< elements
};

/// Executes cp.async.bulk.tensor, device to shared memory; `blocks` has a bit for each receiving rank, 0 for this block
/// alone.
void load_box(u32 to, const TensorBoxes& map, u32 barrier, u32 blocks, const int* corner, u32 rank, Place at);
/// Executes cp.async.bulk.tensor, shared to device memory.
void store_box(u32 from, const TensorBoxes& map, const int* corner, u32 rank, Place at);
void store_commit(Place at);
/// Waits for stores: with `read` until shared memory was read, else until device memory was written.
void store_wait(u32 pending, bool read, Place at);

/// Executes cp.async.bulk, contiguous bytes from device to shared memory.
void load_bytes(u32 to, const void* from, u32 bytes, u32 barrier, Place at);
/// Executes cp.reduce.async.bulk.add.f32, shared to device memory.
void add_floats(float* to, u32 from, u32 bytes, Place at);

/// Executes cp.async of 16 bytes; writes zeros if `inside` is false.
void copy_async(u32 to, const void* from, bool inside, Place at);
void copy_commit(Place at);
void copy_wait(u32 pending, Place at);

// ---- products -------------------------------------------------------------------------------------------------------

/// ldmatrix.x4, stmatrix.x4
void load_matrices(u32* registers, u32 address, bool transposed, Place at);
void store_matrices(u32 address, const u32* registers, bool transposed, Place at);
/// mma.sync.m16n8k16
void mma(bool bf16, float* d, const u32* a, u32 b0, u32 b1, Place at);

/// The operands of wgmma.mma_async.m64nNk16, for e4m3 m64nNk32; `a` points to registers, or is null and A has a
/// descriptor.
struct Product {
  int n;
  bool bf16, transposed_b, accumulate;
  u64 a_matrix, b_matrix;
  bool e4m3 = false;
  bool halves = false;  ///< true for accumulators of fp16, two a register
};
void wgmma(const Product& product, float* d, const u32* a, Place at);
void wgmma_fence(Place at);
void wgmma_commit(Place at);
void wgmma_wait(u32 pending, Place at);
/// Checks registers before their use: a product in flight must not own them.
void use_registers(const void* registers, u32 bytes, Place at);

// ---- turns among blocks
// ----------------------------------------------------------------------------------------------

/// red.add.v4.f32
void add_four(float* to, const float* four, Place at);
/// Waits until the counter equals `turn`. As blocks run one after another, it is an error if the blocks so far have not
/// counted that far.
void await_turn(const u32* counter, u32 turn, Place at);
void end_turn(u32* counter, Place at);

// ---- arithmetic -----------------------------------------------------------------------------------------------------

float to_float(u16 bits, bool bf16);
/// Rounds to nearest even.
u16 to_16_bits(float value, bool bf16);
float from_e4m3(unsigned char bits);
/// Rounds to nearest even; numbers beyond 448 become 448.
unsigned char to_e4m3(float value);
/// ex2.approx.ftz
float exp2_approx(float x);

/// Checks that an address is in allocated device memory, for instructions that access it by address.
void check_device_memory(const void* address, u64 bytes, bool write, Place at);

}  // namespace emulator
