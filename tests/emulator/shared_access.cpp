// This file has ordinary accesses of single threads to shared memory, and the fence between them and the asynchronous
// proxy.

#include <cstring>

#include "tests/emulator/engine.hpp"

namespace emulator {

void Engine::trace_write(u32 offset, bool by_matrix) {
  const Thread& self = thread();
  Warp& warp = *self.warp;
  if (trace == nullptr || self.lane != 0) return;
  if (!trace->arrays.empty() && warp.write_event) {
    const Event& own = (*trace)[*warp.write_event];
    if (own.by_matrix != by_matrix || trace->array_at(own.to) != trace->array_at(offset)) warp.write_event.reset();
  }
  if (!warp.thread_event && warp.write_event && (*trace)[*warp.write_event].time != warp.time())
    warp.write_event.reset();
  if (!warp.write_event) {
    Event event;
    if (warp.thread_event) event = (*trace)[*warp.thread_event];
    if (!warp.thread_event) event.offset = offset;
    event.kind = Event::Kind::write;
    event.to = offset;
    event.by_matrix = by_matrix;
    event.block = self.position.block;
    event.agent = warp.number;
    event.part = event.issuer = warp.part;
    event.before = warp.seen;
    warp.write_event = trace->size();
    trace->push_back(std::move(event));
  }
  (*trace)[*warp.write_event].time = warp.time();
}

u32 shared_base() { return base_address | engine->thread().position.rank << rank_shift; }

void shared_read(void* to, u32 address, u32 bytes, Place at) {
  engine->begin(at);
  const auto [block, offset] = shared_place(address, bytes);
  if (address % bytes != 0) engine->fail("reads at an address that is no multiple of " + std::to_string(bytes));
  engine->expect(block->shared.read(offset, bytes, generic_access(at)));
  std::memcpy(to, block->shared.at(offset), bytes);
}

void shared_write(u32 address, const void* from, u32 bytes, Place at) {
  engine->begin(at);
  const auto [block, offset] = shared_place(address, bytes);
  engine->trace_write(offset);
  if (address % bytes != 0) engine->fail("writes at an address that is no multiple of " + std::to_string(bytes));
  engine->expect(block->shared.write(offset, bytes, generic_access(at)));
  engine->thread().warp->unpublished.push_back(offset / granule_bytes);
  std::memcpy(block->shared.at(offset), from, bytes);
}

void async_fence(Place at) {
  engine->begin(at);
  ++engine->counters.fences;
  Warp& warp = *engine->thread().warp;
  warp.block->shared.publish(warp.unpublished);
}

}  // namespace emulator
