#pragma once
// load_mapping reads a mapping file, strictly, and checks it against the diagram that it lays out: attention_sm90
// against attention.

#include <string>
#include <string_view>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin {

/// A table that it names is the file beside `file`, else the built-in one of that name.
[[nodiscard]] Mapping parse_mapping(std::string_view text, const std::string& file);

/// A built-in mapping by name or a file by path. Unknown: an Error at `where` that lists the known.
[[nodiscard]] Mapping load_mapping(const std::string& name_or_path, const std::string& where);
[[nodiscard]] std::vector<std::string> builtin_mappings();
/// Those that describe a bundled kernel of that algorithm, by the files' top-level keys alone: a millisecond less for
/// each of the others.
[[nodiscard]] std::vector<std::string> bundled_mappings(std::string_view algorithm);
/// Those that describe other people's kernels.
[[nodiscard]] std::vector<std::string> peers_mappings(std::string_view algorithm);

/// The names of a mapping that the diagram must know: axes, arrays (and auxiliaries), operations. Throws Error with the
/// mapping's own position at the first that it does not; also where an operation of the diagram is not mapped.
void check(const Mapping& mapping, const Diagram& diagram);

/// The levels that the mapping uses must be on the machine (a level of its `levels` with `nodes` may be missing), and
/// the element types of its tensor operations must have an instruction there. Throws Error with the mapping's position.
void check(const Mapping& mapping, const Machine& machine, DType dtype);

/// The roles that the mapping's levels give to the diagram's axes, for derive(diagram, roles).
[[nodiscard]] std::vector<AxisRole> mapped_roles(const Mapping& mapping, const Diagram& diagram);

/// The diagram without what the mapping's streaming launches compute: their results are inputs. (Launch)
[[nodiscard]] Diagram main_launch(const Mapping& mapping, const Diagram& diagram);

/// The diagram as the mapping streams it: its main launch with the roles that the levels give the axes.
[[nodiscard]] Streamed streamed_by(const Mapping& mapping, const Diagram& diagram);

/// True where the machine's architecture is in runs_on ("sm_80+": sm_80 and every later NVIDIA architecture).
[[nodiscard]] bool runs_on(const Mapping& mapping, const Machine& machine);

/// The mapping that no kernel need exist for: every array at the lowest level that holds it, a knob for the group or
/// stream size of each grouped or streamed axis.
[[nodiscard]] Mapping ideal_mapping(const Streamed& streamed, const Machine& machine);
/// The ideal mapping with each knob's domain bounded by the axis's size.
[[nodiscard]] Mapping ideal_mapping(const Streamed& streamed, const Machine& machine, const Sizes& sizes);

}  // namespace napkin
