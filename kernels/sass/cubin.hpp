#pragma once
// read_cubin finds the kernels in a compiled file and the resources of each: registers and stack of a thread, threads
// of a block. disassemble() returns their instructions as text.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/sass/sass.hpp"

namespace napkin::internal {

/// Returns the kernels by name. Throws Error for bytes of another format.
[[nodiscard]] std::vector<std::pair<std::string, SassResources>> read_cubin(std::string_view bytes,
                                                                            const std::string& where);

/// Disassembles a file by nvdisasm, else cuobjdump, on the PATH or in the usual place of CUDA's toolkit. Throws Error
/// if neither can be run.
[[nodiscard]] std::string disassemble(const std::string& path, const std::string& where);

}  // namespace napkin::internal
