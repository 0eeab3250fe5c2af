#include "model/mapping/read/load.hpp"

#include <algorithm>

#include "model/base/error.hpp"
#include "model/base/file.hpp"
#include "model/base/library.hpp"
#include "model/base/yaml.hpp"
#include "model/mapping/read/read.hpp"

namespace napkin {
namespace {

constexpr std::string_view folder = "kernels/";

// The stem of an embedded mapping's path, empty for any other file: a mapping is found by name without parsing any. (a
// unit test holds name = stem)
std::string_view mapping_name(std::string_view path) {
  path = stem_in(path, folder);
  return path.substr(path.rfind('/') + 1);
}

/// Checks that the mapping's name is its file's: answers name the mapping, and its errors are looked up by that name.
void check_name(const Mapping& mapping, std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  if (path.ends_with(yaml_suffix)) path.remove_suffix(yaml_suffix.size());
  if (mapping.name != path)
    throw Error(mapping.file, "mapping: '" + mapping.name + "' in a file of another name",
                "mapping: " + std::string(path) + ", or the file " + mapping.name + std::string(yaml_suffix));
}

mapping_text::TableFile built_in_table(const std::string& name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(folder) && file.path.substr(file.path.rfind('/') + 1) == name)
      return {std::string(file.path), std::string(file.text), true};
  }
  return {};
}

}  // namespace

Mapping parse_mapping(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return mapping_text::Reader::read(document.root(), file, [&](const std::string& name) {
    const std::string path = file.substr(0, file.rfind('/') + 1) + name;
    return is_file(path) ? mapping_text::TableFile{path, yaml::read_file(path)} : built_in_table(name);
  });
}

Mapping load_mapping(const std::string& name_or_path, const std::string& where) {
  if (names_file(name_or_path)) {
    Mapping mapping = parse_mapping(yaml::read_file(name_or_path), name_or_path);
    check_name(mapping, name_or_path);
    return mapping;
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (name_or_path.empty() || mapping_name(file.path) != name_or_path) continue;
    const yaml::Document document = yaml::embedded(file);
    return mapping_text::Reader::read(document.root(), std::string(file.path), built_in_table);
  }
  throw Error(where, "unknown kernel '" + name_or_path + "'",
              one_of(name_or_path, builtin_mappings()) + ", or the path of a mapping's .yaml");
}

namespace {

/// Lists mappings by the top-level keys of their files, without reading any mapping in full.
std::vector<std::string> mappings_of(std::string_view algorithm, bool bundled) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    const std::string_view name = mapping_name(file.path);
    if (!name.empty() && yaml::embedded_word(file, "algorithm") == algorithm &&
        yaml::embedded_word(file, "source").empty() != bundled && yaml::embedded_word(file, "proposed") != "true")
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> bundled_mappings(std::string_view algorithm) { return mappings_of(algorithm, true); }
std::vector<std::string> peers_mappings(std::string_view algorithm) { return mappings_of(algorithm, false); }

std::vector<std::string> builtin_mappings() { return embedded_names(mapping_name); }

}  // namespace napkin
