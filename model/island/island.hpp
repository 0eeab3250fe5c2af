#pragma once
// An Island is several GPUs and what joins them, the level above device memory: hgx-h100-8 is eight h100-sxm whose
// links take 370 GB/s out of each GPU and as much into it. Further levels join islands: a network.
// (schema: docs/several-gpus.md)

#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// A link that joins nodes of the level below: GPUs at the first level, islands at the next.
struct Link {
  std::string name;
  Count joins;  ///< nodes of the level below that a node of this level joins
  Provenance joins_from;
  std::optional<Number> line_rate;                          ///< datasheet's bytes a second of each GPU, each way
  Number bandwidth;                                         ///< bytes a second that the library's calls reach of it
  Number latency;                                           ///< seconds of one hop
  std::map<std::string, Number, std::less<>> bandwidth_of;  ///< rates by kind of call that differ from `bandwidth`
};

/// A protocol of the library for short calls, within the first level: fewer seconds to start and to hop, fewer bytes a
/// second.
struct Protocol {
  std::string name;
  Number call, latency, bandwidth;  ///< numbers that stand for the island's and its link's
};

struct Island {
  std::string name, about;
  std::string gpu;                   ///< a profile's name or path
  std::vector<Link> links;           ///< links from the GPU upwards
  Number call;                       ///< seconds that a call of the library takes besides its hops and bytes
  std::vector<Protocol> protocols;   ///< others that its collectives have; the fastest is taken
  std::optional<Number> call_nodes;  ///< compute nodes of each GPU that a call holds while it runs; none: not known

  [[nodiscard]] Count gpus() const;
};

/// Parses an island's profile. Throws Error (file:line:column, field, what, what would be right).
[[nodiscard]] Island parse_island(std::string_view text, const std::string& file);

/// Returns true for an island's name or path: a built-in island, or a file with the key `gpu`.
[[nodiscard]] bool is_island(const std::string& name_or_path);

/// Loads a built-in island by name, or a file by path. Throws Error at `where`.
[[nodiscard]] Island load_island(const std::string& name_or_path, const std::string& where);

/// Lists the built-in islands by name, sorted.
[[nodiscard]] std::vector<std::string> builtin_islands();

}  // namespace napkin::internal
