#pragma once
// These structs hold the compile-time parameters and the arguments of the calibrating kernels: an AgentsConfig has the
// number of warpgroups that multiply. The structs are plain; host and device code include them. Clocks are the SM's own
// counter.

#include "kernels/device/tensor_map.cuh"

#ifdef __CUDACC__
#define NAPKIN_BOTH __host__ __device__
#else
#define NAPKIN_BOTH
#endif

namespace napkin {

// ---- agents.cuh: warpgroups at work side by side on an SM

enum class VectorWork {
  none,
  special_register,  // a read of the 64-bit clock, which has no operands, and an instruction that uses it
  ex2,
  fma,
  add,
  multiply,
  maximum,
  logic,
  fma16,        // pairs of bf16
  convert,      // two fp32 to a pair of bf16
  convert_fp8,  // four fp32 to a word of e4m3: two instructions
  shuffle,
  mix,      // equal parts of fma, maximum, ex2, add
  softmax,  // maximum of all elements first, then per element fma, ex2, add, half a conversion; its unit is an element
  softmax_kept,   // softmax without the maximum
  softmax_steps,  // softmax_kept in steps of three elements, as attention_sm90 with rescale=rarely
  ex2_fma,        // independent: one ex2, two fma
  ex2_maximum,    // one ex2, one maximum
  maximum_fma,    // one maximum, two fma
  load,           // shared memory, 16 bytes a thread; the units of these four are warp instructions of 512 bytes
  store,
  load_matrix,
  store_matrix,
};

struct AgentsConfig {
  int tensor_groups;  // warpgroups that issue products m64 n k16, one after another
  int n;
  bool a_registers;  // true if A is in registers; else in shared memory, as B always is
  int vector_groups;
  VectorWork work;
  bool copies;               // true for one more warp, which copies boxes from the L2 to shared memory
  bool synchronous = false;  // true if tensor warps issue mma.sync m16 n8 k16, n / 8 accumulators in turn
  int among = 0;             // synchronous: instructions of `work` between two products of a tensor warp; four times as
                             // many of a mix
  int loads = 0;             // synchronous: ldmatrix of B for every four products
  bool e4m3 = false;         // true for products m64 n k32 of e4m3; in registers A is laid out as P is

  /// Offsets in shared memory, which begins at a multiple of 1024.
  static constexpr int a_bytes = 64 * 64 * 2, warp_bytes = 4096, box_bytes = 64 * 128, boxes = 4;
  NAPKIN_BOTH constexpr int b_at() const { return tensor_groups * a_bytes; }
  NAPKIN_BOTH constexpr int scratch_at() const { return b_at() + n * 128; }
  NAPKIN_BOTH constexpr int scratch_bytes() const {
    return (vector_groups + (among + loads > 0 ? tensor_groups : 0)) * 4 * warp_bytes;
  }
  NAPKIN_BOTH constexpr int boxes_at() const { return (scratch_at() + scratch_bytes() + 1023) / 1024 * 1024; }
  NAPKIN_BOTH constexpr int barriers_at() const { return boxes_at() + (copies ? boxes * box_bytes : 0); }
  NAPKIN_BOTH constexpr int over_at() const { return barriers_at() + 8 * boxes; }
  NAPKIN_BOTH constexpr int shared() const { return over_at() + 8; }
  /// Returns the products of a commit; of mma.sync the products of one pass of a warp's loop: 64 or a few more, equally
  /// many for each accumulator.
  NAPKIN_BOTH constexpr int batch() const { return synchronous ? (512 + n - 1) / n * n / 8 : n > 64 ? 8 : 16; }
  NAPKIN_BOTH constexpr int threads() const { return 128 * (tensor_groups + vector_groups) + (copies ? 32 : 0); }
};

struct AgentsArguments {
  TensorMap from;  // rows of 128 bytes that copies read, four boxes of 64 a block
  unsigned long long*
      // [blocks, warps, 2]: units of work done, and their clocks; for a tensor warpgroup those of its first warp
      counts;
  long long window;  // clocks after which vector work and copies end, unless the first tensor warpgroup ends earlier
  int batches;       // batches of products that a tensor warpgroup issues
  int tensor_groups, vector_groups, copies;  // groups of the configuration that work; the others end at once
  int apart;                                 // boxes from a block's first one to the next block's; 0: all copy the same
  // 0, which the compiler does not know: the distance between the addresses of two loads, which it would else merge
  int shift;
  float* kept;  // null: a destination of the results, so that the compiler does not drop them
};

// ---- products.cuh: products from issue to the end of the wait

struct ProductsConfig {
  int groups;  // warpgroups that issue at the same time
  int n;
  bool a_registers;
  int batch;  // products a group issues before it waits
  bool e4m3 = false;

  NAPKIN_BOTH constexpr int b_at() const { return groups * AgentsConfig::a_bytes; }
  NAPKIN_BOTH constexpr int shared() const { return b_at() + n * 128; }
};

struct ProductsArguments {
  unsigned long long* marks;  // [repeats, groups, 3]: clock before the issue, after it, after the wait
  int repeats;
  int offset;   // clocks by which each group starts after the one before
  float* kept;  // null, as above
};

// ---- chase.cuh: loads whose addresses are the results of the loads before

enum class ChaseSpace { shared, cluster, global };  // cluster: the shared memory of the next block

struct ChaseConfig {
  ChaseSpace space;
};

struct ChaseArguments {
  unsigned int* ring;              // global: lines, each of which begins with the number of the next one
  unsigned long long lines, step;  // lines of 128 bytes; distance from a line to the next, modulo `lines`
  unsigned long long first;
  int steps, passes;           // the same steps again; the last pass is timed
  unsigned long long* clocks;  // [blocks]: clocks of the steps of the last pass
};

struct RingConfig {
  bool lay;
};

// ---- stream.cuh: threads that read, write, copy or add to device memory

enum class StreamWay { read, write, copy, add };

struct StreamConfig {
  StreamWay way;

  static constexpr int threads = 1024, unrolled = 4, chunk = threads * unrolled * 16;  // bytes
};

struct StreamArguments {
  char *from, *to;
  long long bytes;             // bytes of a block's part: whole chunks
  long long stride;            // distance from one block's part to the next block's; 0: all blocks read the same
  int warm_passes, passes;     // passes over the part; only `passes` are timed
  unsigned long long* clocks;  // [blocks]
  unsigned int* kept;          // null, as above
};

// ---- boxes.cuh: the copy engine

struct BoxesConfig {
  bool spin;    // true to wait by test_wait in a loop, else by try_wait, which sleeps
  int kib;      // KiB of a box; with multicast KiB that a block receives
  int stages;   // boxes in flight
  int cluster;  // blocks of a cluster; above 1 each loads its share of each box for all by multicast
  bool shared_tiles =
      // true if boxes come alternately from two tiles that other blocks read too, and each is kept for `work` clocks
      false;

  NAPKIN_BOTH constexpr int rows() const { return kib * 8; }  // rows of 128 bytes
  NAPKIN_BOTH constexpr int barriers_at() const { return stages * kib * 1024; }
  NAPKIN_BOTH constexpr int shared() const { return barriers_at() + 16 * stages; }
};

/// Block i reads tile i / divide % modulo, after `before` other tiles.
struct SharedTile {
  int divide, modulo, before;
};

struct BoxesArguments {
  TensorMap from;
  int block_rows;       // distance from the first row of a cluster to the next one's; 0: all read the same
  int count, warm;      // boxes; the first `warm` of them are not timed
  int around;           // boxes after which a block begins at its first row again
  SharedTile tiles[2];  // tiles with shared_tiles; block_rows are a tile's
  int work;             // clocks that a box is worked on before its stage is free, with shared_tiles
  // [blocks, 1 + count]: clocks of all timed boxes together; with one stage those of each box, too
  unsigned long long* clocks;
};

// ---- async_copies.cuh: copies requested by the threads that use them (cp.async)

struct AsyncCopiesConfig {
  int threads;
  int pieces;    // pieces of 16 bytes that a thread asks for at a time: a chunk
  int stages;    // chunks in flight
  int busy = 0;  // further warps that multiply (mma.sync), with an ldmatrix for every two products

  static constexpr int busy_bytes = 4096;
  NAPKIN_BOTH constexpr int bytes() const { return threads * pieces * 16; }
  NAPKIN_BOTH constexpr int busy_at() const { return stages * bytes(); }
  NAPKIN_BOTH constexpr int over_at() const { return busy_at() + busy_bytes; }
  NAPKIN_BOTH constexpr int shared() const { return over_at() + 16; }
};

struct AsyncCopiesArguments {
  const char* from;
  long long apart;             // distance from one block's bytes to the next block's; 0: all blocks read the same
  int count, warm;             // chunks; the first `warm` of them are not timed
  int around;                  // chunks after which a block begins at its first one again
  int shift;                   // 0, as above
  unsigned long long* clocks;  // [blocks]: clocks of the timed chunks
  float* kept;                 // null, as above
};

// ---- tiles.cuh: bandwidth from the L2 to the blocks of a product

struct TilesConfig {
  int stages;
  int cluster;                       // blocks along the rows that share B by multicast
  int a = 128, c = 128, chunk = 64;  // rows and columns of a tile; contracted elements, all of bf16

  /// Returns the columns of a box.
  static constexpr NAPKIN_BOTH int span(int columns) { return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16; }
  NAPKIN_BOTH constexpr int a_bytes() const { return a * chunk * 2; }
  NAPKIN_BOTH constexpr int stage_bytes() const { return (a + c) * chunk * 2; }
  NAPKIN_BOTH constexpr int barriers_at() const { return stages * stage_bytes(); }
  NAPKIN_BOTH constexpr int shared() const { return barriers_at() + 16 * stages; }
};

struct TilesArguments {
  TensorMap a, b;              // rows x around chunks, chunks x columns
  int rows;                    // rows of tiles: block (or cluster) i has row i % rows and column i / rows
  int count, warm;             // chunks; the first `warm` of them are not timed
  int around;                  // chunks after which a block begins at its first one again
  int work;                    // clocks that a consumer is busy with a chunk
  unsigned long long* clocks;  // [blocks]: clocks of the timed chunks
};

// ---- cluster.cuh: shared memory of the next block of a cluster

struct ClusterConfig {
  bool store;  // true to store, else load

  static constexpr int threads = 512, bytes = 65536;
};

struct ClusterArguments {
  int passes;                  // passes over `bytes`
  int shift;                   // 0, unknown to the compiler: it would move the loads out of the loop
  unsigned long long* clocks;  // [blocks]
  unsigned int* kept;          // null, as above
};

// ---- meet.cuh: barriers and fences

enum class Meeting {
  barrier,         // bar.sync of all threads
  named_round,     // two warpgroups that wait for each other in turn at named barriers, there and back
  mbarrier_round,  // a round by mbarriers
  fence,           // fence.proxy.async
  store_fence_barrier,
};

struct MeetConfig {
  Meeting meeting;
  int threads;
};

struct MeetArguments {
  int rounds;
  unsigned long long* clocks;  // [1]: clocks of all rounds
};

// ---- blocks.cuh: starts and ends of blocks

struct BlocksConfig {
  bool noted;
};

struct BlocksArguments {
  long long window;           // clocks that a block stays
  unsigned long long* spans;  // noted: [blocks, 3]: SM, clock at start, clock at end
};

#undef NAPKIN_BOTH

}  // namespace napkin
