#pragma once
// An Island is several GPUs and what joins them, the level above device memory: hgx-h100-8 is eight h100-sxm whose
// links take 370 GB/s out of each GPU and as much into it. Further levels join islands: a network.
// (schema: docs/several-gpus.md)

#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

/// What joins nodes of the level below: GPUs at the first, islands at the next.
struct Link {
  std::string name;
  Count joins;  ///< nodes below that one of this level joins
  Provenance joins_from;
  std::optional<Number> line_rate;  ///< bytes a second of each GPU, each way, as the maker states it
  Number bandwidth;                 ///< of that rate, as the library's copies get it
  Number latency;                   ///< seconds, of one hop
};

struct Island {
  std::string name, about;
  std::string gpu;          ///< a profile's name or path
  std::vector<Link> links;  ///< from the GPU upwards
  Number call;              ///< seconds that a call of the library takes beside its hops and bytes

  [[nodiscard]] Count gpus() const;
};

/// The island that a profile's text describes. Throws Error (file:line:column, field, what, what would be right).
[[nodiscard]] Island parse_island(std::string_view text, const std::string& file);

/// Whether a name or path is an island's: a built-in one, or a file with the key `gpu`.
[[nodiscard]] bool is_island(const std::string& name_or_path);

/// A built-in one by name, or a file by path. Throws Error at `where`.
[[nodiscard]] Island load_island(const std::string& name_or_path, const std::string& where);

/// Names of the built-in islands, sorted.
[[nodiscard]] std::vector<std::string> builtin_islands();

}  // namespace napkin
