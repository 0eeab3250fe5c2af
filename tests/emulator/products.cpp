// This file has the tensor cores of a warpgroup: wgmma, which runs asynchronously.

#include <algorithm>
#include <cstring>

#include "kernels/reference/e4m3_sum.hpp"
#include "tests/emulator/engine.hpp"
#include "tests/emulator/layout.hpp"

namespace emulator {
namespace {

constexpr u32 all_lanes = 0xFFFFFFFFu;
constexpr u32 group_threads = 128;

Warpgroup& warpgroup_of(Thread& thread) { return thread.warp->block->groups[thread.warp->number / 4]; }
u32 thread_of_group(const Thread& thread) { return thread.position.thread % group_threads; }

/// Returns the registers of a thread's accumulators: one a number, or one for two numbers of fp16.
std::size_t registers_of(int n, bool halves) { return static_cast<std::size_t>(n / (halves ? 4 : 2)); }

/// Moves a thread's accumulators to their places in 64 x n numbers, or back.
void move_accumulators(Chain& chain, float* registers, u32 thread, bool take) {
  const u32 n = static_cast<u32>(chain.n), warp_row = thread / 32 * 16, lane = thread % 32;
  auto* halves = reinterpret_cast<u16*>(registers);
  for (u32 i = 0; i < n / 2; ++i) {
    float& element = chain.d[(warp_row + accumulator_row(lane, i)) * n + accumulator_column(lane, i)];
    if (take) {
      element = chain.halves ? to_float(halves[i], false) : registers[i];
    } else if (chain.halves) {
      halves[i] = to_16_bits(element, false);
    } else {
      registers[i] = element;
    }
  }
}

/// Returns the accumulator that owns these registers while products run: an existing one, or a new one with their
/// values.
Thread::Lent& lend(Thread& self, const Product& product, float* d) {
  for (Thread::Lent& lent : self.lent) {
    if (lent.registers == d && lent.chain->n == product.n) return lent;
  }
  Warpgroup& group = warpgroup_of(self);
  const u32 number = self.chains++;
  if (number == group.first_chain + group.chains.size()) {
    auto chain = std::make_shared<Chain>();
    chain->n = product.n;
    chain->halves = product.halves;
    chain->d.assign(static_cast<std::size_t>(64 * product.n), 0);
    group.chains.push_back(std::move(chain));
  }
  const std::shared_ptr<Chain>& chain = group.chains[number - group.first_chain];
  if (chain->n != product.n) engine->fail("issues a wgmma of another shape than its warpgroup's other threads");
  if (product.accumulate) move_accumulators(*chain, d, thread_of_group(self), true);
  // Until the wait the registers hold NaNs, so that a use is found.
  std::memset(d, 0xFF, registers_of(product.n, product.halves) * sizeof *d);
  self.lent.push_back({d, chain, 0});
  return self.lent.back();
}

/// Calls visit() with each 16 bytes of both operands in shared memory.
template <class Visit>
void each_unit_of_a(const ProductWork& work, const Visit& visit) {
  const MatrixDescriptor a(work.product.a_matrix);
  for (u32 row = 0; row < 64; ++row) {
    for (u32 eighth = 0; eighth < 2; ++eighth) visit(row, eighth, swizzled(a.k_major(row, eighth), a.span));
  }
}
template <class Visit>
void each_unit_of_b(const ProductWork& work, const Visit& visit) {
  const MatrixDescriptor b(work.product.b_matrix);
  const u32 n = static_cast<u32>(work.product.n);
  if (work.product.transposed_b) {
    for (u32 k = 0; k < 16; ++k) {
      for (u32 eighth = 0; eighth < n / 8; ++eighth) visit(k, eighth, swizzled(b.mn_major(k, eighth), b.span));
    }
  } else {
    for (u32 column = 0; column < n; ++column) {
      for (u32 eighth = 0; eighth < 2; ++eighth) visit(column, eighth, swizzled(b.k_major(column, eighth), b.span));
    }
  }
}

/// Checks that this warp may read both operands, and records that it reads them until the instruction is done.
void check_operands(const ProductWork& work, u32 number, const Warpgroup& group, const Warp& warp) {
  const Access access{&warp.seen, group.part, number + 1, true, work.at};
  Block& block = *group.block;
  const auto check = [&](u32, u32, u32 address) {
    const u32 offset = address - base_address;
    if (address < base_address || !block.shared.inside(offset, granule_bytes))
      engine->fail("multiplies what lies outside of the block's shared memory: offset " +
                   std::to_string(static_cast<int>(offset)));
    engine->expect(block.shared.read(offset, granule_bytes, access));
  };
  if (!work.a_in_registers) each_unit_of_a(work, check);
  each_unit_of_b(work, check);
}

/// Records an event. The products of a commit group are one event, which each warp issues with its first product.
void trace_product(const ProductWork& work, const Warpgroup& group) {
  Trace* trace = engine->trace;
  if (trace == nullptr) return;
  const Thread& self = engine->thread();
  const Warp& warp = *self.warp;
  const u32 commit = static_cast<u32>(self.product_groups.size()), quarter = warp.number % 4;
  Event* event = nullptr;
  for (auto found = trace->rbegin(); found != trace->rend() && event == nullptr; ++found) {
    const bool own =
        found->kind == Event::Kind::product && found->part == group.part && found->block == self.position.block;
    if (own && found->commit == commit) event = &*found;
  }
  if (event == nullptr) {
    trace->emplace_back();
    event = &trace->back();
    event->kind = Event::Kind::product;
    event->block = self.position.block;
    event->agent = group.number;
    event->commit = commit;
    event->offset = MatrixDescriptor(work.product.b_matrix).address - base_address;
    event->a_in_registers = work.a_in_registers;
    event->before = warp.seen;
    event->part = group.part;
    event->issuer = group.block->first_part + warp_part + warp.number / 4 * 4;
  } else if (event->issued[quarter] == 0) {
    event->before.meet(warp.seen);
  }
  event->issued[quarter] = warp.time();
  event->time = self.products;
}

/// Records that this warp's later work follows the products for which it has just waited.
void trace_wait(u32 product, const Warpgroup& group) {
  Trace* trace = engine->trace;
  Thread& self = engine->thread();
  if (trace == nullptr || self.lane != 0) return;
  Event event;
  for (const Event& found : *trace) {
    if (found.kind == Event::Kind::product && found.part == group.part && found.block == self.position.block &&
        found.time == product + 1) {
      event.offset = found.offset;
      event.a_in_registers = found.a_in_registers;
    }
  }
  event.kind = Event::Kind::thread;
  event.block = self.position.block;
  event.agent = self.warp->number;
  event.before = self.warp->seen;
  event.part = event.issuer = self.warp->part;
  event.time = self.warp->time();
  self.warp->thread_event = trace->size();
  self.warp->write_event.reset();
  trace->push_back(event);
}

void check_descriptor(u64 bits) {
  if (bits >> 62 == 0) engine->fail("multiplies a matrix without a swizzle, which the emulator has not");
  if ((bits >> 49 & 7) != 0) engine->fail("multiplies a matrix with a base offset, which the emulator has not");
}

void check_shared_product(const Product& product, bool a_in_registers) {
  if (product.n % 8 != 0 || product.n < 8 || product.n > 256) engine->fail("issues a wgmma of no known shape");
  if (product.e4m3 && product.transposed_b) engine->fail("issues a wgmma of e4m3 with an operand that is not K-major");
  if (!a_in_registers) check_descriptor(product.a_matrix);
  check_descriptor(product.b_matrix);
}

bool same(const Product& a, const Product& b) {
  return a.n == b.n && a.bf16 == b.bf16 && a.transposed_b == b.transposed_b && a.accumulate == b.accumulate &&
         a.a_matrix == b.a_matrix && a.b_matrix == b.b_matrix && a.e4m3 == b.e4m3 && a.halves == b.halves;
}

/// Returns the numbers that a product contracts: 32 bytes of them.
u32 contracted_of(const Product& product) { return product.e4m3 ? 32 : 16; }

/// Both operands in bytes, the contracted axis innermost.
struct Operands {
  unsigned char a[64][32], b[256][32];

  void read(const ProductWork& work, SharedMemory& shared) {
    const auto unit = [&](u32 address) { return shared.at(address - base_address); };
    if (work.a_in_registers) {
      for (u32 thread = 0; thread < group_threads; ++thread) {
        for (u32 word = 0; word < 4; ++word)
          std::memcpy(&a[thread / 32 * 16 + a_row(thread % 32, word)][2 * a_column(thread % 32, word)],
                      &work.a[thread][word], 4);
      }
    } else {
      each_unit_of_a(work, [&](u32 row, u32 part, u32 address) { std::memcpy(&a[row][16 * part], unit(address), 16); });
    }
    each_unit_of_b(work, [&](u32 row, u32 part, u32 address) {
      if (!work.product.transposed_b) {
        std::memcpy(&b[row][16 * part], unit(address), 16);
      } else {
        for (u32 i = 0; i < 8; ++i) std::memcpy(&b[8 * part + i][2 * row], unit(address) + 2 * i, 2);
      }
    });
  }

  /// Multiplies 16-bit operands; sums in fp32.
  void multiply(float* d, u32 n, bool bf16) const {
    static float factors[64][16], columns[16][256];
    const auto number = [&](const unsigned char* from) {
      u16 bits = 0;
      std::memcpy(&bits, from, 2);
      return to_float(bits, bf16);
    };
    for (u32 k = 0; k < 16; ++k) {
      for (u32 row = 0; row < 64; ++row) factors[row][k] = number(&a[row][2 * k]);
      for (u32 column = 0; column < n; ++column) columns[k][column] = number(&b[column][2 * k]);
    }
    for (u32 row = 0; row < 64; ++row) {
      float* __restrict to = d + row * n;
      for (u32 k = 0; k < 16; ++k) {
        for (u32 column = 0; column < n; ++column) to[column] += factors[row][k] * columns[k][column];
      }
    }
  }

  void multiply_e4m3(float* d, u32 n) const {
    static napkin::internal::E4m3Terms columns[256];
    for (u32 column = 0; column < n; ++column) columns[column] = napkin::internal::E4m3Terms(b[column]);
    for (u32 row = 0; row < 64; ++row) {
      const napkin::internal::E4m3Terms factors(a[row]);
      for (u32 column = 0; column < n; ++column)
        d[row * n + column] = napkin::internal::e4m3_sum(d[row * n + column], factors, columns[column]);
    }
  }
};

}  // namespace

void Engine::perform_product(Warpgroup& group) {
  static Operands operands;
  const ProductWork work = std::move(group.work.front());
  group.work.pop_front();
  ++group.first;
  const u32 n = static_cast<u32>(work.product.n);
  operands.read(work, group.block->shared);
  if (!work.product.accumulate) std::fill(work.chain->d.begin(), work.chain->d.end(), 0.f);
  if (work.product.e4m3)
    operands.multiply_e4m3(work.chain->d.data(), n);
  else
    operands.multiply(work.chain->d.data(), n, work.product.bf16);
  if (work.product.halves) {
    for (float& element : work.chain->d) element = to_float(to_16_bits(element, false), false);
  }
  std::erase_if(group.waiters, [&](const Warpgroup::Waiter& waiter) {
    if (group.first < waiter.products) return false;
    wake(*waiter.warp, all_lanes);
    return true;
  });
}

void wgmma_fence(Place at) {
  engine->begin(at);
  engine->thread().fenced = true;
}

void wgmma(const Product& product, float* d, const u32* a, Place at) {
  engine->begin(at);
  Thread& self = engine->thread();
  Warpgroup& group = warpgroup_of(self);
  if (!self.fenced) engine->fail("issues a wgmma with no wgmma.fence since its registers may have changed");
  const u32 number = self.products++;
  if (number == group.first + group.work.size()) {
    check_shared_product(product, a != nullptr);
    group.work.push_back({product, a != nullptr, at, nullptr, {}, {}, 0});
    ++engine->counters.wgmma;
    engine->counters.products += 64 * static_cast<u64>(product.n) * contracted_of(product);
  }
  ProductWork& work = group.work[number - group.first];
  if (!same(work.product, product) || work.a_in_registers != (a != nullptr))
    engine->fail("issues another wgmma than its warpgroup's other threads");
  Thread::Lent& lent = lend(self, product, d);
  lent.last = number;
  work.chain = lent.chain;
  const u32 thread = thread_of_group(self);
  work.a[thread] = a;
  if (++work.arrived[thread / 32] == 32) {
    check_operands(work, number, group, *self.warp);
    trace_product(work, group);
  }
  ++work.issued;
}

void wgmma_commit(Place at) {
  engine->begin(at);
  Thread& self = engine->thread();
  self.product_groups.push_back(self.products);
}

void wgmma_wait(u32 pending, Place at) {
  engine->begin(at);
  Thread& self = engine->thread();
  Warpgroup& group = warpgroup_of(self);
  const std::size_t groups = self.product_groups.size();
  const u32 products = groups > pending ? self.product_groups[groups - 1 - pending] : 0;
  Gathering* gathering = nullptr;
  if (engine->gather("wgmma.wait_group", all_lanes, nullptr, gathering)) {
    gathering->closed = true;
    if (group.first >= products) {
      engine->wake(*self.warp, all_lanes & ~(1u << self.lane));
    } else {
      group.waiters.push_back({self.warp, products});
      engine->block("products, so many as", products);
    }
  }
  u32& seen = self.warp->seen[group.part];
  seen = std::max(seen, products);
  self.fenced = false;
  std::erase_if(self.lent, [&](const Thread::Lent& lent) {
    if (lent.last >= products) return false;
    move_accumulators(*lent.chain, lent.registers, thread_of_group(self), false);
    trace_wait(lent.last, group);
    ++lent.chain->taken;
    return true;
  });
  while (!group.chains.empty() && group.chains.front()->taken == group_threads) {
    group.chains.pop_front();
    ++group.first_chain;
  }
}

void use_registers(const void* registers, u32 bytes, Place at) {
  engine->begin(at);
  const auto* first = static_cast<const char*>(registers);
  for (const Thread::Lent& lent : engine->thread().lent) {
    const auto* own = reinterpret_cast<const char*>(lent.registers);
    if (own < first + bytes && first < own + registers_of(lent.chain->n, lent.chain->halves) * sizeof(float))
      engine->fail("uses registers of a product that is under way");
  }
}

}  // namespace emulator
