#pragma once
// dump_inputs and its neighbours serve `--dump DIR --at NAME` of derive (the interpreter) and of validate (a kernel):
// both begin with equal inputs and write files of equal names, so that the files can be laid side by side.

#include <string>
#include <vector>

#include "apps/napkin/command.hpp"
#include "model/fusion/streamed.hpp"
#include "model/interpret/run.hpp"

namespace napkin::internal::cli {

/// Returns the intermediates that --at names (computed arrays, auxiliaries, `parts`, `inputs`); empty, which means all,
/// without --at. Throws Error that lists the names for an unknown one.
[[nodiscard]] std::vector<std::string> observed_at(const Arguments& arguments, const Streamed& streamed,
                                                   const std::vector<NamedPart>& parts = {},
                                                   const std::vector<std::string>& inputs = {});

/// Makes the folder. Throws Error if that fails.
void make_dump_folder(const std::string& folder);

/// Makes random inputs, rounded as a kernel receives them; equal for equal sizes and type.
[[nodiscard]] Tensors dump_inputs(const Streamed& streamed, const Problem& problem);

}  // namespace napkin::internal::cli
