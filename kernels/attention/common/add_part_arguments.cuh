#pragma once
// AddPartArguments holds the parameters of add_part and finish_parts: the part of a result that several GPUs' keys make
// one after the other, and the running result. Host and device code include this header.

namespace napkin {

struct AddPartConfig {
  bool bf16;   // true if the part is bf16, else f16
  bool first;  // true if the part becomes the running result
};

struct AddPartArguments {
  unsigned short* part;                   // [b, rows, heads, d], of add_part; the result of finish_parts
  const float* part_lse;                  // [b, heads, rows]
  float* running;                         // [b, all, heads, d]
  float* running_lse;                     // [b, heads, all]
  int b, rows, all, first_row, heads, d;  // rows of the part begin at first_row of all
};

static_assert(sizeof(AddPartArguments) == 56);

}  // namespace napkin
