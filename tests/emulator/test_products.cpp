// wgmma in kernels of a few lines: its results, and its errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/emulator/ptx_layouts.hpp"
#include "tests/emulator/small_kernels.hpp"

namespace test_products {

using namespace emulator;
using namespace emulator::test;

namespace {

/// Compares a product of 64 x 16 by 16 x n from shared memory with float64; all threads wait as they must.
void check_product(u32 n, bool transposed, u32 mode) {
  std::vector<float> a(64 * 16), b(16 * n), d(64 * n);
  u32 state = n + mode;
  const auto draw = [&] {
    return static_cast<float>(static_cast<int>((state = state * 1664525 + 1013904223) >> 24) - 128) / 64;
  };
  for (float& value : a) value = draw();
  for (float& value : b) value = draw();
  const u32 b_place = 8192, leading = 16 * mode, stride = 8 * mode;
  const auto b_offset = [&](u32 k, u32 column) {
    return b_place + ptx::swizzled(transposed ? ptx::mn_major(column, k, leading, stride, mode)
                                              : ptx::k_major(column, k, stride, mode),
                                   mode);
  };
  const auto kernel = [&] {
    const Place at{__FILE__, __LINE__};
    for (u32 i = self() * 8; i < self() * 8 + 8; ++i) {
      const u16 bits = to_16_bits(a[i], true);
      shared_write(base + ptx::swizzled(ptx::k_major(i / 16, i % 16, stride, mode), mode), &bits, 2, at);
    }
    for (u32 i = self(); i < 16 * n; i += 128) {
      const u16 bits = to_16_bits(b[i], true);
      if (i / n % 8 != 0) continue;
      for (u32 k = i / n; k < i / n + 8; ++k) {
        const u16 own = to_16_bits(b[k * n + i % n], true);
        shared_write(base + b_offset(k, i % n), &own, 2, at);
      }
      static_cast<void>(bits);
    }
    async_fence(at);
    named_barrier(1, 128, true, at);
    float registers[128] = {};
    wgmma_fence(at);
    wgmma({static_cast<int>(n), true, transposed, false, ptx::descriptor(base, 0, stride, mode),
           ptx::descriptor(base + b_place, leading, stride, mode)},
          registers, nullptr, at);
    wgmma_commit(at);
    wgmma_wait(0, at);
    for (u32 i = 0; i < n / 2; ++i) {
      const ptx::Place place = ptx::wgmma_d(self(), i);
      d[place.row * n + place.column] = registers[i];
    }
  };
  CAPTURE(n);
  CAPTURE(mode);
  CAPTURE(transposed);
  REQUIRE(run(128, kernel) == "");
  double worst = 0;
  for (u32 row = 0; row < 64; ++row) {
    for (u32 column = 0; column < n; ++column) {
      double sum = 0;
      for (u32 k = 0; k < 16; ++k) sum += static_cast<double>(a[row * 16 + k]) * static_cast<double>(b[k * n + column]);
      worst = std::max(worst, std::fabs(sum - static_cast<double>(d[row * n + column])));
    }
  }
  CHECK(worst < 1e-4);
}

}  // namespace

TEST_CASE("wgmma multiplies what its descriptors name") {
  for (const u32 mode : {128u, 64u, 32u}) {
    for (u32 n = 16; n <= 256; n += mode == 32 ? 16 : 48) {
      if (n * mode <= 24576) check_product(n, false, mode);
      if (n % (mode / 2) == 0 && n / (mode / 2) * 16 * mode <= 24576) check_product(n, true, mode);
    }
  }
}

TEST_CASE("wgmma: registers, fences and waits") {
  const Place at{__FILE__, __LINE__};
  const auto prepared = [&] {
    const u32 zero = 0;
    for (u32 i = self(); i < 4096; i += 128) shared_write(base + 4 * i, &zero, 4, at);
  };
  const Product product{
      64, true, false, false, ptx::descriptor(base, 0, 1024, 128), ptx::descriptor(base + 8192, 0, 1024, 128)};
  const auto issue = [&](float* d) { wgmma(product, d, nullptr, at); };
  always_says("fence.proxy.async", 128, [&] {
    float d[32];
    prepared();
    named_barrier(1, 128, true, at);
    wgmma_fence(at);
    issue(d);
    named_barrier(1, 128, true, at);
  });
  always_says("wgmma.fence", 128, [&] {
    float d[32];
    prepared();
    async_fence(at);
    named_barrier(1, 128, true, at);
    issue(d);
  });
  always_says("under way", 128, [&] {
    float d[32];
    prepared();
    async_fence(at);
    named_barrier(1, 128, true, at);
    wgmma_fence(at);
    issue(d);
    use_registers(d, sizeof d, at);
  });
  always_says("under way", 128, [&] {  // never committed: no wait covers it
    float d[32];
    prepared();
    async_fence(at);
    named_barrier(1, 128, true, at);
    wgmma_fence(at);
    issue(d);
    wgmma_wait(0, at);
    use_registers(d, sizeof d, at);
  });
  always_says("still be read", 128, [&] {
    float d[32];
    const u32 one = 1;
    prepared();
    async_fence(at);
    named_barrier(1, 128, true, at);
    wgmma_fence(at);
    issue(d);
    wgmma_commit(at);
    named_barrier(1, 128, true, at);
    shared_write(base, &one, 4, at);
  });
  always_says("other threads", 128, [&] {
    float d[32];
    prepared();
    async_fence(at);
    named_barrier(1, 128, true, at);
    wgmma_fence(at);
    Product other = product;
    other.b_matrix += self() == 77 ? 2 : 0;
    wgmma(other, d, nullptr, at);
    wgmma_commit(at);
    wgmma_wait(0, at);
  });
}

}  // namespace test_products
