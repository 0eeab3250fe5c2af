#pragma once
// recorded("triton_attention_sm90") is the only kernel of a recorded disassembly (script/peers/record_sass.py).

#include <fstream>
#include <sstream>
#include <string>

#include "kernels/sass/sass.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::test {

inline std::string recording(const std::string& name) {
  return std::string(NAPKIN_SOURCE_DIR) + "/tests/unit/sass/recorded/" + name + ".sass";
}

inline SassFunction recorded(const std::string& name) {
  std::ifstream file(recording(name));
  if (!file) throw Error(name, "is not recorded");
  std::stringstream text;
  text << file.rdbuf();
  return read_sass(text.str()).at(0);
}

}  // namespace napkin::internal::test
