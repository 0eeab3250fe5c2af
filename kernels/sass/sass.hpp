#pragma once
// read_sass reads a disassembly into functions of instructions: "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], RZ" and the
// targets of jumps. The text is what `nvdisasm -c`, `cuobjdump -sass` or a compiler's own listing prints.

#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal {

struct SassInstruction {
  std::string opcode;    ///< "HGMMA"
  std::string suffix;    ///< ".64x128x16.F32.BF16"
  std::string operands;  ///< "R24, gdesc[UR8], RZ, !UPT"
  bool predicated = false;
  int target = -1;  ///< index of a jump's target; -1 if that is outside, or unknown

  /// Returns the register with which operand n begins ("R24.reuse" is 24); -1 for no register, or RZ.
  [[nodiscard]] int register_of(std::size_t n) const;
  [[nodiscard]] std::string_view operand(std::size_t n) const;
  [[nodiscard]] bool has(std::string_view part) const { return suffix.find(part) != std::string::npos; }
  /// Returns the bytes of a thread that a load or a store moves.
  [[nodiscard]] int width() const { return has(".128") ? 16 : has(".64") ? 8 : 4; }
};

/// The resources that a function needs; 0 if the text does not say.
struct SassResources {
  int registers = 0, threads = 0, stack = 0, shared = 0, barriers = 0;
};

struct SassFunction {
  std::string name, architecture;  ///< "sm_90"
  SassResources resources;         ///< resources from "REG:168 STACK:0 ..." lines, as `cuobjdump -res-usage` prints
                                   ///< them
  std::vector<SassInstruction> code;
};

[[nodiscard]] std::vector<SassFunction> read_sass(std::string_view text);

/// Returns the unit that an instruction occupies: "tensor", "special", "fp32", "alu", "conversion", "shuffle", "copy"
/// (cp.async), "bulk" (the copy engine), "fragments" (ldmatrix), "shared", "local"; else "other", which takes only an
/// issue slot.
[[nodiscard]] std::string_view unit_of(const SassInstruction& one);

}  // namespace napkin::internal
