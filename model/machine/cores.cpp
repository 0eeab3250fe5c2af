// Kinds of cores: the section of a profile, and the memories and pipes of each.
#include <algorithm>

#include "model/machine/sections.hpp"

namespace napkin::internal {

double Machine::per_compute_node(LevelId level) const {
  if (level == compute || level <= 0) return 1;
  return std::max(static_cast<double>(nodes(level)) / std::max(static_cast<double>(compute_nodes()), 1.0), 1.0);
}

const Core* Machine::core(std::string_view core_name) const {
  const auto found = std::find_if(cores.begin(), cores.end(), [&](const Core& c) { return c.name == core_name; });
  return found == cores.end() ? nullptr : &*found;
}

const Core* Machine::core_of(LevelId level) const {
  for (LevelId at = level; at > 0; at = levels[static_cast<std::size_t>(at)].parent) {
    for (const Core& core : cores) {
      if (core.level == at) return &core;
    }
  }
  return nullptr;
}

const Pipe* Machine::pipe_between(LevelId from, LevelId to) const {
  for (const Pipe& pipe : pipes) {
    if (pipe.from == from && pipe.to == to) return &pipe;
  }
  return nullptr;
}

namespace profile {

void read_cores(const yaml::Node& node, Machine& machine) {
  for (const auto& [name, entry] : node.entries()) {
    if (!is_identifier(name)) entry.fail("core name '" + name + "'", "small letters, digits and _, a letter first");
    const Core core{name, level_named(entry, machine)};
    if (machine.levels[static_cast<std::size_t>(core.level)].kind != LevelKind::ordinary)
      entry.fail("'" + entry.text() + "' is not an ordinary level", "the level whose nodes these cores are");
    for (const Core& other : machine.cores) {
      if (other.level == core.level) entry.fail("the cores '" + other.name + "' are its nodes", "another level");
    }
    machine.cores.push_back(core);
  }
  if (machine.cores.empty()) node.fail("no core", "a core and its level, such as cube: l1");
}

}  // namespace profile
}  // namespace napkin::internal
