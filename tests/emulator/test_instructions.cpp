// The emulator's instructions in kernels of a few lines: their results, and their errors.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/emulator/ptx_layouts.hpp"
#include "tests/emulator/small_kernels.hpp"

namespace test_instructions {

using namespace emulator;
using namespace emulator::test;

TEST_CASE("shuffles, votes and barriers among 128 threads") {
  std::vector<u32> got(128), votes(128);
  const auto kernel = [&] {
    const Place at{__FILE__, __LINE__};
    got[self()] = shuffle(all, self() * 10, (self() ^ 3) % 32, at);
    votes[self()] = ballot(all, self() % 3 == 0, at);
    const u32 mine = self();
    shared_write(base + 16 * self(), &mine, 4, at);
    named_barrier(1, 128, true, at);
    u32 other = 0;
    shared_read(&other, base + 16 * (127 - self()), 4, at);
    got[self()] += other * 10000;
  };
  for (u64 seed = 1; seed <= 20; ++seed) {
    REQUIRE(run(128, kernel, 1, seed) == "");
    for (u32 i = 0; i < 128; ++i) {
      CHECK(got[i] == (i ^ 3) * 10 + (127 - i) * 10000);
      CHECK((votes[i] >> i % 32 & 1) == (i % 3 == 0 ? 1u : 0u));
    }
  }
}

TEST_CASE("reading what another warp writes wants a barrier, whoever comes first") {
  for (u64 seed = 1; seed <= 20; ++seed) {
    const std::string error = run(
        64,
        [] {
          const Place at{__FILE__, __LINE__};
          u32 value = 1;
          if (self() == 0) shared_write(base, &value, 4, at);
          named_barrier(0, 64, true, at);
          if (self() == 0) shared_write(base, &value, 4, at);
          if (self() == 32) shared_read(&value, base, 4, at);
        },
        1, seed);
    CAPTURE(error);
    CHECK((error.find("which nothing orders before") != std::string::npos ||
           error.find("still be read") != std::string::npos));
  }
}

TEST_CASE("wrong uses are errors whatever the seed") {
  const Place at{__FILE__, __LINE__};
  always_says("nobody has written", 32, [&] {
    u32 value = 0;
    shared_read(&value, base + 128, 4, at);
  });
  always_says("outside of the block's", 32, [&] {
    u32 value = 0;
    shared_read(&value, base + 32768, 4, at);
  });
  always_says("never ends", 32, [&] {
    if (self() == 0) barrier_init(base, 2, at);
    warp_barrier(all, at);
    if (self() == 0) barrier_arrive(base, 0, -1, at);
    barrier_wait(base, 0, at);
  });
  always_says("more often than it counts", 32, [&] {
    if (self() != 0) return;
    barrier_init(base, 1, at);
    barrier_arrive(base, 100, -1, at);
    barrier_arrive(base, 0, -1, at);
  });
  always_says("nobody has initialised", 32, [&] { barrier_wait(base, 0, at); });
  always_says("nothing orders before", 64, [&] {
    if (self() == 0) barrier_init(base, 1, at);
    warp_barrier(all, at);
    if (self() == 32) {
      for (int i = 0; i < 1000 && engine->blocks[0].barriers.empty(); ++i) engine->step();
      if (engine->blocks[0].barriers.empty()) engine->fail("(the seed ran it first: nothing orders before)");
      barrier_arrive(base, 0, -1, at);
    }
  });
  always_says("join with", 96, [&] { named_barrier(2, self() < 32 ? 64 : 96, self() < 32, at); });
  always_says("never ends", 64, [&] {
    if (self() < 32) named_barrier(2, 64, true, at);
  });
  always_says("never ends", 32, [&] {
    if (self() != 5) warp_barrier(all, at);
  });
  always_says("lacks its own lane", 32, [&] { warp_barrier(1, at); });
  always_says("outside of its mask", 32, [&] {
    if (self() < 2) static_cast<void>(shuffle(3, 0, 7, at));
  });
  always_says("setmaxnreg", 128, [&] { set_registers(25, false, at); });
  always_says("registers that another warpgroup gives back", 512, [&] {
    if (self() >= 128) set_registers(160, true, at);
  });
}

TEST_CASE("a kernel's pointer that goes astray is an error of the thread's") {
  const DeviceArray array("numbers", 4096);
  always_says("outside of the array numbers", 32, [&] {
    const Place at{__FILE__, __LINE__};
    warp_barrier(all, at);
    if (self() == 7) *reinterpret_cast<volatile u32*>(array.data() + 8192) = 1;
  });
}

TEST_CASE("boxes come swizzled, padded with zeros, at the barrier") {
  const u32 columns = 72, rows = 20;
  const DeviceArray array("M", columns * rows * 2);
  for (u32 i = 0; i < columns * rows; ++i) reinterpret_cast<u16*>(array.data())[i] = static_cast<u16>(i + 1);
  for (const u32 mode : {128u, 64u, 32u}) {
    const u32 width = mode / 2, height = 16;
    const TensorBoxes map = matrix_map(array, columns, rows, width, height, mode);
    std::vector<u16> got(width * height);
    const auto kernel = [&] {
      const Place at{__FILE__, __LINE__};
      if (self() == 0) {
        barrier_init(base + 16384, 1, at);
        barrier_init_fence(at);
      }
      named_barrier(0, 64, true, at);
      const int corner[] = {48, 8};
      if (self() == 0) {
        barrier_arrive(base + 16384, width * height * 2, -1, at);
        load_box(base, map, base + 16384, 0, corner, 2, at);
      }
      barrier_wait(base + 16384, 0, at);
      for (u32 i = self(); i < width * height; i += 64) shared_read(&got[i], base + ptx::swizzled(2 * i, mode), 2, at);
    };
    for (u64 seed = 1; seed <= 20; ++seed) {
      REQUIRE(run(64, kernel, 1, seed) == "");
      for (u32 i = 0; i < width * height; ++i) {
        const u32 row = 8 + i / width, column = 48 + i % width;
        CHECK(got[i] == (row < rows && column < columns ? row * columns + column + 1 : 0));
      }
    }
    always_says("may not have arrived", 64, [&] {
      const Place at{__FILE__, __LINE__};
      const int corner[] = {0, 0};
      u16 value = 0;
      if (self() != 0) return;
      barrier_init(base + 16384, 1, at);
      barrier_init_fence(at);
      barrier_arrive(base + 16384, width * height * 2, -1, at);
      load_box(base, map, base + 16384, 0, corner, 2, at);
      shared_read(&value, base, 2, at);
    });
    always_says("fence.mbarrier_init", 64, [&] {
      const Place at{__FILE__, __LINE__};
      const int corner[] = {0, 0};
      if (self() != 0) return;
      barrier_init(base + 16384, 1, at);
      load_box(base, map, base + 16384, 0, corner, 2, at);
    });
    always_says("on their way", 64, [&] {
      const Place at{__FILE__, __LINE__};
      const int corner[] = {0, 0};
      if (self() != 0) return;
      engine->temper.early = 0;
      barrier_init(base + 16384, 1, at);
      barrier_init_fence(at);
      load_box(base, map, base + 16384, 0, corner, 2, at);
    });
  }
}

TEST_CASE("a block does not end while another may reach its memory") {
  const auto kernel = [](bool meet) {
    return [meet] {
      const Place at{__FILE__, __LINE__};
      if (self() == 0) {
        barrier_init(base, 2, at);
        barrier_init_fence(at);
      }
      cluster_barrier(at);
      if (self() == 0) barrier_arrive(base, 0, 1 - static_cast<int>(position->rank), at);
      if (meet) cluster_barrier(at);
    };
  };
  // The address is the block's own; its twin's is reached by rank.
  CHECK(run(32, [&] { kernel(true)(); }).find("cluster has not") != std::string::npos);
  for (u64 seed = 1; seed <= 20; ++seed) {
    const auto on_two = [&](bool meet) {
      return run(
          32,
          [&] {
            const Place at{__FILE__, __LINE__};
            const u32 own = base | position->rank << rank_shift;
            if (self() == 0) {
              barrier_init(own, 2, at);
              barrier_init_fence(at);
            }
            cluster_barrier(at);
            if (self() == 0) barrier_arrive(own, 0, 1 - static_cast<int>(position->rank), at);
            if (meet) cluster_barrier(at);
          },
          2, seed);
    };
    CHECK(on_two(true) == "");
    CHECK(on_two(false).find("may still reach its memory") != std::string::npos);
  }
}

TEST_CASE("cp.async arrives at its wait, bulk stores leave before theirs") {
  const DeviceArray array("bytes", 512);
  const Place at{__FILE__, __LINE__};
  always_says("may not have arrived", 32, [&] {
    u32 value = 0;
    copy_async(base + 16 * self(), array.data() + 16 * self(), true, at);
    copy_commit(at);
    copy_wait(1, at);
    shared_read(&value, base + 16 * self(), 4, at);
  });
  always_says("outside of every array", 32, [&] { copy_async(base + 16 * self(), array.data() + 512, true, at); });
  const DeviceArray out("M", 16 * 32);
  const TensorBoxes map = matrix_map(out, 16, 16, 16, 16, 32);
  const int corner[] = {0, 0};
  const auto stage = [&] {
    const u32 value = self();
    for (u32 i = self(); i < 128; i += 32) shared_write(base + 4 * i, &value, 4, at);
  };
  always_says("still be read", 32, [&] {
    stage();
    async_fence(at);
    warp_barrier(all, at);
    if (self() == 0) {
      store_box(base, map, corner, 2, at);
      store_commit(at);
    }
    warp_barrier(all, at);
    stage();
  });
  always_says("still read what it stores", 32, [&] {
    stage();
    async_fence(at);
    warp_barrier(all, at);
    if (self() == 0) {
      engine->temper.early = 0;
      store_box(base, map, corner, 2, at);
      store_commit(at);
    }
  });
}

}  // namespace test_instructions
