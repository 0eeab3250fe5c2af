#pragma once
// FillArguments holds the parameters of the kernels that make inputs: the number of values and the seed. Host and
// device code include this header.

namespace napkin {

struct FillConfig {
  bool bf16;  // true for bf16, else f16
};

struct FillArguments {
  unsigned short* to;
  long long count;  // elements
  unsigned long long seed;
  float deviation;  // standard deviation of a normal distribution around 0
};

static_assert(sizeof(FillArguments) == 32);

struct ScoresConfig {
  bool bf16;   // true for bf16, else f16
  bool spike;  // true for one huge score a row; else a ramp along the keys
};

struct RowStrides {
  long long row, head, batch;  // elements
};

/// Rows of Q[b, h g, q, d] and K[b, h, x, d] that give the scores of attention a shape.
struct ScoresArguments {
  unsigned short *q, *k;
  RowStrides q_strides, k_strides;
  int b, h, g, q_rows, x_rows, d;
  float unit;  // ramp: score that 1 in a column of K adds: the value of Q's first two columns times the softmax scale
  float step;  // ramp: difference of the scores of neighbouring keys
  float constant;  // ramp: value of Q's first two columns
  int last_first;  // ramp: the last key's score is the lowest, else the first one's
  int causal;      // spike: at a key that the row sees
  unsigned int seed;
};

static_assert(sizeof(ScoresArguments) == 112);

}  // namespace napkin
