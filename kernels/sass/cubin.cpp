#include "kernels/sass/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

/// Attributes of a kernel (.nv.info), by the names that nvdisasm prints.
constexpr int max_threads = 0x05, required_threads = 0x10, frame_size = 0x11, register_count = 0x2F;
constexpr int form_of_bytes = 4;  // a length, and so many bytes

class Image {
 public:
  Image(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) refuse();
    for (unsigned s = 0; s < header.e_shnum; ++s)
      sections.push_back(read<Elf64_Shdr>(header.e_shoff + std::uint64_t{s} * sizeof(Elf64_Shdr)));
    if (header.e_shstrndx >= sections.size()) refuse();
    names_ = &sections[header.e_shstrndx];
  }
  std::vector<Elf64_Shdr> sections;

  [[nodiscard]] std::string_view name_of(const Elf64_Shdr& section) const { return text(*names_, section.sh_name); }
  [[nodiscard]] std::string_view content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) refuse();
    return bytes_.substr(section.sh_offset, section.sh_size);
  }
  [[nodiscard]] std::string_view text(const Elf64_Shdr& strings, std::uint64_t at) const {
    const std::string_view all = content(strings);
    if (at >= all.size()) refuse();
    return all.substr(at, all.find('\0', at) - at);
  }
  template <class T>
  [[nodiscard]] T read(std::uint64_t at) const {
    T out;
    if (at > bytes_.size() || sizeof(T) > bytes_.size() - at) refuse();
    std::memcpy(&out, bytes_.data() + at, sizeof(T));
    return out;
  }
  [[noreturn]] void refuse() const {
    throw Error(where_, "is no compiled kernel (cubin)", "a 64-bit ELF file of ptxas");
  }

 private:
  std::string_view bytes_;
  const std::string& where_;
  const Elf64_Shdr* names_ = nullptr;
};

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  if (at + sizeof out <= bytes.size()) std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

/// Calls `see` with each attribute's number and bytes.
template <class See>
void for_attributes(std::string_view info, const See& see) {
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto form = static_cast<unsigned char>(info[at]), number = static_cast<unsigned char>(info[at + 1]);
    std::uint16_t value = 0;
    std::memcpy(&value, info.data() + at + 2, sizeof value);
    at += 4;
    if (form != form_of_bytes) continue;
    see(int{number}, info.substr(at, value));
    at += value;
  }
}

std::vector<std::string> symbols_of(const Image& image) {
  std::vector<std::string> out;
  for (const Elf64_Shdr& section : image.sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= image.sections.size()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = image.read<Elf64_Sym>(section.sh_offset + at);
      out.emplace_back(image.text(image.sections[section.sh_link], symbol.st_name));
    }
  }
  return out;
}

/// Bits of a code section's flags that hold the number of barriers.
constexpr unsigned barriers_shift = 20, barriers_mask = 0x7F;

}  // namespace

std::vector<std::pair<std::string, SassResources>> read_cubin(std::string_view bytes, const std::string& where) {
  const Image image(bytes, where);
  const std::vector<std::string> symbols = symbols_of(image);
  std::map<std::string, SassResources, std::less<>> found;
  constexpr std::string_view text = ".text.", info = ".nv.info", shared = ".nv.shared.";
  for (const Elf64_Shdr& section : image.sections) {
    const std::string_view name = image.name_of(section);
    if (name.starts_with(text))
      found[std::string(name.substr(text.size()))].barriers =
          static_cast<int>(section.sh_flags >> barriers_shift & barriers_mask);
  }
  for (const Elf64_Shdr& section : image.sections) {
    const std::string_view name = image.name_of(section);
    if (name.starts_with(shared)) {
      const auto own = found.find(name.substr(shared.size()));
      if (own != found.end()) own->second.shared = static_cast<int>(section.sh_size);
    }
    if (!name.starts_with(info)) continue;
    const auto own = name.size() > info.size() ? found.find(name.substr(info.size() + 1)) : found.end();
    for_attributes(image.content(section), [&](int number, std::string_view value) {
      if (own != found.end() && (number == max_threads || number == required_threads))
        own->second.threads = static_cast<int>(word(value, 0) * word(value, 4) * word(value, 8));
      const std::uint32_t symbol = word(value, 0);
      if (own != found.end() || symbol >= symbols.size()) return;
      const auto named = found.find(symbols[symbol]);
      if (named == found.end()) return;
      if (number == register_count) named->second.registers = static_cast<int>(word(value, 4));
      if (number == frame_size) named->second.stack = static_cast<int>(word(value, 4));
    });
  }
  if (found.empty()) image.refuse();
  return {found.begin(), found.end()};
}

}  // namespace napkin::internal
