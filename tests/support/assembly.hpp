#pragma once
// These functions find facts of a compiled kernel in its machine code (sm_70 to sm_90: 16 bytes an instruction, opcode
// in the lowest 12 bits, the scoreboard that a result sets in bits 110 to 112; 7: none).

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal::test {

struct Instruction {
  unsigned opcode = 0, scoreboard = 7;
  bool waits = false;  ///< true for an instruction of a warpgroup that waits for its products
};

/// Returns the instructions of an ELF image, section by section: "\x01..." of 16 bytes each.
inline std::string machine_code(std::string_view image) {
  const auto read = [&](std::size_t at, auto& into) { std::memcpy(&into, image.data() + at, sizeof into); };
  Elf64_Ehdr header;
  read(0, header);
  std::string out;
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section;
    read(header.e_shoff + std::size_t{s} * header.e_shentsize, section);
    if ((section.sh_flags & SHF_EXECINSTR) != 0) out += image.substr(section.sh_offset, section.sh_size);
  }
  return out;
}

/// Calls `see` with each instruction of an ELF image's code, in order.
template <typename See>
void for_instructions(std::string_view image, See see) {
  const std::string code = machine_code(image);
  for (std::size_t at = 0; at < code.size(); at += 16) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, code.data() + at, sizeof low);
    std::memcpy(&high, code.data() + at + 8, sizeof high);
    see(Instruction{static_cast<unsigned>(low & 0xFFF), static_cast<unsigned>(high >> 46 & 7), (low >> 47 & 1) != 0});
  }
}

struct Exponentials {
  int steps = 0;  ///< runs of exponentials between two scheduling fences
  int sharing =
      0;  ///< runs in which two exponentials set one scoreboard, so that a wait for the first is a wait for the other
};

inline Exponentials exponentials_of(std::string_view image) {
  constexpr unsigned multifunction = 0x308, fence = 0x801;  // MUFU, PMTRIG
  Exponentials out;
  std::set<unsigned> set;
  int exponentials = 0;
  bool fenced = false;
  for_instructions(image, [&](const Instruction& one) {
    if (one.opcode == multifunction && one.scoreboard < 6) {
      ++exponentials;
      set.insert(one.scoreboard);
    }
    if (one.opcode != fence) return;
    if (fenced && exponentials > 0) {
      ++out.steps;
      out.sharing += static_cast<int>(set.size()) < exponentials ? 1 : 0;
    }
    fenced = true;
    exponentials = 0;
    set.clear();
  });
  return out;
}

/// Waits for products (WARPGROUP.DEPBAR).
struct Waits {
  int until_product = std::numeric_limits<int>::max();  ///< fewest instructions between one and the next product
  /// Fewest exponentials between two waits with no product in between.
  int exponentials = std::numeric_limits<int>::max();
};

inline Waits waits_of(std::string_view image) {
  constexpr unsigned product = 0x9F0, warpgroup = 0x9C5, multifunction = 0x308;  // HGMMA, WARPGROUP, MUFU
  Waits out;
  int since = -1, exponentials = 0;  // since the last wait, while no product has come; -1: one has
  for_instructions(image, [&](const Instruction& one) {
    if (one.opcode == warpgroup && one.waits) {
      if (since >= 0) out.exponentials = std::min(out.exponentials, exponentials);
      since = exponentials = 0;
    } else if (one.opcode == product) {
      if (since >= 0) out.until_product = std::min(out.until_product, since);
      since = -1;
    } else if (since >= 0) {
      ++since;
      exponentials += one.opcode == multifunction ? 1 : 0;
    }
  });
  return out;
}

/// Products that are issued with no wait among them.
struct Batch {
  int products = 0;
  int between = 0;  ///< instructions from the first to the last
};

inline std::vector<Batch> batches_of(std::string_view image) {
  constexpr unsigned product = 0x9F0, from_registers = 0xDF0, warpgroup = 0x9C5;  // HGMMA, by where A is; WARPGROUP
  std::vector<Batch> out;
  int since = -1;  // the last product of the batch; -1: none yet
  for_instructions(image, [&](const Instruction& one) {
    if (one.opcode == warpgroup && one.waits) {
      since = -1;
    } else if (one.opcode == product || one.opcode == from_registers) {
      if (since < 0) out.emplace_back();
      out.back().between += std::max(since, 0);
      ++out.back().products;
      since = 0;
    } else if (since >= 0) {
      ++since;
    }
  });
  return out;
}

}  // namespace napkin::internal::test
