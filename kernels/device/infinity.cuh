#pragma once
// infinity is a float constant: a row's maximum before its first key is -infinity.

namespace napkin {

constexpr float infinity = __builtin_bit_cast(float, 0x7f800000);  // the run-time compiler has no INFINITY

}  // namespace napkin
