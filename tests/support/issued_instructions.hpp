#pragma once
// Issued counts the instructions of a warp of each kind in one iteration of its loop, read from machine code without a
// disassembler: a consumer of attention_fp8_sm90 444 instructions, of which 66 are exponentials.

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/sass/census.hpp"
#include "kernels/sass/loops.hpp"
#include "tests/support/assembly.hpp"

namespace napkin::internal::test {

/// Returns an opcode's name by its lowest nine bits; the three bits above encode the places of operands. (sm_80 to
/// sm_90)
inline std::string_view opcode_of(unsigned bits) {
  using Row = std::pair<unsigned, std::string_view>;
  static constexpr auto rows = std::to_array<Row>(
      {{0x001, "PMTRIG"},    {0x002, "MOV"},       {0x006, "VOTE"},   {0x007, "SEL"},     {0x008, "FSEL"},
       {0x009, "FMNMX"},     {0x00B, "FSETP"},     {0x00C, "ISETP"},  {0x00F, "VIMNMX3"}, {0x010, "IADD3"},
       {0x011, "LEA"},       {0x012, "LOP3"},      {0x016, "PRMT"},   {0x019, "SHF"},     {0x01C, "PLOP3"},
       {0x020, "FMUL"},      {0x021, "FADD"},      {0x023, "FFMA"},   {0x024, "IMAD"},    {0x025, "IMAD"},
       {0x027, "IMAD"},      {0x036, "VIADD"},     {0x03B, "LDSM"},   {0x03C, "HMMA"},    {0x03E, "F2FP"},
       {0x044, "STSM"},      {0x046, "VIADDMNMX"}, {0x048, "VIMNMX"}, {0x108, "MUFU"},    {0x118, "NOP"},
       {0x11D, "BAR"},       {0x147, "BRA"},       {0x14D, "EXIT"},   {0x150, "RET"},     {0x182, "LDC"},
       {0x183, "LDL"},       {0x184, "LDS"},       {0x187, "STL"},    {0x188, "STS"},     {0x189, "SHFL"},
       {0x1A7, "SYNCS"},     {0x1AE, "LDGSTS"},    {0x1B2, "SYNCS"},  {0x1B4, "UTMALDG"}, {0x1BA, "UBLKCP"},
       {0x1C5, "WARPGROUP"}, {0x1F0, "HGMMA"},     {0x1F3, "QGMMA"}});
  for (const Row& row : rows) {
    if (row.first == bits) return row.second;
  }
  return "other";
}

/// Decodes machine code into the form of kernels/sass: names, predicates and jump targets, without operands.
inline std::vector<SassInstruction> decoded(std::string_view image) {
  const std::string code = machine_code(image);
  const int count = static_cast<int>(code.size() / 16);
  std::vector<SassInstruction> out;
  for (int i = 0; i < count; ++i) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, code.data() + 16 * i, sizeof low);
    std::memcpy(&high, code.data() + 16 * i + 8, sizeof high);
    SassInstruction one;
    one.opcode = opcode_of(static_cast<unsigned>(low & 0x1FF));
    one.predicated = (low >> 12 & 7) != 7;
    if (one.opcode == "BRA") {
      one.predicated = one.predicated || (high >> 23 & 7) != 7;
      // In words of four bytes from the next instruction on: eight bits, and forty-eight above them.
      const std::uint64_t above = low >> 34 | (high & 0x3FFFF) << 30;
      const auto words = static_cast<std::int64_t>((above << 8 | (low >> 16 & 0xFF)) << 8) >> 8;
      const std::int64_t target = i + 1 + words / 4;
      if (target >= 0 && target < count) one.target = static_cast<int>(target);
    }
    out.push_back(std::move(one));
  }
  return out;
}

using Amounts = std::map<std::string, double>;  ///< warp instructions by unit, and "all"

/// Counts one iteration of the innermost loop that contains `marker`: the shortest path through it that has all
/// instructions that count (iteration_of). Empty if there is no such loop.
inline Amounts issued_beside(const std::vector<SassInstruction>& code, std::string_view marker,
                             std::string_view without = "") {
  const std::vector<SassLoop> loops = loops_of(code);
  const auto in = [&](const SassLoop& loop, std::string_view opcode) {
    int n = 0;
    for (int i : loop.body) n += code[static_cast<std::size_t>(i)].opcode == opcode ? 1 : 0;
    return n;
  };
  const SassLoop* found = nullptr;
  for (const SassLoop& loop : loops) {
    if (in(loop, marker) == 0 || (!without.empty() && in(loop, without) > 0)) continue;
    if (found == nullptr || loop.body.size() < found->body.size()) found = &loop;
  }
  Amounts out;
  if (found == nullptr) return out;
  for (int i : iteration_of(code, loops, *found)) {
    ++out[std::string(unit_of(code[static_cast<std::size_t>(i)]))];
    ++out["all"];
  }
  return out;
}

}  // namespace napkin::internal::test
