#pragma once
// These functions lay a question out on its machine: by the kernel that the user names, by all kernels that can compute
// it there, or by none, each array at the lowest level that holds it. Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/question/request.hpp"

namespace napkin {

/// Lays every array at the lowest level that holds it, with the user's knobs.
[[nodiscard]] Layout ideal_layout(const Request& request);

/// Lays out the user's kernel, or throws if it cannot be laid out. Whether it runs there is for the constraints to say.
[[nodiscard]] Layout named_layout(const Request& request, Catalog& catalog);

/// Lays out all kernels of the question, bundled or peers', those made for the machine's architecture first. Leaves out
/// kernels that lack a knob of the user's; if that leaves none, throws the first one's Error.
[[nodiscard]] std::vector<Layout> kernel_layouts(const Request& request, Catalog& catalog, bool bundled);

/// Lays out bundled kernels, then peers'. If the user's knobs keep all out, throws the first one's Error.
[[nodiscard]] std::vector<Layout> all_layouts(const Request& request, Catalog& catalog);

/// Returns the kernels to rank if the user names none. Fixed knobs and --compile select bundled kernels, if one has the
/// knobs.
[[nodiscard]] std::vector<Layout> ranked_layouts(const Request& request, Catalog& catalog);

/// Lists the kernels made for that very architecture whose sizes exclude the question's, grouped by reason.
[[nodiscard]] std::vector<std::string> kept_out_by_sizes(const Request& request, Catalog& catalog);

/// Returns true if the kernel multiplies by the machine's fastest instruction of each type, under some of its knobs:
/// mma.sync is that on an A100, not on an H100.
[[nodiscard]] bool by_fastest_instruction(const Request& request, const Layout& layout);

}  // namespace napkin
