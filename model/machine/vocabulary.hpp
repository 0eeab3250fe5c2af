#pragma once
// A Vocabulary has the words of a machine's own makers: a compute node is an SM on an H200, a CU on an MI300X, an AI
// core on an Ascend 910B.

#include <string>

namespace napkin {

struct Machine;

struct Vocabulary {
  std::string node = "node", nodes = "nodes";  ///< what holds the execution units
  std::string memory = "memory";               ///< of a node, which a block's variables share
  std::string warp = "warp";                   ///< threads that take one instruction together
};
[[nodiscard]] Vocabulary vocabulary_of(const Machine& machine);

}  // namespace napkin
