#include "model/dependence/library.hpp"

#include <algorithm>
#include <optional>

#include "model/base/embedded.hpp"
#include "model/base/yaml.hpp"
#include "model/dependence/text.hpp"

namespace napkin::dependence {
namespace {

constexpr std::string_view folder = "model/dependence/nests/";
constexpr std::string_view suffix = ".yaml";

// The stem of an embedded nest's path; nothing for any other file.
std::optional<std::string> nest_name(std::string_view path) {
  if (!path.starts_with(folder) || !path.ends_with(suffix)) return std::nullopt;
  return std::string(path.substr(folder.size(), path.size() - folder.size() - suffix.size()));
}

}  // namespace

std::vector<std::string> builtin_nests() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (const auto name = nest_name(file.path)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Nest load_nest(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(suffix)) {
    return parse_nest(yaml::read_file(name_or_path), name_or_path);
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (nest_name(file.path) == name_or_path) return parse_nest(file.text, std::string(file.path));
  }
  throw Error(name_or_path, "no such nest", one_of(name_or_path, builtin_nests()) + ", or the path of a nest's .yaml");
}

}  // namespace napkin::dependence
