#pragma once
// AttentionBoxes describes to the copy engine how rows of heads lie in device memory: a tile's box of Q is 64 columns
// of 16 queries of 4 query heads, a chunk's box of K is 64 columns of 128 keys.

#include <cstdint>
#include <string>

#include "kernels/plans/attention.hpp"
#include "kernels/plans/attention_shape.hpp"
#include "kernels/plans/placement_reader.hpp"

namespace napkin::internal {

/// The columns of a head in memory, and in a block, where they are padded with zeros.
struct HeadColumns {
  int own, held;
};

/// The sizes of a question's arrays. Packed sequences count as one sequence of all rows.
struct AttentionBoxes {
  DType type = DType::bf16;
  std::int64_t h = 0, g = 0, q = 0, x = 0;
  std::int64_t b = 0, key_sequences = 0;  ///< numbers of sequences of queries and of keys; with pages the latter are
                                          ///< pages, of x keys each

  /// Reads the shape of a call, which has packed(), q_rows and x_rows.
  template <class Call>
  AttentionBoxes(const AttentionLengths& lengths, const Call& call)
      : type(lengths.dtype),
        h(lengths.h),
        g(lengths.g),
        q(call.packed() ? call.q_rows : lengths.q),
        x(call.packed() ? call.x_rows : lengths.x),
        b(call.packed() ? 1 : lengths.b),
        key_sequences(b) {}

  /// Makes the box of Q or O: `rows` queries of each of `heads` query heads a copy. `offset` is its map's in the
  /// kernel's parameter.
  [[nodiscard]] TensorBox queries(std::size_t offset, const std::string& name, const TensorView& view,
                                  const HeadColumns& columns, int heads, int rows) const;
  /// Makes the box of K or V: `rows` keys a copy.
  [[nodiscard]] TensorBox keys(std::size_t offset, const std::string& name, const TensorView& view,
                               const HeadColumns& columns, int rows) const;
};

/// Returns an array of e4m3 as pairs, which have 16 bits like a number of the other kernels. Throws Error for strides
/// that are not multiples of 16 bytes.
[[nodiscard]] TensorView pairs_of_bytes(const std::string& name, TensorView view, std::int64_t heads, std::int64_t rows,
                                        std::int64_t batches);

}  // namespace napkin::internal
