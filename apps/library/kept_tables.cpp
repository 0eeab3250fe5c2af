#include "apps/library/kept_tables.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include "apps/library/catalog.hpp"
#include "apps/library/revision.hpp"
#include "kernels/jit/disk_cache.hpp"
#include "kernels/jit/sha256.hpp"
#include "kernels/launch/environment.hpp"

namespace napkin {
namespace {

DiskCache tables_in(const std::filesystem::path& folder) { return {folder, "table", 1}; }

/// This program's sources are part of a key: a table says what they predict.
std::string digits_of(const std::string& key) {
  Sha256 hash;
  hash.add_field(source_digest());
  hash.add_field(key);
  return hex(hash.digest());
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
  for (const char* folder : {NAPKIN_BUILT_TABLES, NAPKIN_INSTALLED_TABLES}) folders.emplace_back(folder);
  return folders;
}

Tables::Store kept_tables() {
  const std::filesystem::path cache = process_environment().cache;
  const auto load = [cache, shipped = shipped_tables()](const std::string& key) -> std::optional<std::string> {
    const std::string digits = digits_of(key);
    for (const std::filesystem::path& folder : shipped) {
      if (auto bytes = tables_in(folder).find(digits)) return bytes;
    }
    return tables_in(cache).find(digits);
  };
  const auto save = [cache](const std::string& key, const std::string& bytes) {
    (void)tables_in(cache).store(digits_of(key), bytes);  // what is not kept is made again
  };
  return {load, save};
}

Tables::Store tables_for(const std::filesystem::path& folder) {
  return {nullptr, [folder](const std::string& key, const std::string& bytes) {
            const std::string why = tables_in(folder).store(digits_of(key), bytes);
            if (!why.empty()) throw Error("--out", why, "a folder that can be written");
          }};
}

std::string content_of(const std::string& name) {
  if (!names_file(name)) return name;
  std::ifstream file(name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Sha256 hash;
  hash.add_field(bytes);
  return hex(hash.digest());
}

}  // namespace napkin
