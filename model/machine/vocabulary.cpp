#include "model/machine/vocabulary.hpp"

#include "model/machine/machine.hpp"

namespace napkin {
namespace {

/// "lds" is LDS, "l1" L1; NVIDIA's "shared" is shared memory.
std::string memory_name(const Machine& machine) {
  std::string name = machine.levels[static_cast<std::size_t>(machine.compute)].name;
  if (name == "shared") return "shared memory";
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

}  // namespace

Vocabulary vocabulary_of(const Machine& machine) {
  if (machine.levels.empty()) return {};
  const std::string memory = memory_name(machine);
  if (machine.vendor == "nvidia") return {"SM", "SMs", memory, "warp"};
  if (machine.vendor == "amd") return {"CU", "CUs", memory, "wavefront"};
  if (machine.vendor == "huawei") return {"AI core", "AI cores", memory, "warp"};
  return {"node", "nodes", memory, "warp"};
}

}  // namespace napkin
