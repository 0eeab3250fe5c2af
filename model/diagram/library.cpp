#include "model/diagram/library.hpp"

#include <algorithm>
#include <optional>

#include "model/base/embedded.hpp"
#include "model/base/yaml.hpp"
#include "model/diagram/text.hpp"

namespace napkin {
namespace {

constexpr std::string_view folder = "model/diagram/algorithms/";
constexpr std::string_view suffix = ".yaml";

// The stem of an embedded diagram's path; nothing for any other file.
std::optional<std::string> diagram_name(std::string_view path) {
  if (!path.starts_with(folder) || !path.ends_with(suffix)) return std::nullopt;
  return std::string(path.substr(folder.size(), path.size() - folder.size() - suffix.size()));
}

}  // namespace

std::vector<std::string> builtin_diagrams() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (const auto name = diagram_name(file.path)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Diagram load_diagram(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(suffix)) {
    return parse_diagram(yaml::read_file(name_or_path), name_or_path);
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (diagram_name(file.path) == name_or_path) return parse_diagram(file.text, std::string(file.path));
  }
  throw Error(name_or_path, "no such algorithm",
              one_of(name_or_path, builtin_diagrams()) + ", or the path of a diagram's .yaml");
}

}  // namespace napkin
