#pragma once
// draft_mapping writes a mapping to start from for a compiled kernel: it counts instructions in the machine code, and
// writes "# TODO" at values that machine code does not show.

#include <string>

#include "napkin/ask.hpp"

namespace napkin::internal {

struct DraftAsk {
  std::string algorithm;
  std::string cubin;        ///< path of a compiled file; empty: `disassembly` is given
  std::string disassembly;  ///< path of a file with the output of nvdisasm -c or cuobjdump -sass
  std::string function;     ///< the kernel's name or a part of it that no other has; empty: the only one
  std::string name;         ///< name of the mapping; empty: the function's
  TileText tile;            ///< sizes that the machine code leaves open
};

struct Draft {
  std::string text;
  int open = 0;  ///< lines that say TODO
};

[[nodiscard]] Draft draft_mapping(const DraftAsk& ask);

}  // namespace napkin::internal
