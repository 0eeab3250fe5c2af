// This file has asynchronous copies: boxes of the copy engine (TMA) and cp.async.

#include <algorithm>
#include <cstring>

#include "tests/emulator/barriers.hpp"
#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/layout.hpp"

namespace emulator {
namespace {

u32 box_bytes(const TensorBoxes& map) {
  u32 bytes = map.element_bytes;
  for (u32 i = 0; i < map.rank; ++i) bytes *= map.box[i];
  return bytes;
}

void check_box(const TensorBoxes& map, u32 address, u32 rank) {
  const u32 inner = map.box[0] * map.element_bytes;
  if (map.rank != rank)
    engine->fail("names a box by " + std::to_string(rank) + " coordinates of " + std::to_string(map.rank));
  if (map.swizzle_bytes != 0 && inner > map.swizzle_bytes) engine->fail("moves a box that is wider than its swizzle");
  if (inner % 16 != 0) engine->fail("moves a box whose rows are no multiple of 16 bytes");
  for (u32 i = 0; i < map.rank; ++i) {
    if (map.box[i] == 0 || map.box[i] > 256) engine->fail("moves a box with a side beyond 256");
  }
  if (address % 128 != 0) engine->fail("moves a box whose place in shared memory is no multiple of 128 bytes");
}

/// A row of a box: its begin in device memory, and which of its bytes lie in the array.
struct BoxRow {
  unsigned char* from;
  u32 skipped, inside;
};

/// Calls visit(number of the row, BoxRow).
template <class Visit>
void each_row(const BoxWork& work, const Visit& visit) {
  const TensorBoxes& map = *work.map;
  const long long inner = map.box[0] * static_cast<long long>(map.element_bytes);
  u32 rows = 1;
  for (u32 i = 1; i < map.rank; ++i) rows *= map.box[i];
  for (u32 row = 0; row < rows; ++row) {
    u32 rest = row;
    bool inside = true;
    long long at = 0;
    for (u32 i = 1; i < map.rank; ++i) {
      const long long index = work.corner[i] + static_cast<long long>(rest % map.box[i]);
      rest /= map.box[i];
      inside &= index >= 0 && index < static_cast<long long>(map.sizes[i]);
      at += index * static_cast<long long>(map.strides[i]);
    }
    const long long first = work.corner[0] * static_cast<long long>(map.element_bytes),
                    end = static_cast<long long>(map.sizes[0]) * map.element_bytes,
                    from = std::clamp<long long>(-first, 0, inner),
                    to = std::clamp<long long>(end - first, from, inner);
    visit(row, BoxRow{map.base + at + first, static_cast<u32>(from), inside ? static_cast<u32>(to - from) : 0});
  }
}

/// Calls visit(offset in shared memory, address, bytes inside the array) for each 16 bytes of a box.
template <class Visit>
void each_unit(const BoxWork& work, const Visit& visit) {
  const u32 inner = work.map->box[0] * work.map->element_bytes;
  each_row(work, [&](u32 row, const BoxRow& found) {
    for (u32 byte = 0; byte < inner; byte += granule_bytes) {
      const u32 from = std::max(byte, found.skipped), to = std::min(byte + granule_bytes, found.skipped + found.inside);
      if (from != byte && from < to)
        engine->fail("moves a box that begins within 16 bytes of an array's edge", work.at);
      // The swizzle permutes addresses, and a block's shared memory begins at a multiple of 1024.
      visit(swizzled(work.offset + row * inner + byte, work.map->swizzle_bytes), found.from + byte,
            from < to ? to - from : 0);
    }
  });
}

/// Returns the bytes of a box that the hardware counter of one receiver sees. (eq. 2.5)
u64 counted_bytes(const BoxWork& work, bool multicast) {
  const u32 inner = work.map->box[0] * work.map->element_bytes;
  u64 out = 0;
  each_row(work, [&](u32, const BoxRow& row) {
    const auto first = reinterpret_cast<std::uintptr_t>(row.from) + row.skipped;
    for (std::uintptr_t at = first; at < first + row.inside;) {
      const std::uintptr_t line_end = std::min<std::uintptr_t>((at / 128 + 1) * 128, first + row.inside);
      const u64 sectors = (line_end + 31) / 32 - at / 32;
      out += std::max<u64>(32 * sectors, multicast ? 64 : 0);
      at = line_end;
    }
    const u64 zeros = inner - row.inside;
    if (zeros > 0) out += std::max<u64>((zeros + 31) / 32 * 32, multicast ? 96 : 0);
  });
  return out;
}

void perform_load(const BoxWork& work) {
  if (work.bytes != nullptr) {
    std::memcpy(work.block->shared.at(work.offset), work.bytes, work.count);
    deliver(*work.block, work.barrier, work.phase, work.count, work.at);
    return;
  }
  each_unit(work, [&](u32 offset, const unsigned char* from, u32 valid) {
    unsigned char* to = work.block->shared.at(offset);
    if (valid < granule_bytes) std::memset(to, 0, granule_bytes);
    if (valid != 0) {
      check_device_memory(from, valid, false, work.at);
      std::memcpy(to, from, valid);
    }
  });
  deliver(*work.block, work.barrier, work.phase, box_bytes(*work.map), work.at);
}

/// Adds floats in shared memory to floats in device memory.
void perform_add(const BoxWork& work) {
  const unsigned char* from = work.block->shared.at(work.offset);
  for (u32 at = 0; at < work.count; at += sizeof(float)) {
    float sum = 0, value = 0;
    std::memcpy(&sum, work.bytes + at, sizeof sum);
    std::memcpy(&value, from + at, sizeof value);
    sum += value;
    std::memcpy(work.bytes + at, &sum, sizeof sum);
  }
  --work.thread->stores;
}

void perform_store(const BoxWork& work) {
  if (work.bytes != nullptr) {
    perform_add(work);
    return;
  }
  each_unit(work, [&](u32 offset, unsigned char* to, u32 valid) {
    if (valid == 0) return;
    check_device_memory(to, valid, true, work.at);
    std::memcpy(to, work.block->shared.at(offset), valid);
  });
  --work.thread->stores;
}

BoxWork box_work(const TensorBoxes& map, const int* corner, Block& block, u32 offset, Place at) {
  BoxWork work;
  work.map = &map;
  std::copy(corner, corner + map.rank, work.corner);
  work.block = &block;
  work.offset = offset;
  work.at = at;
  return work;
}

void perform_copy(Thread& thread, const Thread::Copy& copy) {
  unsigned char* to = thread.warp->block->shared.at(copy.to);
  if (copy.from == nullptr) {
    std::memset(to, 0, granule_bytes);
  } else {
    std::memcpy(to, copy.from, granule_bytes);
  }
}

/// Records an event. Boxes of one array that complete together are one event, requested with the first.
void trace_box(const BoxWork& work, u32 part, u32 time, u32 agent) {
  Trace* trace = engine->trace;
  if (trace == nullptr) return;
  const Thread& self = engine->thread();
  const Warp& warp = *self.warp;
  const std::string array = work.map == nullptr ? "" : work.map->name;
  for (auto event = trace->rbegin(); event != trace->rend(); ++event) {
    if (event->part != part || event->block != self.position.block) continue;
    if (event->time == time && event->array == array) return;
  }
  Event event;
  event.kind = work.load ? Event::Kind::load : Event::Kind::store;
  event.array = array;
  event.block = self.position.block;
  event.agent = agent;
  event.offset = work.offset;
  event.before = warp.seen;
  event.part = part;
  event.time = time;
  event.issuer = warp.part;
  event.issued[0] = warp.time();
  trace->push_back(event);
}

}  // namespace

void Engine::perform(BoxWork work) { work.load ? perform_load(work) : perform_store(work); }

void load_box(u32 to, const TensorBoxes& map, u32 barrier, u32 ranks, const int* corner, u32 rank, Place at) {
  engine->begin(at);
  check_box(map, to, rank);
  const u32 bytes = box_bytes(map);
  const SharedPlace place = shared_place(to, bytes);
  const u32 own = place.block->rank;
  if (ranks >> engine->blocks.size() != 0) engine->fail("sends a box to a block that the cluster has not");
  const Warp& warp = *engine->thread().warp;
  ++engine->counters.boxes_loaded;
  engine->counters.box_bytes_sent += bytes;
  for (Block& block : engine->blocks) {
    if (((ranks == 0 ? 1u << own : ranks) >> block.rank & 1) == 0) continue;
    const BarrierPhase phase = barrier_phase(block, barrier);
    BoxWork work = box_work(map, corner, block, place.offset, at);
    work.barrier = phase.offset;
    work.phase = phase.phase;
    engine->expect(block.shared.write(place.offset, bytes, {&warp.seen, phase.part, phase.phase + 1, true, at}));
    trace_box(work, phase.part, phase.phase + 1, 0);
    engine->counters.box_bytes[map.name] += bytes;
    engine->counters.delivered += counted_bytes(work, ranks != 0);
    engine->boxes.push_back(work);
  }
  engine->step();
}

void store_box(u32 from, const TensorBoxes& map, const int* corner, u32 rank, Place at) {
  engine->begin(at);
  check_box(map, from, rank);
  const u32 bytes = box_bytes(map);
  const SharedPlace place = shared_place(from, bytes);
  Thread& self = engine->thread();
  Warp& warp = *self.warp;
  BoxWork work = box_work(map, corner, *place.block, place.offset, at);
  work.load = false;
  work.thread = &self;
  work.group = self.store_groups + 1;
  const u32 part = place.block->first_part + store_part + warp.number;
  engine->expect(place.block->shared.read(place.offset, bytes, {&warp.seen, part, work.group, true, at}));
  trace_box(work, part, work.group, warp.number / 4);
  ++engine->counters.boxes_stored;
  engine->counters.box_bytes_stored += bytes;
  ++self.stores;
  engine->boxes.push_back(work);
  engine->step();
}

void load_bytes(u32 to, const void* from, u32 bytes, u32 barrier, Place at) {
  engine->begin(at);
  if (to % granule_bytes != 0 || bytes % granule_bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % granule_bytes != 0)
    engine->fail("copies bytes whose places or number are no multiples of 16");
  const SharedPlace place = shared_place(to, bytes);
  const Warp& warp = *engine->thread().warp;
  const BarrierPhase phase = barrier_phase(*place.block, barrier);
  BoxWork work;
  work.block = place.block;
  work.offset = place.offset;
  work.at = at;
  work.bytes = static_cast<unsigned char*>(const_cast<void*>(from));
  work.count = bytes;
  work.barrier = phase.offset;
  work.phase = phase.phase;
  check_device_memory(from, bytes, false, at);
  engine->expect(place.block->shared.write(place.offset, bytes, {&warp.seen, phase.part, phase.phase + 1, true, at}));
  const auto first = reinterpret_cast<std::uintptr_t>(from);
  engine->counters.delivered += 32 * ((first + bytes + 31) / 32 - first / 32);
  engine->boxes.push_back(work);
  engine->step();
}

void add_floats(float* to, u32 from, u32 bytes, Place at) {
  engine->begin(at);
  if (from % granule_bytes != 0 || bytes % granule_bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(to) % granule_bytes != 0)
    engine->fail("adds floats whose places or number are no multiples of 16 bytes");
  const SharedPlace place = shared_place(from, bytes);
  Thread& self = engine->thread();
  const Warp& warp = *self.warp;
  BoxWork work;
  work.load = false;
  work.block = place.block;
  work.offset = place.offset;
  work.at = at;
  work.bytes = reinterpret_cast<unsigned char*>(to);
  work.count = bytes;
  work.thread = &self;
  work.group = self.store_groups + 1;
  check_device_memory(to, bytes, true, at);
  const u32 part = place.block->first_part + store_part + warp.number;
  engine->expect(place.block->shared.read(place.offset, bytes, {&warp.seen, part, work.group, true, at}));
  trace_box(work, part, work.group, warp.number);
  engine->counters.bytes_added += bytes;
  ++self.stores;
  engine->boxes.push_back(work);
  engine->step();
}

void add_four(float* to, const float* four, Place at) {
  engine->begin(at);
  check_device_memory(to, 4 * sizeof(float), true, at);
  engine->trace_write();
  for (int i = 0; i < 4; ++i) to[i] += four[i];
  engine->counters.bytes_added += 4 * sizeof(float);
}

void await_turn(const u32* counter, u32 turn, Place at) {
  engine->begin(at);
  check_device_memory(counter, sizeof *counter, false, at);
  if (*counter != turn)
    engine->fail("waits for turn " + std::to_string(turn) + ", and the blocks before have ended " +
                 std::to_string(*counter));
}

void end_turn(u32* counter, Place at) {
  engine->begin(at);
  check_device_memory(counter, sizeof *counter, true, at);
  ++*counter;
}

void store_commit(Place at) {
  engine->begin(at);
  ++engine->thread().store_groups;
}

void store_wait(u32 pending, bool, Place at) {
  engine->begin(at);
  engine->step();
  Thread& self = engine->thread();
  const u32 done = self.store_groups > pending ? self.store_groups - pending : 0;
  for (std::size_t i = 0; i < engine->boxes.size();) {
    const BoxWork work = engine->boxes[i];
    if (work.thread != &self || work.group > done) {
      ++i;
      continue;
    }
    engine->boxes[i] = engine->boxes.back();
    engine->boxes.pop_back();
    engine->perform(work);
  }
  u32& seen = self.warp->seen[self.warp->block->first_part + store_part + self.warp->number];
  seen = std::max(seen, done);
}

void copy_async(u32 to, const void* from, bool inside, Place at) {
  engine->begin(at);
  const SharedPlace place = shared_place(to, granule_bytes);
  if (to % granule_bytes != 0) engine->fail("copies to an address that is no multiple of 16 bytes");
  Thread& self = engine->thread();
  const Warp& warp = *self.warp;
  const u32 part = place.block->first_part + copy_part + warp.number, group = self.copy_groups + 1;
  engine->expect(place.block->shared.write(place.offset, granule_bytes, {&warp.seen, part, group, false, at}));
  if (inside) check_device_memory(from, granule_bytes, false, at);
  ++engine->counters.copies;
  if (inside) engine->counters.copied_bytes += granule_bytes;
  if (inside) engine->counters.delivered += granule_bytes;
  const Thread::Copy copy{place.offset, inside ? from : nullptr, group};
  if (engine->random.chance(engine->temper.early)) {
    perform_copy(self, copy);
  } else {
    self.copies.push_back(copy);
  }
}

void copy_commit(Place at) {
  engine->begin(at);
  ++engine->thread().copy_groups;
}

void copy_wait(u32 pending, Place at) {
  engine->begin(at);
  engine->step();
  Thread& self = engine->thread();
  const u32 done = self.copy_groups > pending ? self.copy_groups - pending : 0;
  for (const Thread::Copy& copy : self.copies) {
    if (copy.group <= done) perform_copy(self, copy);
  }
  std::erase_if(self.copies, [&](const Thread::Copy& copy) { return copy.group <= done; });
  u32& seen = self.warp->seen[self.warp->block->first_part + copy_part + self.warp->number];
  seen = std::max(seen, done);
}

}  // namespace emulator
