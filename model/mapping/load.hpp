#pragma once
// Mapping files, strictly; checked against the diagram that they lay out.

#include <string>
#include <string_view>
#include <vector>

#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin {

[[nodiscard]] Mapping parse_mapping(std::string_view text, const std::string& file);

/// A built-in mapping by name or a file by path. Unknown: an Error at `where` that lists the known.
[[nodiscard]] Mapping load_mapping(const std::string& name_or_path, const std::string& where);
[[nodiscard]] std::vector<std::string> builtin_mappings();

/// True where the machine's architecture is in runs_on ("sm_80+": sm_80 and every later NVIDIA architecture).
[[nodiscard]] bool runs_on(const Mapping& mapping, const Machine& machine);

/// The mapping that no kernel need exist for: every array at the lowest level that holds it, a knob for the group or
/// stream size of each grouped or streamed axis. (design section 5: "kernel": null)
[[nodiscard]] Mapping ideal_mapping(const Streamed& streamed, const Machine& machine);

}  // namespace napkin
