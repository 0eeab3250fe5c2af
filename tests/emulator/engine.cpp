#include "tests/emulator/engine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace emulator {

Engine* engine = nullptr;
const Position* position = nullptr;
u64 exponentials = 0;

namespace {

/// The stacks of the fibers, which are reused.
class Stacks {
 public:
  boost::context::stack_context allocate() {
    if (free_.empty()) {
      constexpr std::size_t count = 64;
      void* memory =
          mmap(nullptr, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) throw std::runtime_error("no memory for the emulator's stacks");
      for (std::size_t i = 0; i < count; ++i) free_.push_back(static_cast<char*>(memory) + (i + 1) * size);
    }
    boost::context::stack_context out;
    out.size = size;
    out.sp = free_.back();
    free_.pop_back();
    return out;
  }
  void deallocate(boost::context::stack_context& stack) { free_.push_back(static_cast<char*>(stack.sp)); }

 private:
  static constexpr std::size_t size = 64 * 1024;
  std::vector<char*> free_;
};
Stacks stacks;

struct Stack {
  boost::context::stack_context allocate() { return stacks.allocate(); }
  void deallocate(boost::context::stack_context& stack) { stacks.deallocate(stack); }
};

Temper temper_of(Random& random) {
  constexpr u32 early[] = {0, 0, 2000, 20000, 65536}, hop[] = {0, 500, 4000, 30000};
  return {early[random.below(5)], hop[random.below(4)]};
}

}  // namespace

Engine::Engine(u64 seed, Counters& c) : random(seed), counters(c) {
  for (int i = 0; i < 8; ++i) random.next();
  temper = temper_of(random);
  engine = this;
}

Engine::~Engine() { engine = nullptr; }

void Engine::create(const Grid& grid, u32 first_block) {
  blocks = std::vector<Block>(grid.cluster);
  cluster = ClusterBarrier();
  for (u32 rank = 0; rank < grid.cluster; ++rank) {
    Block& block = blocks[rank];
    block.rank = rank;
    block.first_part = rank * block_parts;
    block.shared.reset(grid.shared, block.first_part);
    const u32 warps = grid.threads / 32, groups = (warps + 3) / 4;
    const u32 registers = std::min<u32>(65536 / grid.threads / 8 * 8, 256);
    block.warp_registers.assign(warps, registers);
    for (u32 g = 0; g < groups; ++g) {
      block.groups.push_back({});
      block.groups.back().block = &block;
      block.groups.back().number = g;
      block.groups.back().part = block.first_part + product_part + g;
    }
    for (u32 w = 0; w < warps; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->block = &block;
      warp->number = w;
      warp->part = block.first_part + warp_part + w;
      warp->seen[warp->part] = 1;
      for (u32 lane = 0; lane < 32; ++lane) {
        auto thread = std::make_unique<Thread>();
        thread->position = {w * 32 + lane, grid.threads, first_block + rank, grid.blocks, rank};
        thread->warp = warp.get();
        thread->lane = lane;
        Thread* self = thread.get();
        thread->context =
            boost::context::fiber(std::allocator_arg, Stack(),
                                  [this, self](boost::context::fiber&& from) { return life(std::move(from), *self); });
        warp->threads[lane] = std::move(thread);
        ++alive_;
      }
      block.warps.push_back(std::move(warp));
      wake(*block.warps.back(), 0xFFFFFFFFu);
    }
  }
}

boost::context::fiber Engine::life(boost::context::fiber&& from, Thread& thread) {
  before_->context = std::move(from);
  grid_.entry(grid_.arguments);
  if (!thread.lent.empty()) fail("ends with products under way");
  if (thread.stores != 0) fail("ends while the copy engine may still read what it stores");
  if (!thread.copies.empty()) fail("ends with cp.async under way");
  thread.done = true;
  Warp& warp = *thread.warp;
  warp.block->ended.join(warp.seen);
  warp.ready &= ~(1u << thread.lane);
  --alive_;
  Thread& next = choose();
  before_ = &thread;
  thread_ = &next;
  position = &next.position;
  return std::move(next.context);
}

void Engine::switch_to(Thread& next) {
  if (&next == thread_) return;
  before_ = thread_;
  Thread& self = *thread_;
  thread_ = &next;
  position = &next.position;
  boost::context::fiber from = std::move(next.context).resume();
  if (from) before_->context = std::move(from);
  thread_ = &self;
  position = &self.position;
}

std::string Engine::run(const Grid& grid, u32 first_block) {
  grid_ = grid;
  alive_ = 0;
  ready_.clear();
  boxes.clear();
  failure_.clear();
  create(grid, first_block);
  thread_ = &main_;
  switch_to(choose());
  if (failure_.empty()) failure_ = exits();
  bury();
  return failure_;
}

/// Ends all fibers. Those that have not finished are unwound, except where they were stopped inside an instruction,
/// which cannot be.
void Engine::bury() {
  for (Block& block : blocks) {
    for (const auto& warp : block.warps) {
      for (const auto& thread : warp->threads) {
        if (thread->abandoned) new boost::context::fiber(std::move(thread->context));
      }
    }
  }
  blocks.clear();
}

std::string Engine::exits() {
  if (!boxes.empty()) return "the cluster ends with boxes on their way, asked for at " + text_of(boxes.front().at);
  for (const Block& block : blocks) {
    for (u32 part = 0; part < all_parts; ++part) {
      if (block.ended[part] < block.reached[part])
        return "block " + std::to_string(block.rank) + " of the cluster ends while " + name_of_part(part) +
               " may still reach its memory";
    }
    for (const Mbarrier& barrier : block.barriers) {
      if (barrier.bytes != 0) return "the cluster ends with an mbarrier that still counts bytes";
    }
  }
  return {};
}

void Engine::fail(const std::string& what, Place at) {
  std::string who =
      "block " + std::to_string(thread_->position.block) + ", thread " + std::to_string(thread_->position.thread);
  if (failure_.empty()) failure_ = text_of(at) + ": " + who + " " + what;
  switch_to(main_);
  std::terminate();  // control never returns here
}

void Engine::abandon(const std::string& what) {
  thread_->abandoned = true;
  fail("behind this place " + what);
}

void Engine::wake(Warp& warp, u32 lanes) {
  warp.ready |= lanes;
  if (!warp.queued && warp.ready != 0) {
    warp.queued = ready_.size();
    ready_.push_back(&warp);
  }
}

void Engine::block(const char* waits_for, u32 detail) {
  Thread& self = *thread_;
  self.waits_for = waits_for;
  self.detail = detail;
  self.warp->ready &= ~(1u << self.lane);
  switch_to(choose());
  self.waits_for = nullptr;
}

void Engine::step() {
  if (random.chance(temper.hop)) switch_to(choose());
}

u32 Engine::possible_work() const {
  u32 count = static_cast<u32>(boxes.size());
  for (const Block& block : blocks) {
    for (const Warpgroup& group : block.groups) count += !group.work.empty() && group.work.front().issued == 128;
  }
  return count;
}

void Engine::work_once() {
  u32 choice = random.below(possible_work());
  if (choice < boxes.size()) {
    const BoxWork work = boxes[choice];
    boxes[choice] = boxes.back();
    boxes.pop_back();
    perform(work);
    return;
  }
  choice -= static_cast<u32>(boxes.size());
  for (Block& block : blocks) {
    for (Warpgroup& group : block.groups) {
      if (!group.work.empty() && group.work.front().issued == 128 && choice-- == 0) {
        perform_product(group);
        return;
      }
    }
  }
}

Thread& Engine::choose() {
  if (alive_ == 0) return main_;
  while (temper.early != 0 && random.chance(temper.early) && possible_work() > 0) work_once();
  Warp* warp = thread_->warp;
  if (warp == nullptr || warp->ready == 0 || random.chance(temper.hop)) {
    for (;;) {
      while (ready_.empty()) {
        if (possible_work() == 0) {
          if (failure_.empty()) failure_ = deadlock();
          return main_;
        }
        work_once();
      }
      const u32 choice = random.below(static_cast<u32>(ready_.size()));
      warp = ready_[choice];
      if (warp->ready != 0) break;
      warp->queued.reset();
      ready_[choice] = ready_.back();
      ready_.pop_back();
      if (choice < ready_.size()) ready_[choice]->queued = choice;
    }
  }
  const u32 turn = random.next() % 32, above = warp->ready >> turn << turn;
  const u32 lane = static_cast<u32>(__builtin_ctz(above != 0 ? above : warp->ready));
  return *warp->threads[lane];
}

std::string Engine::deadlock() const {
  std::string out = "a wait that never ends:";
  int told = 0;
  for (const Block& block : blocks) {
    for (const auto& warp : block.warps) {
      const Thread* last = nullptr;
      for (const auto& thread : warp->threads) {
        const bool gathers = thread->waits_for != nullptr && std::strchr(thread->waits_for, ' ') == nullptr;
        if (thread->done || gathers || (last != nullptr && last->at.line == thread->at.line)) continue;
        last = thread.get();
        if (++told > 8) return out + " ...";
        out += " " + text_of(thread->at) + ": block " + std::to_string(thread->position.block) + ", thread " +
               std::to_string(thread->position.thread) + " waits for " +
               (thread->waits_for == nullptr ? "its turn" : thread->waits_for) + " " + std::to_string(thread->detail) +
               ";";
      }
    }
  }
  return out;
}

bool Engine::gather(const char* instruction, u32 mask, const void* operand, Gathering*& gathering) {
  Thread& self = *thread_;
  const u32 bit = 1u << self.lane;
  if ((mask & bit) == 0) fail(std::string(instruction) + " with a mask that lacks its own lane");
  gathering = nullptr;
  for (const auto& open : self.warp->gatherings) {
    if (open->closed || open->mask != mask || open->instruction != instruction || (open->arrived & bit) != 0) continue;
    gathering = open.get();
  }
  if (gathering == nullptr) {
    for (const auto& spare : self.warp->gatherings) {
      if (spare->closed) gathering = spare.get();
    }
    if (gathering == nullptr) {
      self.warp->gatherings.push_back(std::make_unique<Gathering>());
      gathering = self.warp->gatherings.back().get();
    }
    gathering->instruction = instruction;
    gathering->mask = mask;
    gathering->arrived = 0;
    gathering->closed = false;
  }
  gathering->operand[self.lane] = operand;
  gathering->arrived |= bit;
  if (gathering->arrived == mask) return true;
  block(instruction, 0);
  return false;
}

void Engine::disperse(Gathering& gathering) {
  gathering.closed = true;
  wake(*thread_->warp, gathering.mask & ~(1u << thread_->lane));
}

SharedPlace shared_place(u32 address, u32 bytes) {
  const u32 rank = address >> rank_shift, offset = (address & ((1u << rank_shift) - 1)) - base_address;
  if (rank >= engine->blocks.size() || !engine->blocks[rank].shared.inside(offset, bytes))
    engine->fail("touches shared memory outside of the block's: offset " + std::to_string(static_cast<int>(offset)));
  return {&engine->blocks[rank], offset};
}

Access generic_access(Place at) {
  const Warp& warp = *engine->thread().warp;
  return {&warp.seen, warp.part, warp.time(), false, at};
}

}  // namespace emulator
