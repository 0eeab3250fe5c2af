#pragma once
// Plain: the host and the device read the same text.

namespace napkin {

struct FillConfig {
  bool bf16;  // else f16
};

struct FillArguments {
  unsigned short* to;
  long long count;  // elements
  unsigned long long seed;
  float deviation;  // of the normal distribution around 0
};

static_assert(sizeof(FillArguments) == 32);

}  // namespace napkin
