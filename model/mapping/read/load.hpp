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

namespace napkin::internal {

/// Parses a mapping. A table that it names is the file beside `file`, else the built-in table of that name.
[[nodiscard]] Mapping parse_mapping(std::string_view text, const std::string& file);

/// Loads a built-in mapping by name, or a file by path. Throws Error at `where` for an unknown name, and lists the
/// known ones.
[[nodiscard]] Mapping load_mapping(const std::string& name_or_path, const std::string& where);
[[nodiscard]] std::vector<std::string> builtin_mappings();
/// Lists the mappings of an algorithm's bundled kernels. Reads only the top-level keys of each file, since reading a
/// whole mapping takes a millisecond.
[[nodiscard]] std::vector<std::string> bundled_mappings(std::string_view algorithm);
/// Lists the mappings of other people's kernels.
[[nodiscard]] std::vector<std::string> peers_mappings(std::string_view algorithm);

/// Checks that the diagram has the mapping's names: axes, arrays (and auxiliaries), operations. Throws Error, at the
/// mapping's position, for the first that it lacks, and for an operation of the diagram that is not mapped.
void check(const Mapping& mapping, const Diagram& diagram);

/// Checks that the machine has the mapping's levels (a level with `nodes` may be missing) and an instruction for each
/// element type of its tensor operations. Throws Error with the mapping's position.
void check(const Mapping& mapping, const Machine& machine, DType dtype);

/// Returns the roles that the mapping's levels give the diagram's axes, for derive(diagram, roles).
[[nodiscard]] std::vector<AxisRole> mapped_roles(const Mapping& mapping, const Diagram& diagram);

/// Returns the diagram of the launch that computes: operations of the mapping's streaming launches (Launch::streams)
/// are left out, and their results are inputs; so are those of its combine, whose operands are outputs. Throws Error
/// for an operation that the combine cannot do.
[[nodiscard]] Diagram main_launch(const Mapping& mapping, const Diagram& diagram);

/// Derives the diagram as the mapping streams it: its main launch with the roles that the levels give the axes.
[[nodiscard]] Streamed streamed_by(const Mapping& mapping, const Diagram& diagram);

/// Returns true if the machine's architecture is in runs_on ("sm_80+": sm_80 and every later NVIDIA architecture).
[[nodiscard]] bool runs_on(const Mapping& mapping, const Machine& machine);
[[nodiscard]] bool runs_on(const Mapping& mapping, const std::string& architecture);

/// Makes the ideal mapping, which belongs to no kernel: every array lies at the lowest level that holds it, and each
/// grouped or streamed axis has a knob for its size.
[[nodiscard]] Mapping ideal_mapping(const Streamed& streamed, const Machine& machine);
/// Makes the ideal mapping with each knob's domain bounded by the axis's size.
[[nodiscard]] Mapping ideal_mapping(const Streamed& streamed, const Machine& machine, const Sizes& sizes);

}  // namespace napkin::internal
