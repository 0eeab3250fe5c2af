#pragma once
// A DiskCache keeps bytes on disk by key, for any number of processes at once: an entry is written to a file of its own
// and renamed into place. An entry that is damaged, or of another key or version, counts as none.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace napkin {

class DiskCache {
 public:
  /// `kind`: what its files end in, and with the version what they begin with; the version is counted up when an
  /// entry's content changes. The directory is made when first written to. An empty path: no cache.
  DiskCache(std::filesystem::path directory, std::string kind, int version);

  /// The entry, or nothing where there is none or it is damaged.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// Returns "" or why the entry could not be written. Never throws for that: what was kept can be made again.
  [[nodiscard]] std::string store(const std::string& key, std::string_view content) const;

  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const { return directory_ / (key + "." + kind_); }

 private:
  /// What an entry's file begins with: the format, and a hash of the key and of all that follows.
  [[nodiscard]] std::string head_of(const std::string& key, std::string_view content) const;

  std::filesystem::path directory_;
  std::string kind_, format_;
};

/// Appends a field of an entry: "length:bytes".
void add_field(std::string& content, std::string_view bytes);
/// Takes the next one off; nothing where there is no whole one.
[[nodiscard]] std::optional<std::string_view> next_field(std::string_view& rest);

}  // namespace napkin
