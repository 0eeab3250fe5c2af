// This file has a warp's matrix instructions, ldmatrix, stmatrix and mma.sync, and conversions of 16-bit numbers.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tests/emulator/engine.hpp"
#include "tests/emulator/layout.hpp"

namespace emulator {
namespace {

constexpr u32 all_lanes = 0xFFFFFFFFu;

const std::vector<float>& half_values() {
  static const std::vector<float> values = [] {
    std::vector<float> out(65536);
    for (u32 bits = 0; bits < 65536; ++bits) {
      const int exponent = static_cast<int>(bits >> 10 & 31);
      const auto mantissa = static_cast<float>(bits & 1023);
      float value = exponent == 0    ? std::ldexp(mantissa, -24)
                    : exponent == 31 ? (mantissa == 0 ? std::numeric_limits<float>::infinity()
                                                      : std::numeric_limits<float>::quiet_NaN())
                                     : std::ldexp(1024 + mantissa, exponent - 25);
      out[bits] = (bits & 0x8000) != 0 ? -value : value;
    }
    return out;
  }();
  return values;
}

u16 to_half(float value) {
  u32 bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const u32 sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7FFF;
  if (magnitude >= 0x477FF000u) return static_cast<u16>(sign | 0x7C00u);  // a number that rounds beyond 65504: infinity
  if (magnitude < 0x38800000u) {  // a subnormal number, below 2^-14: a multiple of 2^-24
    const float scaled = std::nearbyint(std::fabs(value) * 16777216.f);
    return static_cast<u16>(sign | static_cast<u32>(scaled));
  }
  const u32 rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1);
  return static_cast<u16>(sign | ((rounded >> 13) - (112u << 10)));
}

/// The operands a (16 x 16) and b (16 x 8) of mma.sync in the lanes of a warp.
struct MmaOperand {
  float* d;
  const u32* a;
  u32 b[2];
};

void multiply_warp(bool bf16, const Gathering& gathering) {
  float a[16][16], b[16][8];
  const auto operand = [&](u32 lane) { return static_cast<const MmaOperand*>(gathering.operand[lane]); };
  for (u32 lane = 0; lane < 32; ++lane) {
    const MmaOperand& own = *operand(lane);
    for (u32 pair = 0; pair < 4; ++pair) {
      float* to = &a[a_row(lane, pair)][a_column(lane, pair)];
      to[0] = to_float(static_cast<u16>(own.a[pair]), bf16);
      to[1] = to_float(static_cast<u16>(own.a[pair] >> 16), bf16);
    }
    for (u32 pair = 0; pair < 2; ++pair) {
      b[b_row(lane, pair)][b_column(lane)] = to_float(static_cast<u16>(own.b[pair]), bf16);
      b[b_row(lane, pair) + 1][b_column(lane)] = to_float(static_cast<u16>(own.b[pair] >> 16), bf16);
    }
  }
  float d[16][8] = {};
  for (u32 row = 0; row < 16; ++row) {
    for (u32 k = 0; k < 16; ++k) {
      for (u32 column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
    }
  }
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 i = 0; i < 4; ++i) operand(lane)->d[i] += d[accumulator_row(lane, i)][accumulator_column(lane, i)];
  }
}

struct MatrixOperand {
  u32* registers;
  u32 address;
};

/// The address of 16 bytes by lane l: row l % 8 of matrix l / 8.
using MatrixRows = std::array<unsigned char*, 32>;

void exchange(bool load, bool transposed, const Gathering& gathering, const MatrixRows& rows) {
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 matrix = 0; matrix < 4; ++matrix) {
      u32& pair = static_cast<const MatrixOperand*>(gathering.operand[lane])->registers[matrix];
      for (u32 e = 0; e < 2; ++e) {
        u32 row = matrix_row_of(lane), column = matrix_column_of(lane) + e;
        if (transposed) std::swap(row, column);
        unsigned char* element = rows[matrix * 8 + row] + 2 * column;
        u16 bits = 0;
        if (load) {
          std::memcpy(&bits, element, 2);
          pair = e == 0 ? bits : (pair & 0xFFFF) | static_cast<u32>(bits) << 16;
        } else {
          bits = static_cast<u16>(pair >> 16 * e);
          std::memcpy(element, &bits, 2);
        }
      }
    }
  }
}

void move_matrices(bool load, u32* registers, u32 address, bool transposed, Place at) {
  engine->begin(at);
  if (!load) engine->trace_write(shared_place(address, granule_bytes).offset, true);
  const MatrixOperand own{registers, address};
  Gathering* gathering = nullptr;
  if (!engine->gather(load ? "ldmatrix" : "stmatrix", all_lanes, &own, gathering)) return;
  ++(load ? engine->counters.ldmatrix : engine->counters.stmatrix);
  Warp& warp = *engine->thread().warp;
  const Access access = generic_access(at);
  MatrixRows rows;
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 place = static_cast<const MatrixOperand*>(gathering->operand[lane])->address;
    const auto [block, offset] = shared_place(place, granule_bytes);
    if (place % granule_bytes != 0)
      engine->fail("gives a row of a matrix that does not begin at a multiple of 16 bytes");
    engine->expect(load ? block->shared.read(offset, granule_bytes, access)
                        : block->shared.write(offset, granule_bytes, access));
    if (!load) warp.unpublished.push_back(offset / granule_bytes);
    rows[lane] = block->shared.at(offset);
  }
  exchange(load, transposed, *gathering, rows);
  engine->disperse(*gathering);
}

}  // namespace

float to_float(u16 bits, bool bf16) {
  if (!bf16) return half_values()[bits];
  const u32 word = static_cast<u32>(bits) << 16;
  float out = 0;
  std::memcpy(&out, &word, sizeof out);
  return out;
}

u16 to_16_bits(float value, bool bf16) {
  if (!bf16) return to_half(value);
  u32 bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<u16>((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

float from_e4m3(unsigned char bits) {
  static const std::vector<float> values = [] {
    std::vector<float> out(256);
    for (int i = 0; i < 256; ++i) {
      const int exponent = i >> 3 & 15, fraction = i & 7;
      const float size = (i & 127) == 127 ? std::numeric_limits<float>::quiet_NaN()
                         : exponent == 0  ? std::ldexp(static_cast<float>(fraction), -9)
                                          : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
      out[static_cast<std::size_t>(i)] = i < 128 ? size : -size;
    }
    return out;
  }();
  return values[bits];
}

unsigned char to_e4m3(float value) {
  const auto sign = static_cast<unsigned char>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value)) return static_cast<unsigned char>(sign | 0x7F);
  const float size = std::fabs(value);
  if (size >= 448) return static_cast<unsigned char>(sign | 0x7E);
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent - 4, -9);  // exponent of the last bit
  const int whole = static_cast<int>(std::nearbyint(std::ldexp(size, -step)));
  // As an integer, a number is its biased exponent above three bits of fraction; the carry of rounding does the rest.
  return static_cast<unsigned char>(sign | (whole + (step + 9) * 8));
}

float exp2_approx(float x) {
  if (engine != nullptr && engine->trace != nullptr) {
    const Thread& self = engine->thread();
    Warp& warp = *self.warp;
    if (warp.thread_event && self.lane == 0) (*engine->trace)[*warp.thread_event].time = warp.time();
  }
  const float out = std::exp2(x);
  return out < 1.17549435e-38f ? 0.f : out;
}

void load_matrices(u32* registers, u32 address, bool transposed, Place at) {
  move_matrices(true, registers, address, transposed, at);
}

void store_matrices(u32 address, const u32* registers, bool transposed, Place at) {
  move_matrices(false, const_cast<u32*>(registers), address, transposed, at);
}

void mma(bool bf16, float* d, const u32* a, u32 b0, u32 b1, Place at) {
  engine->begin(at);
  const MmaOperand own{d, a, {b0, b1}};
  Gathering* gathering = nullptr;
  if (!engine->gather("mma.sync", all_lanes, &own, gathering)) return;
  ++engine->counters.mma;
  engine->counters.products += 16 * 8 * 16;
  multiply_warp(bf16, *gathering);
  engine->disperse(*gathering);
}

}  // namespace emulator
