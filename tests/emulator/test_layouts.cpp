// The places of elements in registers and shared memory: the emulator's and the kernels' arithmetic against formulas
// from the PTX ISA.
#include <doctest/doctest.h>

#include "tests/emulator/kernels_here.hpp"
#include "tests/emulator/layout.hpp"
#include "tests/emulator/ptx_layouts.hpp"

namespace test_layouts {

namespace kernels = napkin_of_the_kernels;

TEST_CASE("fragments of mma.sync, wgmma and ldmatrix") {
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 8; ++i) {
      CHECK(ptx::Place{emulator::a_row(lane, i / 2), emulator::a_column(lane, i / 2) + i % 2} == ptx::mma_a(lane, i));
    }
    for (unsigned i = 0; i < 4; ++i) {
      CHECK(ptx::Place{emulator::b_row(lane, i / 2) + i % 2, emulator::b_column(lane)} == ptx::mma_b(lane, i));
      CHECK(ptx::Place{emulator::accumulator_row(lane, i), emulator::accumulator_column(lane, i)} ==
            ptx::mma_c(lane, i));
    }
    for (unsigned i = 0; i < 2; ++i)
      CHECK(ptx::Place{emulator::matrix_row_of(lane), emulator::matrix_column_of(lane) + i} ==
            ptx::element_of(lane, i));
  }
}

TEST_CASE("fragments as the kernels index them") {
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 128; ++i) {
      const ptx::Place place = ptx::wgmma_d(lane, static_cast<unsigned>(i));
      CHECK(ptx::Place{kernels::fragment_row(lane, i), kernels::fragment_column(lane, i)} == place);
    }
    // Matrices 0 and 1 of a 16 x 16 operand A are its upper and lower rows of the first eight columns.
    const ptx::Place given = ptx::address_of(lane);
    CHECK(ptx::Place{kernels::matrix_row(lane), kernels::matrix_column(lane)} ==
          ptx::Place{given.row % 2 * 8 + given.column, given.row / 2 * 8});
  }
  for (int eight = 0; eight < 32; ++eight) {
    for (int lower = 0; lower < 2; ++lower) {
      for (int second = 0; second < 2; ++second) {
        const int i = kernels::fragment_index(eight, lower, second);
        const ptx::Place place = ptx::wgmma_d(0, static_cast<unsigned>(i));
        CHECK(place == ptx::Place{static_cast<unsigned>(8 * lower), static_cast<unsigned>(8 * eight + second)});
      }
    }
  }
}

TEST_CASE("swizzles") {
  for (unsigned mode : {128u, 64u, 32u}) {
    for (unsigned byte = 0; byte < 4096; ++byte) CHECK(emulator::swizzled(byte, mode) == ptx::swizzled(byte, mode));
  }
  const auto check = [](auto columns) {
    constexpr unsigned span = columns;
    for (unsigned row = 0; row < 64; ++row) {
      for (unsigned column = 0; column < 2 * span; ++column) {
        const unsigned plain = (row * span + column % span) * 2;
        CHECK(kernels::swizzled<64, static_cast<int>(span)>(row, column) ==
              column / span * (64 * span * 2) + ptx::swizzled(plain, 2 * span));
      }
    }
  };
  check(std::integral_constant<unsigned, 64>());
  check(std::integral_constant<unsigned, 32>());
  check(std::integral_constant<unsigned, 16>());
}

TEST_CASE("matrices that a wgmma descriptor names") {
  for (const unsigned mode : {128u, 64u, 32u}) {
    for (const unsigned leading : {4096u, 16384u}) {
      const unsigned address = 1024 * 7, stride = 8 * mode;
      const emulator::MatrixDescriptor read(ptx::descriptor(address, leading, stride, mode));
      CHECK(read.address == address);
      CHECK(read.leading == leading);
      CHECK(read.stride == stride);
      CHECK(read.span == mode);
      for (unsigned mn = 0; mn < 256; ++mn) {
        for (unsigned k = 0; k < 16; ++k) {
          CHECK(read.k_major(mn, k / 8) + k % 8 * 2 == address + ptx::k_major(mn, k, stride, mode));
          CHECK(read.mn_major(k, mn / 8) + mn % 8 * 2 == address + ptx::mn_major(mn, k, leading, stride, mode));
        }
      }
    }
  }
}

TEST_CASE("descriptors as the kernels make them") {
  const unsigned address = 0x1C00, leading = 0x4000;
  const unsigned at = kernels::matrix_address(address);
  // bits above the address hold the block's rank in a cluster
  CHECK(kernels::matrix_address(address | 1u << 24) == at);
  CHECK(kernels::descriptor<64>(at, leading / 16) == ptx::descriptor(address, leading, 1024, 128));
  CHECK(kernels::descriptor<32>(at, leading / 16) == ptx::descriptor(address, leading, 512, 64));
  CHECK(kernels::descriptor<16>(at, leading / 16) == ptx::descriptor(address, leading, 256, 32));
  // 32 columns on in a matrix of 128 rows and spans of 64; the next span; 16 rows down.
  CHECK(kernels::descriptor_offset<128, 64>(0, 32) * 16 == 64);
  CHECK(kernels::descriptor_offset<128, 64>(0, 64) * 16 == 128 * 128);
  CHECK(kernels::descriptor_offset<128, 64>(16, 0) * 16 == 2 * 1024);
}

}  // namespace test_layouts
