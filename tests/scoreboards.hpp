#pragma once
// What the assembler made of a kernel's exponentials, read from the machine code (sm_70 to sm_90: 16 bytes an instruction, opcode in
// the lowest 12 bits, the scoreboard that a result sets in bits 110 to 112; 7: none).

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace napkin::test {

struct Exponentials {
  int steps = 0;   ///< runs of exponentials between two scheduling fences
  int sharing = 0; ///< those in which two exponentials set one scoreboard, so that who waits for the first waits for the other
};

/// Of an ELF image's code.
inline Exponentials exponentials_of(std::string_view image) {
  constexpr unsigned multifunction = 0x308, fence = 0x801;  // MUFU, PMTRIG
  const auto read = [&](std::size_t at, auto& into) { std::memcpy(&into, image.data() + at, sizeof into); };
  Exponentials out;
  Elf64_Ehdr header;
  read(0, header);
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section;
    read(header.e_shoff + std::size_t{s} * header.e_shentsize, section);
    if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
    std::set<unsigned> set;
    int exponentials = 0;
    bool fenced = false;
    for (std::size_t at = section.sh_offset; at < section.sh_offset + section.sh_size; at += 16) {
      std::uint64_t low = 0, high = 0;
      read(at, low);
      read(at + 8, high);
      const auto opcode = static_cast<unsigned>(low & 0xFFF), scoreboard = static_cast<unsigned>(high >> 46 & 7);
      if (opcode == multifunction && scoreboard < 6) {
        ++exponentials;
        set.insert(scoreboard);
      }
      if (opcode != fence) continue;
      if (fenced && exponentials > 0) {
        ++out.steps;
        out.sharing += static_cast<int>(set.size()) < exponentials ? 1 : 0;
      }
      fenced = true;
      exponentials = 0;
      set.clear();
    }
  }
  return out;
}

}  // namespace napkin::test
