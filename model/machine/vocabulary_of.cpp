#include "model/machine/vocabulary_of.hpp"

#include <string>

namespace napkin::internal {
namespace {

/// Returns the memory's common name: LDS for "lds", L1 for "l1"; shared memory for NVIDIA's "shared".
std::string memory_name(const Machine& machine) {
  std::string name = machine.levels[static_cast<std::size_t>(machine.compute)].name;
  if (name == "shared") return "shared memory";
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

/// Names a level for people: L2 for "l2", tensor memory for "tensor_memory". Up to three letters are an acronym.
std::string level_name(const Level& level) {
  constexpr std::size_t acronym = 3;
  std::string name = level.name;
  for (char& c : name) {
    if (name.size() <= acronym && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '_') c = ' ';
  }
  return name;
}

std::string route_between(const Machine& machine, LevelId from, LevelId to) {
  const auto name = [&](LevelId id) { return level_name(machine.levels[static_cast<std::size_t>(id)]); };
  return name(from) + " -> " + name(to);
}

/// Returns a vendor's words for its compute nodes.
Vocabulary words_of_vendor(const Machine& machine) {
  const std::string memory = memory_name(machine);
  if (machine.vendor == "nvidia") return {"SM", "SMs", memory, "warp", "tensor cores"};
  if (machine.vendor == "amd") return {"CU", "CUs", memory, "wavefront", "matrix cores"};
  if (machine.vendor == "huawei") return {"AI core", "AI cores", memory, "warp", "cube cores"};
  return {"node", "nodes", memory, "warp"};
}

}  // namespace

Vocabulary vocabulary_of(const Machine& machine) {
  if (machine.levels.empty()) return {};
  Vocabulary out = words_of_vendor(machine);
  for (std::size_t i = 1; i < machine.levels.size(); ++i)
    out.into[machine.levels[i].name] = route_between(machine, machine.levels[i].parent, static_cast<LevelId>(i));
  for (const Pipe& pipe : machine.pipes) out.routes[pipe.name] = route_between(machine, pipe.from, pipe.to);
  return out;
}

}  // namespace napkin::internal
