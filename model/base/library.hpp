#pragma once
// find_named finds a file that comes with the program by its name, such as the diagram "attention" of
// model/diagram/algorithms/attention.yaml, or by the path of a user's own file.

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/base/yaml.hpp"

namespace napkin::internal {

constexpr std::string_view yaml_suffix = ".yaml";

/// Returns true if the text is a path to a user's own file: "mine.yaml", "./mine".
[[nodiscard]] inline bool names_file(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(yaml_suffix);
}

/// Returns the stem of a YAML file in that folder: "attention" for "model/diagram/algorithms/attention.yaml" in
/// "model/diagram/algorithms/"; empty for any other path.
[[nodiscard]] inline std::string_view stem_in(std::string_view path, std::string_view folder) {
  if (!path.starts_with(folder) || !path.ends_with(yaml_suffix)) return {};
  path.remove_prefix(folder.size());
  return path.substr(0, path.size() - yaml_suffix.size());
}

/// Returns the embedded file of that path. Throws std::logic_error where the build embedded none.
[[nodiscard]] inline EmbeddedFile embedded_file(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file;
  }
  throw std::logic_error("'" + std::string(path) +
                         "' is not in the program: name it in napkin_embed of CMakeLists.txt");
}

/// Collects name_of(path) of every embedded file, sorted, without empty names.
template <class NameOf>
std::vector<std::string> embedded_names(const NameOf& name_of) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (const std::string_view name = name_of(file.path); !name.empty()) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Parses a user's file, or the embedded file of that name; nothing if there is none.
template <class NameOf>
std::optional<yaml::Document> find_named(const std::string& name_or_path, const NameOf& name_of) {
  if (names_file(name_or_path)) return yaml::parse(yaml::read_file(name_or_path), name_or_path);
  for (const EmbeddedFile& file : embedded_files()) {
    if (!name_or_path.empty() && name_of(file.path) == name_or_path) return yaml::embedded(file);
  }
  return std::nullopt;
}

}  // namespace napkin::internal
