#pragma once
// An Engine emulates a GPU for one cluster: threads are fibers, the lanes of a warp wait for each other at an
// instruction, and asynchronous units work at moments that the seed chooses. Internal to the emulator; kernels include
// instructions.hpp, tests launch.hpp.

#include <boost/context/fiber.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/counters.hpp"
#include "tests/emulator/shared_memory.hpp"
#include "tests/emulator/trace.hpp"

namespace emulator {

class Random {
 public:
  explicit Random(u64 seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) {}
  u32 next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<u32>(state_ >> 32);
  }
  u32 below(u32 n) { return static_cast<u32>(static_cast<u64>(next()) * n >> 32); }
  /// Returns true in `most` of 65536 cases.
  bool chance(u32 most) { return (next() & 0xFFFF) < most; }

 private:
  u64 state_;
};

struct Warp;
struct Block;
struct Warpgroup;

/// An accumulator to which products in flight add: its registers get the values back at the wait that covers the last
/// product.
struct Chain {
  int n = 0;
  bool halves = false;
  u32 taken = 0;  ///< number of threads that have it back
  std::vector<float> d;
};

struct Thread {
  Position position;
  Warp* warp = nullptr;
  u32 lane = 0;
  boost::context::fiber context;
  bool done = false, abandoned = false;
  Place at{nullptr, 0};
  const char* waits_for = nullptr;  ///< name of the wait, for error messages
  u32 detail = 0;

  // Products: the number issued, the number issued at each commit, and the accumulators in use.
  struct Lent {
    float* registers;
    std::shared_ptr<Chain> chain;
    u32 last;  ///< number of the last product that adds to it
  };
  u32 products = 0, chains = 0;
  bool fenced = false;  ///< true if there was a wgmma.fence since the last wait
  std::vector<u32> product_groups;
  std::vector<Lent> lent;

  // Bulk stores and cp.async: groups committed.
  u32 stores = 0, store_groups = 0, copy_groups = 0;
  struct Copy {
    u32 to;
    const void* from;  ///< source; null: zeros
    u32 group;
  };
  std::vector<Copy> copies;
};

/// The lanes of a warp that have reached one instruction.
struct Gathering {
  const char* instruction;
  u32 mask, arrived = 0;
  std::array<const void*, 32> operand{};
  bool closed = false;  ///< true once the last lane has arrived
};

struct Warp {
  Block* block = nullptr;
  u32 number = 0, part = 0, ready = 0;
  std::optional<std::size_t> queued;  ///< place among the warps that can run
  std::array<std::unique_ptr<Thread>, 32> threads;
  std::vector<std::unique_ptr<Gathering>> gatherings;
  Clock seen;
  /// Event of the trace: work of its threads since the last wait for a product.
  std::optional<std::size_t> thread_event;
  std::optional<std::size_t> write_event;  ///< event of the trace: their writes since then
  std::vector<u32> unpublished;            ///< granules written since the last fence.proxy.async

  [[nodiscard]] u32 time() const { return seen[part]; }
};

/// One wgmma of a warpgroup.
struct ProductWork {
  Product product;
  bool a_in_registers = false;
  Place at{nullptr, 0};
  std::shared_ptr<Chain> chain;
  std::array<const u32*, 128> a{};
  std::array<u32, 4> arrived{};
  u32 issued = 0;
};

struct Warpgroup {
  Block* block = nullptr;
  u32 number = 0, part = 0;
  std::deque<ProductWork> work;
  u32 first = 0;  ///< number of the first of `work`: all earlier ones are done
  std::deque<std::shared_ptr<Chain>> chains;
  u32 first_chain = 0;  ///< number of the first of `chains`
  struct Waiter {
    Warp* warp;
    u32 products;
  };
  std::vector<Waiter> waiters;
};

struct Mbarrier {
  u32 offset = 0, part = 0, count = 0, pending = 0, phase = 0, initialiser = 0, initialised = 0;
  long long bytes = 0;
  bool fenced = false;
  Clock arrived, completed;
  std::vector<Thread*> waiters;
};

struct NamedBarrier {
  u32 threads = 0, arrived = 0;
  Place at{nullptr, 0};
  Clock clock;
  std::vector<Warp*> waiters;
};

struct ClusterBarrier {
  Clock clock;
  std::vector<Warp*> waiters;
};

struct Block {
  u32 rank = 0, first_part = 0;
  SharedMemory shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Warpgroup> groups;
  std::vector<Mbarrier> barriers;
  std::array<NamedBarrier, 16> named;
  u32 registers_free = 0;
  Clock reached;                    ///< accesses of other blocks to this one's memory
  Clock ended;                      ///< accesses that its threads had seen when they ended
  std::vector<u32> warp_registers;  ///< registers of a thread, by warp
  std::vector<Thread*> want_registers;
};

/// A box that is being copied.
struct BoxWork {
  bool load = true;
  const TensorBoxes* map = nullptr;
  int corner[5]{};
  Block* block = nullptr;  ///< block in whose shared memory the box is
  u32 offset = 0;
  u32 barrier = 0, phase = 0;      ///< barrier of a load and its phase, in its block
  Thread* thread = nullptr;        ///< thread that issued a store
  unsigned char* bytes = nullptr;  ///< contiguous bytes in place of a box; a store of them adds floats
  u32 count = 0;                   ///< of them
  u32 group = 0;
  Place at{nullptr, 0};
};

/// Probabilities of a seed in 65536ths. early: a unit works before it must; hop: another warp runs though this one
/// could go on.
struct Temper {
  u32 early = 0, hop = 0;
};

class Engine {
 public:
  Engine(u64 seed, Counters& counters);
  ~Engine();

  struct Grid {
    u32 blocks = 1, threads = 1, cluster = 1, shared = 0;
    void (*entry)(const void*) = nullptr;
    const void* arguments = nullptr;
  };
  /// Runs the blocks of one cluster from their first instruction to their last. Returns an error, or an empty text.
  std::string run(const Grid& grid, u32 first_block);

  [[nodiscard]] Thread& thread() { return *thread_; }
  Random random;
  Temper temper;
  Counters& counters;
  Trace* trace = nullptr;  ///< null: not wanted
  std::vector<Block> blocks;
  ClusterBarrier cluster;
  std::vector<BoxWork> boxes;  ///< under way

  [[noreturn]] void fail(const std::string& what) { fail(what, thread_->at); }
  [[noreturn]] void fail(const std::string& what, Place at);
  /// Fails inside an instruction, where the thread's stack cannot be unwound.
  [[noreturn]] void abandon(const std::string& what);
  /// Fails with the text `wrong`, unless it is empty.
  void expect(const std::string& wrong) {
    if (!wrong.empty()) fail(wrong);
  }
  void begin(Place at) { thread_->at = at; }

  /// Stops the thread until another one wakes it.
  void block(const char* waits_for, u32 detail);
  void wake(Warp& warp, u32 lanes);
  /// Lets other warps run and units work, if the seed chooses so.
  void step();

  /// Waits for the lanes of `mask`. Returns true to the last one to arrive, which does the instruction's work and wakes
  /// the others.
  bool gather(const char* instruction, u32 mask, const void* operand, Gathering*& gathering);
  /// Ends an instruction, after the last lane has done its work.
  void disperse(Gathering& gathering);

  /// Records a write of the thread, to shared memory at `offset` or to a sum. A warp's writes after one wait for a
  /// product are one event; before any such wait, its writes between two releases are.
  void trace_write(u32 offset = 0, bool by_matrix = false);

  void perform(BoxWork work);
  void perform_product(Warpgroup& group);

 private:
  void create(const Grid& grid, u32 first_block);
  [[nodiscard]] std::string exits();
  void bury();
  void switch_to(Thread& next);
  [[nodiscard]] Thread& choose();
  [[nodiscard]] u32 possible_work() const;
  void work_once();
  [[nodiscard]] std::string deadlock() const;
  boost::context::fiber life(boost::context::fiber&& from, Thread& thread);

  Grid grid_;
  Thread main_;
  Thread* thread_ = nullptr;
  Thread* before_ = nullptr;  ///< thread that switched to the running one
  std::vector<Warp*> ready_;
  u32 alive_ = 0;
  std::string failure_;
};

/// The engine whose threads are running.
extern Engine* engine;

constexpr u32 base_address = 1024, rank_shift = 24;

/// The block and the offset of a shared-memory address.
struct SharedPlace {
  Block* block;
  u32 offset;
};
SharedPlace shared_place(u32 address, u32 bytes);
[[nodiscard]] Access generic_access(Place at);

}  // namespace emulator
