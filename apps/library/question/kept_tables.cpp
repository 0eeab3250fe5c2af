#include "apps/library/question/kept_tables.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/revision.hpp"
#include "kernels/jit/disk_cache.hpp"
#include "kernels/jit/sha256.hpp"
#include "kernels/runtime/environment.hpp"
#include "model/base/file.hpp"
#include "model/base/library.hpp"

namespace napkin {
namespace {

DiskCache tables_in(const std::filesystem::path& folder) { return {folder, "table", 2}; }

/// The sources that make tables are part of a key: a table says what they predict.
std::string digits_of(const std::string& key) {
  Sha256 hash;
  hash.add_field(table_digest());
  hash.add_field(key);
  return hex(hash.digest());
}

/// The shared library that this code is linked into (Python's module); of a program its own name, as it was called.
std::filesystem::path own_library() {
  static const char here = 0;
  Dl_info found{};
  return dladdr(&here, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

/// What a file may draw on: its tables ("NAME.registers.csv" of "NAME.yaml") and the architectures beside a product's.
std::vector<std::string> read_beside(const std::string& name) {
  const std::filesystem::path path(name), folder = path.parent_path().empty() ? "." : path.parent_path();
  const std::string tables = path.stem().string() + ".";
  std::vector<std::string> out;
  const auto look = [&](const std::filesystem::path& in, const std::string& begins, const std::string& ends) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(in, none)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with(begins) && file.ends_with(ends)) out.push_back(entry.path().string());
    }
  };
  look(folder, tables, ".csv");
  look(folder / "architectures", "", ".yaml");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<std::filesystem::path> shipped_tables() {
  std::vector<std::filesystem::path> folders;
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    folders.push_back(program.parent_path() / "tables");
    folders.push_back(program.parent_path().parent_path() / "share/napkin/tables");
  }
  if (const std::filesystem::path library = own_library(); !library.empty())
    folders.push_back(library.parent_path() / "tables");
  for (const char* folder : {NAPKIN_BUILT_TABLES, NAPKIN_INSTALLED_TABLES}) folders.emplace_back(folder);
  return folders;
}

Tables::Store kept_tables() {
  const std::filesystem::path cache = process_environment().cache;
  std::vector<std::filesystem::path> folders = shipped_tables();
  folders.insert(folders.begin(), cache);  // a table there began as the one that was shipped
  const auto load = [folders](const std::string& key) -> std::optional<SharedBytes> {
    const std::string digits = digits_of(key);
    for (const std::filesystem::path& folder : folders) {
      if (auto bytes = tables_in(folder).find(digits)) return SharedBytes(std::move(*bytes));
    }
    return std::nullopt;
  };
  const auto save = [cache](const std::string& key, const std::string& bytes) {
    (void)tables_in(cache).store(digits_of(key), bytes);  // what is not kept is made again
  };
  return {load, save};
}

Tables::Store shipped_to(const std::filesystem::path& folder) {
  return {nullptr, [folder](const std::string& key, const std::string& bytes) {
            const std::string why = tables_in(folder).store(digits_of(key), bytes);
            if (!why.empty()) throw Error("--out", why, "a folder that can be written");
          }};
}

std::string content_of(const std::string& name) {
  if (!names_file(name)) return name;
  constexpr std::size_t most = std::size_t{4} << 20;  // as of everything that was read under that name
  Sha256 hash;
  hash.add_field(read_file(name, most, name));
  for (const std::string& other : read_beside(name)) hash.add_field(read_file(other, most, other));
  return hex(hash.digest());
}

}  // namespace napkin
