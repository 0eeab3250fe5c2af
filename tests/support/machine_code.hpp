#pragma once
// A MachineCode is a kernel's machine code as one line of a file: "this variant, compiled by this compiler, is these
// bytes". Such lines find out a change of the kernels' text that was to change nothing, and does.

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "apps/report/record/shared.hpp"
#include "kernels/jit/cache.hpp"
#include "kernels/jit/sha256.hpp"
#include "model/base/error.hpp"
#include "tests/support/assembly.hpp"

namespace napkin::internal::test {

/// One variant of one kernel, enough to compile it.
struct KernelVariant {
  std::string source;        ///< "kernels/attention/sm90/attention_sm90.cuh"
  std::string architecture;  ///< "sm_90a"
  std::string expression;    ///< "napkin::attention_sm90<napkin::AttentionConfig{...}>"
};

struct MachineCode {
  KernelVariant variant;
  std::string code;  ///< SHA-256 of the instructions, their scheduling bits included
  int instructions = 0, registers = 0;
  std::string compiler;  ///< name_of(Compiler)
};

/// "NVRTC 13.0 55e97276a707": the version that it says, and the file by its hash, since updates keep the version.
inline std::string name_of(const Compiler& compiler) {
  return "NVRTC " + compiler.version() + " " + compiler.identity().substr(0, 12);
}

inline MachineCode machine_code_of(const KernelVariant& variant, const CompiledKernel& kernel,
                                   const std::string& compiler) {
  const std::string bytes = machine_code(kernel.cubin);
  return {variant, hex(Sha256().add(bytes).digest()), static_cast<int>(bytes.size() / 16), kernel.report.registers,
          compiler};
}

inline nlohmann::ordered_json json_of(const MachineCode& one) {
  return {{"source", one.variant.source},
          {"architecture", one.variant.architecture},
          {"expression", one.variant.expression},
          {"code", one.code},
          {"instructions", one.instructions},
          {"registers", one.registers},
          {"compiler", one.compiler}};
}

inline std::vector<MachineCode> read_machine_code(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path, "cannot be read");
  std::vector<MachineCode> out;
  nlohmann::json shared;
  for (std::string line; std::getline(file, line);) {
    auto row = nlohmann::json::parse(line);
    if (!report::complete_row(row, shared, path)) continue;
    out.push_back({{row.at("source"), row.at("architecture"), row.at("expression")},
                   row.at("code"),
                   row.at("instructions"),
                   row.at("registers"),
                   row.at("compiler")});
  }
  return out;
}

}  // namespace napkin::internal::test
