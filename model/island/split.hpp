#pragma once
// A Split is a division of an algorithm among several GPUs, like a mapping's among the blocks of one GPU:
// ring_attention groups the queries and streams the keys, so that each GPU keeps its queries and receives the blocks of
// K and V in turn. Moves follow from an array's place before and after the work (its home), and from the parts that the
// work reads. (schema: docs/several-gpus.md)

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

struct Split {
  std::string name, about;
  std::string algorithm;                     ///< a built-in diagram's name
  AxisId group = 0;                          ///< axis that the GPUs divide: each works on its part
  std::optional<AxisId> stream;              ///< axis that each GPU walks in as many steps as there are GPUs
  std::vector<std::optional<AxisId>> homes;  ///< axis along which the GPUs divide an array, by ArrayId of inputs and
                                             ///< outputs; none: each GPU has all of it
  /// The type of a streamed split's running result, to which each step's part is added.
  std::optional<DType> parts;
  Diagram diagram;  ///< diagram of `algorithm`

  [[nodiscard]] const std::optional<AxisId>& home(ArrayId array) const { return homes[at(array)]; }
};

/// Parses a split. Throws Error (file:line:column, field, what, what would be right).
[[nodiscard]] Split parse_split(std::string_view text, const std::string& file);

/// Loads a built-in split by name, or a file by path. Throws Error at `where`.
[[nodiscard]] Split load_split(const std::string& name_or_path, const std::string& where);

/// Lists the built-in splits by name, sorted.
[[nodiscard]] std::vector<std::string> builtin_splits();

}  // namespace napkin::internal
