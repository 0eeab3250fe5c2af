#include "model/base/file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

namespace fs = std::filesystem;

const char* kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory: return "is a folder";
    case fs::file_type::fifo: return "is a FIFO";
    case fs::file_type::character:
    case fs::file_type::block: return "is a device";
    case fs::file_type::socket: return "is a socket";
    default: return "cannot be read";
  }
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  return std::to_string(bytes / mib) + " MiB";
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

std::string read_file(const std::string& path, std::size_t most, const std::string& where) {
  const std::string subject = where == path ? "" : "'" + path + "' ";
  std::error_code none;
  const fs::file_type type = fs::status(path, none).type();
  if (type != fs::file_type::regular) throw Error(where, subject + kind_of(type), "the path of a readable file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(where, subject + "cannot be read", "the path of a readable file");
  std::string text;
  constexpr std::size_t part = std::size_t{1} << 16;
  while (in && text.size() <= most) {
    const std::size_t had = text.size();
    text.resize(had + part);
    in.read(text.data() + had, static_cast<std::streamsize>(part));
    text.resize(had + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw Error(where, subject + "cannot be read", "the path of a readable file");
  if (text.size() > most) throw Error(where, subject + "is larger than " + size_text(most), "a smaller file");
  return text;
}

}  // namespace napkin::internal
