#include "model/machine/load.hpp"

#include <algorithm>

#include "model/base/embedded.hpp"
#include "model/base/yaml.hpp"
#include "model/machine/sections.hpp"

namespace napkin {
namespace {

constexpr std::string_view folder = "hardware_profiles/";
constexpr std::string_view extension = ".yaml";

// "h200-sxm" of "hardware_profiles/h200-sxm.yaml"; "" for anything else.
std::string_view profile_name(std::string_view path) {
  if (!path.starts_with(folder) || !path.ends_with(extension)) return {};
  return path.substr(folder.size(), path.size() - folder.size() - extension.size());
}

std::string read_name(const yaml::Node& node) {
  const std::string& name = node.text();
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (name.size() > 64 || !std::all_of(name.begin(), name.end(), good)) {
    node.fail("'" + name.substr(0, 64) + "' is not a profile's name", "small letters, digits and -, such as h200-sxm");
  }
  return name;
}

}  // namespace

Machine parse_machine(std::string_view text, const std::string& file) {
  const yaml::Node document = yaml::parse(text, file);
  document.allow({"name", "about", "vendor", "architecture", "levels", "compute", "pipes", "tensor", "units", "limits",
                  "clocks", "power", "constants", "fitted"});
  Machine machine;
  machine.name = read_name(document.at("name"));
  machine.about = document.at("about").text();
  machine.vendor = document.at("vendor").choice({"nvidia", "amd", "huawei", "other"});
  machine.architecture = document.at("architecture").text();
  profile::read_levels(document.at("levels"), machine);
  machine.compute = profile::level_named(document.at("compute"), machine);
  if (machine.levels[static_cast<std::size_t>(machine.compute)].kind != LevelKind::ordinary) {
    document.at("compute").fail("'" + document.at("compute").text() + "' is not an ordinary level",
                                "the level whose nodes hold the execution units (on a GPU the SM's shared memory)");
  }
  profile::read_pipes(document.at("pipes"), machine);
  profile::read_tensor(document.at("tensor"), machine);
  profile::read_units(document.at("units"), machine);
  if (const auto* limits = document.find("limits")) profile::read_limits(*limits, machine.limits);
  profile::read_clocks(document.at("clocks"), machine.clocks);
  if (const auto* power = document.find("power")) profile::read_power(*power, machine.power);
  if (const auto* constants = document.find("constants")) profile::read_constants(*constants, false, machine);
  if (const auto* fitted = document.find("fitted")) profile::read_constants(*fitted, true, machine);
  return machine;
}

Machine load_machine(const std::string& name_or_path, const std::string& where) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(extension)) {
    return parse_machine(yaml::read_file(name_or_path), name_or_path);
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (profile_name(file.path) == name_or_path && !name_or_path.empty()) {
      return parse_machine(file.text, std::string(file.path));
    }
  }
  throw Error(where, "unknown GPU '" + name_or_path + "'",
              one_of(name_or_path, builtin_machines()) + ", or the path of a profile");
}

std::vector<std::string> builtin_machines() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (const auto name = profile_name(file.path); !name.empty()) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace napkin
