#pragma once
// AttentionDecodeArguments holds the parameters of attention_decode_sm90 beside a forward kernel's: the division of
// keys among blocks, their pages, and the memory for parts of results. Example: 8192 keys in parts of 2048 are four
// blocks a tile.

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

struct AttentionDecodeArguments {
  AttentionArguments forward;  // k_map and v_map: [columns, keys, h, b], or [columns, keys of a page, h, pages]
  Divisor parts;               // parts of a tile; the last ones of a short sequence are empty
  Divisor batch_tiles;         // tiles of a sequence
  Divisor page;                // keys of a page
  int part_chunks;             // chunks of keys that a part has
  int box_keys, boxes;         // keys that one copy brings, copies of a chunk
  int table_row, page_count;   // page numbers of a sequence in `pages`; number of all pages
  const int* lengths;          // [b] keys of each sequence; null: all have shape.x
  const int* pages;            // [b, table_row] page numbers; null: each sequence's keys lie one after another
  float* part_o;               // [b, h * g, q, parts, shape.dv], each divided by its own sum
  float* part_lse;             // [b, h * g, q, parts]
  int* arrived;                // [tiles] parts that are done; zero before the first launch, and after each
};

static_assert(sizeof(AttentionDecodeArguments) == 832);

}  // namespace napkin
