#pragma once
// These functions make a question's setups: one for the kernel that the user names, or one for each kernel that can
// compute it on that machine, or that of the ideal mapping. Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/question/question.hpp"

namespace napkin::internal {

/// Makes the setup of the ideal mapping, with the user's knobs: every array is at the lowest level that holds it.
[[nodiscard]] Setup ideal_setup(const Question& question);

/// Makes the setup of the user's kernel. Throws Error if the mapping does not suit the question; whether the kernel
/// runs there is left to the constraints.
[[nodiscard]] Setup named_setup(const Question& question, Catalog& catalog);

/// Makes the setups of all kernels of the question, bundled or peers', those made for the machine's architecture first.
/// Leaves out kernels that lack a knob of the user's; if that leaves none, throws the first one's Error.
[[nodiscard]] std::vector<Setup> kernel_setups(const Question& question, Catalog& catalog, bool bundled);

/// Makes the setups of bundled kernels, then of peers'. If the user's knobs keep all out, throws the first one's Error.
[[nodiscard]] std::vector<Setup> all_setups(const Question& question, Catalog& catalog);

/// Returns the kernels to rank if the user names none. Fixed knobs and --compile select bundled kernels, if one has the
/// knobs.
[[nodiscard]] std::vector<Setup> ranked_setups(const Question& question, Catalog& catalog);

/// Lists the kernels made for that architecture that do not take the question's sizes, grouped by reason.
[[nodiscard]] std::vector<std::string> kept_out_by_sizes(const Question& question, Catalog& catalog);

/// Names the question that a larger algorithm with kernels answers, where the given one is that with axes of size 1;
/// multi-query attention is "--shape g=64,..." of attention. "" if there is none.
[[nodiscard]] std::string asked_as_known(const Question& question, Catalog& catalog);

/// Returns true if the kernel, under some of its knobs, multiplies as fast as the machine can for its type:
/// mma.sync is that on an A100, not on an H100.
[[nodiscard]] bool by_fastest_instruction(const Question& question, const Setup& setup);

}  // namespace napkin::internal
