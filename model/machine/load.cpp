#include "model/machine/load.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include "model/base/library.hpp"
#include "model/base/yaml_overlay.hpp"
#include "model/machine/sections.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view folder = "hardware_profiles/", architectures = "architectures/";

/// Returns the profile's name: "h200-sxm" for "hardware_profiles/h200-sxm.yaml"; "" for any other path.
std::string_view name_in(std::string_view path, std::string_view directory) {
  path = stem_in(path, directory);
  return path.find('/') == std::string_view::npos ? path : std::string_view{};
}

std::string_view profile_name(std::string_view path) { return name_in(path, folder); }

std::string_view architecture_name(std::string_view path) {
  return path.starts_with(folder) ? name_in(path.substr(folder.size()), architectures) : std::string_view{};
}

std::string read_name(const yaml::Node& node) {
  const std::string& name = node.text();
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (name.size() > 64 || !std::all_of(name.begin(), name.end(), good)) {
    node.fail("'" + name.substr(0, 64) + "' is not a profile's name", "small letters, digits and -, such as h200-sxm");
  }
  return name;
}

/// The place of a profile: built-in ones use the built-in architectures, a user's file may have its own beside it.
enum class Source { built_in, file };

/// Reads the architecture of that name: beside the product's own file, else built in.
yaml::Document architecture_document(const yaml::Node& word, const std::string& file, Source source) {
  const std::string& name = word.text();
  const std::string beside =
      file.substr(0, file.rfind('/') + 1) + std::string(architectures) + name + std::string(yaml_suffix);
  if (source == Source::file && name.find('/') == std::string::npos && std::ifstream(beside).good())
    return yaml::parse(yaml::read_file(beside), beside);
  for (const EmbeddedFile& each : embedded_files()) {
    if (!name.empty() && architecture_name(each.path) == name) return yaml::embedded(each);
  }
  word.fail("no file says what a node of '" + name + "' does",
            one_of(name, builtin_architectures()) +
                "; or a whole machine, with vendor, levels and compute of its own (docs/own-gpu.md)");
}

/// Returns true for a value that is replaced as a whole: a number (or a table) with its source, and any list but that
/// of tensor instructions.
bool is_whole(const yaml::Node& node) {
  if (node.is_sequence()) return node.path() != "tensor";
  if (!node.is_map()) return true;
  return std::any_of(node.entries().begin(), node.entries().end(), [](const auto& entry) {
    return entry.first == "value" || entry.first == "datasheet" || entry.first == "source" || entry.first == "measured";
  });
}

/// Returns true for tensor instructions of one name and the same types.
bool is_same(const yaml::Node& below, const yaml::Node& above) {
  const auto word = [](const yaml::Node& item, std::string_view key) {
    const yaml::Node* found = item.is_map() ? item.find(key) : nullptr;
    return found == nullptr ? std::vector<std::string>{} : found->words();
  };
  return word(below, "name") == word(above, "name") && word(below, "types") == word(above, "types");
}

const std::vector<std::string> sections = {"levels", "cores",  "pipes", "tensor",    "units",
                                           "limits", "clocks", "power", "constants", "fitted"};

std::vector<std::string> and_sections(std::vector<std::string> keys) {
  keys.insert(keys.end(), sections.begin(), sections.end());
  return keys;
}

bool is_whole_machine(const yaml::Node& document) {
  return document.find("vendor") != nullptr || document.find("compute") != nullptr;
}

/// Overlays a product's values on its architecture's.
yaml::Document product_document(yaml::Document document, const std::string& file, Source source) {
  const yaml::Node& product = document.root();
  product.allow(and_sections({"name", "about", "aliases", "architecture"}));
  yaml::Document below = architecture_document(product.at("architecture"), file, source);
  const yaml::Node& architecture = below.root();
  architecture.allow(and_sections({"architecture", "about", "vendor", "compute"}));
  if (architecture.at("architecture").text() != product.at("architecture").text())
    architecture.at("architecture")
        .fail("'" + architecture.at("architecture").text() + "' in a file of another name",
              product.at("architecture").text());
  (void)product.at("about");
  return yaml::Overlay(is_whole, is_same, {"bandwidth", "bandwidth_per_node", "by_cluster_size"})
      .joined(std::move(below), std::move(document));
}

/// Throws Error if more is kept in the cache below device memory than it holds.
void check_kept(const yaml::Node& document, const Machine& machine) {
  const auto kept = machine.constants.find("l2_working_set");
  if (kept == machine.constants.end()) return;
  for (const Level& level : machine.levels) {
    if (level.kind != LevelKind::cache || level.parent != 0 || !level.capacity.known()) continue;
    if (kept->second.value > level.capacity.best().value)
      document.at("constants")
          .at("l2_working_set")
          .fail("more than " + level.name + " holds", "at most levels." + level.name + ".capacity");
  }
}

Machine read_machine(const yaml::Node& document) {
  Machine machine;
  machine.name = read_name(document.at("name"));
  machine.about = document.at("about").text();
  machine.vendor = document.at("vendor").choice({"nvidia", "amd", "huawei", "other"});
  machine.architecture = document.at("architecture").text();
  if (machine.architecture.empty())
    document.at("architecture").fail("is empty", "a name that mappings can run on, such as sm_90");
  profile::read_levels(document.at("levels"), machine);
  machine.compute = profile::level_named(document.at("compute"), machine);
  if (machine.levels[static_cast<std::size_t>(machine.compute)].kind != LevelKind::ordinary) {
    document.at("compute").fail("'" + document.at("compute").text() + "' is not an ordinary level",
                                "the level whose nodes hold the execution units (on a GPU the SM's shared memory)");
  }
  if (const auto* cores = document.find("cores")) profile::read_cores(*cores, machine);
  profile::read_pipes(document.at("pipes"), machine);
  profile::read_tensor(document.at("tensor"), machine);
  profile::read_units(document.at("units"), machine);
  if (const auto* limits = document.find("limits")) {
    profile::read_limits(*limits, machine.limits);
    const Level& level = machine.levels[static_cast<std::size_t>(machine.compute)];
    if (!level.per_block)
      document.at("levels")
          .at(level.name)
          .fail("no per_block", "per_block: {value, unit, source}: what one block may use");
  }
  profile::read_clocks(document.at("clocks"), machine.clocks);
  if (const auto* power = document.find("power")) profile::read_power(*power, machine.power);
  if (const auto* constants = document.find("constants")) profile::read_constants(*constants, false, machine);
  check_kept(document, machine);
  if (const auto* fitted = document.find("fitted")) profile::read_constants(*fitted, true, machine);
  profile::complete_power(machine);
  if (const auto* aliases = document.find("aliases")) {
    for (const yaml::Node& alias : aliases->items()) machine.aliases.push_back(read_name(alias));
  }
  return machine;
}

Machine read(yaml::Document document, const std::string& file, Source source) {
  if (const yaml::Node& root = document.root(); is_whole_machine(root)) {
    root.allow(and_sections({"name", "about", "aliases", "vendor", "architecture", "compute"}));
    return read_machine(root);
  }
  try {
    return read_machine(product_document(std::move(document), file, source).root());
  } catch (const Error& error) {
    if (error.where().starts_with(file + ":")) throw;
    throw Error(error.where(), error.problem(), error.right() + ", there or in the product's file " + file);
  }
}

std::vector<std::string> aliases_of(const EmbeddedFile& profile) {
  const yaml::Document document = yaml::embedded(profile);
  const yaml::Node* aliases = document.root().find("aliases");
  return aliases == nullptr ? std::vector<std::string>() : aliases->words();
}

/// Finds the bundled profile of that name, or else the profile with that alias; nothing if there is none.
std::optional<EmbeddedFile> find_profile(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const EmbeddedFile& file : embedded_files()) {
    if (profile_name(file.path) == name) return file;
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (profile_name(file.path).empty()) continue;
    const std::vector<std::string> aliases = aliases_of(file);
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return file;
  }
  return std::nullopt;
}

}  // namespace

Machine parse_machine(std::string_view text, const std::string& file) {
  return read(yaml::parse(text, file), file, Source::file);
}

Machine load_machine(const std::string& name_or_path, const std::string& where) {
  if (names_file(name_or_path)) {
    return parse_machine(yaml::read_file(name_or_path), name_or_path);
  }
  if (const auto file = find_profile(name_or_path))
    return read(yaml::embedded(*file), std::string(file->path), Source::built_in);
  throw Error(where, "unknown GPU '" + name_or_path + "'",
              one_of(name_or_path, builtin_machines()) + ", or the path of a profile");
}

std::vector<std::string> builtin_architectures() { return embedded_names(architecture_name); }

std::vector<std::pair<std::string, std::string>> builtin_aliases() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const EmbeddedFile& file : embedded_files()) {
    if (profile_name(file.path).empty()) continue;
    for (const std::string& alias : aliases_of(file)) out.emplace_back(alias, profile_name(file.path));
  }
  return out;
}

std::vector<std::string> builtin_machines() { return embedded_names(profile_name); }

}  // namespace napkin::internal
