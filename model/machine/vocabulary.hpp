#pragma once
// A Vocabulary has the words of a machine's own makers: a compute node is an SM on an H200, a CU on an MI300X, an AI
// core on an Ascend 910B.

#include <functional>
#include <map>
#include <string>

namespace napkin {

struct Vocabulary {
  std::string node = "node", nodes = "nodes";                 ///< name of the part with the execution units
  std::string memory = "memory";                              ///< name of its memory, which a block's variables share
  std::string warp = "warp";                                  ///< threads that take one instruction together
  std::string matrix = "matrix units";                        ///< name of the units that multiply tiles: "tensor cores"
  std::map<std::string, std::string, std::less<>> into = {};  ///< route by level: "device -> L2" for "l2"
  std::map<std::string, std::string, std::less<>> routes = {};  ///< route by pipe: "L2 -> shared" for "l2"

  /// Names a pipe or a unit for people: a pipe by its route, the matrix units by their maker's word.
  [[nodiscard]] std::string pipe(const std::string& name) const;
  /// Names the route of the pipe into a level; a level of no machine by its own name.
  [[nodiscard]] std::string route(const std::string& level) const;
};

}  // namespace napkin
