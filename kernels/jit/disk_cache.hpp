#pragma once
// A DiskCache keeps bytes on disk by key, for any number of processes at once: an entry is written to a file of its own
// and renamed into place. An entry that is damaged, or of another key or version, counts as none.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace napkin::internal {

class DiskCache {
 public:
  /// Opens the cache. `kind` is the ending of its files and, with `version`, their beginning; a change of the entries'
  /// content needs a new version. The directory is made at the first write; an empty path means no cache.
  DiskCache(std::filesystem::path directory, std::string kind, int version);

  /// Returns the entry; nothing if it is missing or damaged.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// Stores an entry. Returns "", or the reason why it could not be written; never throws for that, since entries can
  /// be made again.
  [[nodiscard]] std::string store(const std::string& key, std::string_view content) const;

  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const { return directory_ / (key + "." + kind_); }

 private:
  /// Makes the beginning of an entry's file: the format, and a hash of the key and the content.
  [[nodiscard]] std::string head_of(const std::string& key, std::string_view content) const;

  std::filesystem::path directory_;
  std::string kind_, format_;
};

/// Appends a field of an entry: "length:bytes".
void add_field(std::string& content, std::string_view bytes);
/// Takes the next field off the text; nothing if no whole field is left.
[[nodiscard]] std::optional<std::string_view> next_field(std::string_view& rest);

}  // namespace napkin::internal
