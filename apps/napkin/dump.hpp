#pragma once
// --dump DIR --at NAME: what derive (the interpreter) and validate (a kernel) have in common, so that their files can
// be laid side by side: the same names, the same inputs.

#include <string>
#include <vector>

#include "apps/napkin/command.hpp"
#include "model/fusion/streamed.hpp"
#include "model/interpret/tensor.hpp"

namespace napkin::cli {

/// The intermediates that --at names: computed arrays and auxiliaries; empty, which is all of them, without it. Throws
/// Error that lists them.
[[nodiscard]] std::vector<std::string> observed_at(const Arguments& arguments, const Streamed& streamed);

/// Makes the folder. Throws Error.
void make_dump_folder(const std::string& folder);

/// Random inputs, rounded as a kernel is given them: equal for equal sizes and type.
[[nodiscard]] Tensors dump_inputs(const Streamed& streamed, const Problem& problem);

}  // namespace napkin::cli
