#pragma once
// read_cubin finds the kernels in a compiled file and what each asks of the node: registers and stack of a thread,
// threads of a block. Their instructions are what the disassembler prints (disassemble).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/sass/sass.hpp"

namespace napkin {

/// Kernels by name. Throws Error where the bytes are no such file.
[[nodiscard]] std::vector<std::pair<std::string, SassResources>> read_cubin(std::string_view bytes,
                                                                            const std::string& where);

/// What nvdisasm, else cuobjdump, prints of the file: on the PATH, or where CUDA's toolkit usually lies. Throws Error
/// where neither can be run.
[[nodiscard]] std::string disassemble(const std::string& path, const std::string& where);

}  // namespace napkin
