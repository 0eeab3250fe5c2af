// This file has the instructions by which threads wait for each other and for the copy engine: mbarriers, named
// barriers, the cluster's barrier, warps, and setmaxnreg, which waits for registers.

#include "tests/emulator/barriers.hpp"

namespace emulator {
namespace {

constexpr u32 all_lanes = 0xFFFFFFFFu, largest_transaction = (1u << 20) - 1;

Block& block_of_thread() { return *engine->thread().warp->block; }

/// Makes all that a warp has done so far visible to those who see `into`, and nothing that it does later.
void release(Warp& warp, Clock& into) {
  into.join(warp.seen);
  ++warp.seen[warp.part];
}

Mbarrier& barrier_at(Block& block, u32 offset) {
  for (Mbarrier& barrier : block.barriers) {
    if (barrier.offset == offset) return barrier;
  }
  engine->fail("uses an mbarrier that nobody has initialised, at offset " + std::to_string(offset));
}

void complete_phase(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.completed = barrier.arrived;
  barrier.arrived = Clock();
  ++barrier.phase;
  barrier.completed[barrier.part] = barrier.phase;
  barrier.pending = barrier.count;
  for (Thread* waiter : barrier.waiters) engine->wake(*waiter->warp, 1u << waiter->lane);
  barrier.waiters.clear();
}

/// Fails if the barrier's initialisation is not visible to this thread.
void check_initialised(const Mbarrier& barrier, bool other_block) {
  const Warp& warp = *engine->thread().warp;
  if (warp.seen[barrier.initialiser] < barrier.initialised)
    engine->fail("uses an mbarrier whose initialisation nothing orders before");
  if (other_block && !barrier.fenced)
    engine->fail("arrives from another block with no fence.mbarrier_init behind the initialisation");
}

}  // namespace

void deliver(Block& block, u32 offset, u32 phase, u32 bytes, Place at) {
  Mbarrier& barrier = barrier_at(block, offset);
  if (barrier.phase != phase)
    engine->fail("asked for a box that arrives in a later phase of its barrier: more arrives than was announced", at);
  barrier.bytes -= bytes;
  complete_phase(barrier);
}

BarrierPhase barrier_phase(Block& block, u32 address) {
  const SharedPlace place = shared_place(address, 8);
  Mbarrier& barrier = barrier_at(block, place.offset);
  check_initialised(barrier, false);
  if (!barrier.fenced)
    engine->fail("gives the copy engine an mbarrier with no fence.mbarrier_init behind its initialisation");
  return {barrier.part, barrier.phase, barrier.offset};
}

void barrier_init(u32 address, u32 arrivals, Place at) {
  engine->begin(at);
  const SharedPlace place = shared_place(address, 8);
  Block& block = *place.block;
  Warp& warp = *engine->thread().warp;
  if (place.offset % 8 != 0 || arrivals == 0 || arrivals >= 1u << 20) engine->fail("initialises an mbarrier wrongly");
  for (const Mbarrier& other : block.barriers) {
    if (other.offset == place.offset) engine->fail("initialises an mbarrier that is one already");
  }
  if (block.barriers.size() == most_barriers) engine->fail("initialises more mbarriers than the emulator has");
  engine->expect(block.shared.write(place.offset, 8, generic_access(at)));
  Mbarrier barrier;
  barrier.offset = place.offset;
  barrier.part = block.first_part + barrier_part + static_cast<u32>(block.barriers.size());
  barrier.count = barrier.pending = arrivals;
  barrier.initialiser = warp.part;
  barrier.initialised = warp.time();
  block.barriers.push_back(std::move(barrier));
}

void barrier_init_fence(Place at) {
  engine->begin(at);
  ++engine->counters.fences;
  const u32 own = engine->thread().warp->part;
  for (Mbarrier& barrier : block_of_thread().barriers) barrier.fenced |= barrier.initialiser == own;
}

void barrier_arrive(u32 address, u32 bytes, int rank, Place at) {
  engine->begin(at);
  ++engine->counters.barrier_arrivals;
  SharedPlace place = shared_place(address, 8);
  if (rank >= static_cast<int>(engine->blocks.size())) engine->fail("arrives in a block that the cluster has not");
  const bool other = rank >= 0 && static_cast<u32>(rank) != place.block->rank;
  if (rank >= 0) place.block = &engine->blocks[static_cast<u32>(rank)];
  Mbarrier& barrier = barrier_at(*place.block, place.offset);
  check_initialised(barrier, other);
  if (barrier.pending == 0) engine->fail("arrives at an mbarrier more often than it counts");
  if (bytes > largest_transaction) engine->fail("announces more bytes than an mbarrier counts");
  Warp& warp = *engine->thread().warp;
  if (other) place.block->reached[warp.part] = warp.time();
  release(warp, barrier.arrived);
  --barrier.pending;
  barrier.bytes += bytes;
  complete_phase(barrier);
  engine->step();
}

void barrier_wait(u32 address, u32 parity, Place at) {
  engine->begin(at);
  ++engine->counters.barrier_waits;
  const SharedPlace place = shared_place(address, 8);
  check_initialised(barrier_at(*place.block, place.offset), false);
  Thread& self = engine->thread();
  engine->step();
  for (;;) {
    Mbarrier& barrier = barrier_at(*place.block, place.offset);
    if ((barrier.phase & 1) != (parity & 1)) {
      Clock& seen = self.warp->seen;
      if (barrier.phase > 0 && seen[barrier.part] < barrier.phase) seen.join(barrier.completed);
      return;
    }
    barrier.waiters.push_back(&self);
    engine->block("the mbarrier at offset", place.offset);
  }
}

namespace {

void arrive_named(NamedBarrier& barrier, Warp& warp, u32 threads, Place at) {
  if (barrier.arrived == 0) {
    barrier.threads = threads;
    barrier.at = at;
  }
  if (barrier.threads != threads)
    engine->fail("comes to a named barrier with " + std::to_string(threads) + " threads that others, at " +
                 text_of(barrier.at) + ", join with " + std::to_string(barrier.threads));
  release(warp, barrier.clock);
  barrier.arrived += 32;
}

void complete_named(NamedBarrier& barrier, Warp* last) {
  const Clock clock = barrier.clock;
  for (Warp* waiter : barrier.waiters) {
    waiter->seen.join(clock);
    if (waiter != last) engine->wake(*waiter, all_lanes);
  }
  barrier.waiters.clear();
  barrier.arrived = 0;
  barrier.clock = Clock();
}

}  // namespace

void named_barrier(u32 number, u32 threads, bool wait, Place at) {
  engine->begin(at);
  engine->step();
  if (number >= 16 || threads % 32 != 0 || threads == 0 || threads > engine->thread().position.threads)
    engine->fail("names a barrier wrongly: number " + std::to_string(number) + ", " + std::to_string(threads) +
                 " threads");
  Gathering* gathering = nullptr;
  if (!engine->gather(wait ? "bar.sync" : "bar.arrive", all_lanes, nullptr, gathering)) return;
  gathering->closed = true;
  ++engine->counters.named_barriers;
  Thread& self = engine->thread();
  Warp& warp = *self.warp;
  NamedBarrier& barrier = warp.block->named[number];
  arrive_named(barrier, warp, threads, at);
  const u32 others = all_lanes & ~(1u << self.lane);
  if (wait) barrier.waiters.push_back(&warp);
  const bool complete = barrier.arrived >= barrier.threads;
  if (complete) complete_named(barrier, &warp);
  if (complete || !wait) {
    engine->wake(warp, others);
  } else {
    engine->block("the named barrier", number);
  }
}

void cluster_barrier(Place at) {
  engine->begin(at);
  Gathering* gathering = nullptr;
  if (!engine->gather("barrier.cluster", all_lanes, nullptr, gathering)) return;
  gathering->closed = true;
  Thread& self = engine->thread();
  ClusterBarrier& barrier = engine->cluster;
  release(*self.warp, barrier.clock);
  barrier.waiters.push_back(self.warp);
  u32 warps = 0;
  for (const Block& block : engine->blocks) warps += static_cast<u32>(block.warps.size());
  if (barrier.waiters.size() < warps) {
    engine->block("the cluster's barrier", 0);
    return;
  }
  const Clock clock = barrier.clock;
  for (Warp* waiter : barrier.waiters) {
    waiter->seen.join(clock);
    engine->wake(*waiter, waiter == self.warp ? all_lanes & ~(1u << self.lane) : all_lanes);
  }
  barrier = ClusterBarrier();
}

void set_registers(u32 registers, bool grow, Place at) {
  engine->begin(at);
  Gathering* gathering = nullptr;
  if (!engine->gather("setmaxnreg", all_lanes, nullptr, gathering)) return;
  gathering->closed = true;
  Thread& self = engine->thread();
  Warp& warp = *self.warp;
  Block& block = *warp.block;
  u32& own = block.warp_registers[warp.number];
  if (registers % 8 != 0 || registers < 24 || registers > 256)
    engine->fail("asks setmaxnreg for " + std::to_string(registers) + " registers");
  if (!grow && registers > own)
    engine->fail("asks setmaxnreg to shrink from " + std::to_string(own) + " to " + std::to_string(registers));
  // At launch a thread counts as having the most registers that the block's threads may have; it may need fewer.
  if (grow) registers = std::max(registers, own);
  while (grow && registers - own > block.registers_free) {
    block.want_registers.push_back(&self);
    engine->block("registers that another warpgroup gives back,", registers);
  }
  block.registers_free = block.registers_free + own - registers;
  own = registers;
  std::vector<Thread*> waiting;
  waiting.swap(block.want_registers);
  for (Thread* other : waiting) engine->wake(*other->warp, 1u << other->lane);
  engine->wake(warp, all_lanes & ~(1u << self.lane));
}

void warp_barrier(u32 mask, Place at) {
  engine->begin(at);
  Gathering* gathering = nullptr;
  if (engine->gather("__syncwarp", mask, nullptr, gathering)) engine->disperse(*gathering);
}

u32 shuffle(u32 mask, u32 value, u32 source, Place at) {
  struct Operand {
    u32 value, source, result;
  } own{value, source, 0};
  engine->begin(at);
  Gathering* gathering = nullptr;
  if (engine->gather("shfl.sync", mask, &own, gathering)) {
    ++engine->counters.shuffles;
    const auto operand = [&](u32 lane) { return static_cast<Operand*>(const_cast<void*>(gathering->operand[lane])); };
    for (u32 lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const u32 from = operand(lane)->source;
      if ((mask >> from & 1) == 0) engine->fail("shuffles from a lane outside of its mask");
      operand(lane)->result = operand(from)->value;
    }
    engine->disperse(*gathering);
  }
  return own.result;
}

u32 ballot(u32 mask, bool predicate, Place at) {
  struct Operand {
    bool predicate;
    u32 result;
  } own{predicate, 0};
  engine->begin(at);
  Gathering* gathering = nullptr;
  if (engine->gather("vote.sync", mask, &own, gathering)) {
    ++engine->counters.votes;
    const auto operand = [&](u32 lane) { return static_cast<Operand*>(const_cast<void*>(gathering->operand[lane])); };
    u32 votes = 0;
    for (u32 lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) != 0 && operand(lane)->predicate) votes |= 1u << lane;
    }
    for (u32 lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) != 0) operand(lane)->result = votes;
    }
    engine->disperse(*gathering);
  }
  return own.result;
}

}  // namespace emulator
