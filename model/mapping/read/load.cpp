#include "model/mapping/read/load.hpp"

#include <algorithm>

#include "model/base/error.hpp"
#include "model/base/file.hpp"
#include "model/base/library.hpp"
#include "model/base/yaml.hpp"
#include "model/base/yaml_overlay.hpp"
#include "model/mapping/read/read.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view folder = "kernels/";
constexpr int most_extensions = 8;
/// Fields by which items of a mapping are matched with those of the mapping that it extends.
constexpr const char* identity[] = {"name", "from", "to", "when"};

/// Returns the stem of an embedded mapping's path, empty for any other file: so that a mapping is found by name without
/// parsing any. (A unit test checks that names equal stems.)
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

/// Returns the keys and places above a node in its document: 0 of the document, 2 of `agents.consumer`.
int depth_of(const yaml::Node& node) {
  const std::string path = node.path();
  return static_cast<int>(std::count(path.begin(), path.end(), '.') + std::count(path.begin(), path.end(), '[')) +
         (path.empty() ? 0 : 1);
}

/// Returns true for values that replace the extended mapping's value as a whole. Sections are joined entry by entry; an
/// agent, a level or an operation key by key; relations, edges and work item by item.
bool is_whole(const yaml::Node& node) {
  const std::string path = node.path(), section = path.substr(0, path.find('.'));
  const int depth = depth_of(node);
  if (node.is_sequence())
    return path != "edges" && path != "relations" &&
           !(section == "operations" && depth == 3 && path.ends_with(".work"));
  if (depth < 2) return path == "combine";
  return depth > 2 || (section != "agents" && section != "levels" && section != "operations");
}

bool are_equal(const yaml::Node* a, const yaml::Node* b) {
  if (a == nullptr || b == nullptr || a->kind() != b->kind()) return a == b;
  if (a->is_scalar()) return a->text() == b->text();
  if (a->is_sequence())
    return std::equal(a->items().begin(), a->items().end(), b->items().begin(), b->items().end(),
                      [](const yaml::Node& x, const yaml::Node& y) { return are_equal(&x, &y); });
  if (!a->is_map() || a->entries().size() != b->entries().size()) return false;
  return std::all_of(a->entries().begin(), a->entries().end(),
                     [&](const auto& entry) { return are_equal(&entry.second, b->find(entry.first)); });
}

/// Returns true for items of one name, or edges between equal ends, under equal conditions.
bool is_same(const yaml::Node& below, const yaml::Node& above) {
  if (!below.is_map() || !above.is_map()) return false;
  return std::all_of(std::begin(identity), std::end(identity),
                     [&](const char* key) { return are_equal(below.find(key), above.find(key)); });
}

/// Joins a mapping with the one that it extends, if it extends one: `find` returns the document of that name. Of a list
/// it extends the first, and takes from each other one what that file says by itself.
template <class Find>
yaml::Document extended(yaml::Document own, const Find& find, int depth = 0) {
  const yaml::Node* base = own.root().is_map() ? own.root().find("extends") : nullptr;
  if (base == nullptr) return own;
  if (depth == most_extensions) base->fail("extends itself, or more than 8 others", "a mapping that extends none");
  const bool several = base->is_sequence();
  if (several && base->items().empty()) base->fail("an empty list", "a mapping's name, or several");
  const yaml::Overlay overlay(is_whole, is_same, {});
  yaml::Document below = extended(find(several ? base->items()[0] : *base), find, depth + 1);
  for (std::size_t i = 1; several && i < base->items().size(); ++i)
    below = overlay.joined(std::move(below), find(base->items()[i]));
  return overlay.joined(std::move(below), std::move(own));
}

/// Returns the document of a built-in mapping.
yaml::Document built_in(const yaml::Node& name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (mapping_name(file.path) == name.text()) return yaml::embedded(file);
  }
  name.fail("unknown kernel '" + name.text() + "'", one_of(name.text(), builtin_mappings()));
}

}  // namespace

Mapping parse_mapping(std::string_view text, const std::string& file) {
  const std::string folder_of_it = file.substr(0, file.rfind('/') + 1);
  const yaml::Document document = extended(yaml::parse(text, file), [&](const yaml::Node& name) {
    const std::string path = folder_of_it + name.text() + std::string(yaml_suffix);
    return is_file(path) && path != file ? yaml::parse(yaml::read_file(path), path) : built_in(name);
  });
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
    const yaml::Document document = extended(yaml::embedded(file), built_in);
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
        yaml::embedded_word(file, "source").empty() != bundled && yaml::embedded_word(file, "proposed") != "true" &&
        yaml::embedded_word(file, "layout").empty())
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> bundled_mappings(std::string_view algorithm) { return mappings_of(algorithm, true); }
std::vector<std::string> peers_mappings(std::string_view algorithm) { return mappings_of(algorithm, false); }

std::vector<std::string> builtin_mappings() { return embedded_names(mapping_name); }

}  // namespace napkin::internal
