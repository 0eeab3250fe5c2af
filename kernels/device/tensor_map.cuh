#pragma once
// A TensorMap describes an array to the copy engine, and a Divisor is a number to divide by: plain structs that host
// and device code include.

namespace napkin {

/// A CUtensorMap, opaque here; the driver encodes it.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// Division by a number that the host knows: two instructions instead of a loop. (numerators below 2^31)
struct Divisor {
  int value;
  unsigned int multiplier, shift;  // ceil(2^(31 + ceil log2 value) / value), ceil(log2 value) - 1; value 1: unused
};

}  // namespace napkin
